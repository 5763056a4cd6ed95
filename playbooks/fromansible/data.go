package fromansible

import (
	"errors"
	"fmt"
	"path/filepath"
	"sort"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
)

func sortedKeys[V any](m map[string]V) []string {
	list := make([]string, 0, len(m))
	for key := range m {
		list = append(list, key)
	}
	sort.Strings(list)
	return list
}

// roleData reads defaults and vars of a role, and writes them as files of data.
func (c *converter) roleData(r *role) {
	for _, part := range []string{"defaults", "vars"} {
		base := filepath.Join(r.dir, part, "main")
		path := yamlFile(base)
		paths := []string{path}
		if path == "" {
			paths, _ = filepath.Glob(filepath.Join(base, "*.y*ml"))
		}
		for i, path := range paths {
			if path == "" {
				continue
			}
			name := part + ".yaml"
			if i > 0 {
				name = fmt.Sprintf("%s-%d.yaml", part, i+1)
			}
			c.dataFile(r, path, r.out+"/"+name)
		}
	}
}

// dataFile writes a file of variables as one of data. One that is encrypted stays as it is.
func (c *converter) dataFile(r *role, path, to string) {
	n, err := c.readYAML(path)
	switch {
	case errors.Is(err, errVault):
		c.copyOne(path, to)
	case err != nil:
		c.out.Report.left(c.shown(path), 1, "file", err.Error())
		c.out.Files[to] = File{[]byte("# todo: " + err.Error() + "\ntodo: \"{{ todo('" + strings.ReplaceAll(err.Error(), "'", "") + "') }}\"\n"), 0o644}
	case n == nil || n.Kind != yaml.MappingNode:
		return
	default:
		for i := 0; i+1 < len(n.Content); i += 2 {
			r.data[n.Content[i].Value] = n.Content[i+1]
		}
		c.out.Files[to] = File{encode(c.dataMap(n, path)), 0o644}
	}
	r.varsFile = append(r.varsFile, to)
}

// dataMap writes variables as data, with the comments that stand there.
func (c *converter) dataMap(n *yaml.Node, path string) *yaml.Node {
	w := &writer{scope: &scope{names: map[string]binding{}, files: c}}
	return c.dataValue(w, n, path)
}

func (c *converter) dataValue(w *writer, n *yaml.Node, path string) *yaml.Node {
	if n.Kind == yaml.AliasNode || n.Kind == yaml.ScalarNode {
		v, err := w.value(n)
		if err != nil {
			c.out.Report.left(c.shown(path), n.Line, "variables", err.Error())
			v = textNode("{{ todo(" + quoteText(fmt.Sprintf("%s:%d: %v", c.shown(path), n.Line, err)) + ") }}")
			v.LineComment = "# " + shortened(n.Value)
		}
		v.HeadComment, v.FootComment = n.HeadComment, n.FootComment
		if v.LineComment == "" {
			v.LineComment = n.LineComment
		}
		v.Anchor = ""
		return v
	}
	out := &yaml.Node{Kind: n.Kind, Tag: n.Tag, Style: n.Style, HeadComment: n.HeadComment, LineComment: n.LineComment, FootComment: n.FootComment}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			key := *child
			key.Anchor = ""
			out.Content = append(out.Content, &key)
			continue
		}
		out.Content = append(out.Content, c.dataValue(w, child, path))
	}
	return out
}

func (c *converter) copyOne(from, to string) {
	c.copyTree(from, to) // of a file, its path below itself is "."
}

// kindOf is the type of a variable, as far as defaults, vars and the inventory show it.
func (c *converter) kindOf(name string) kind {
	if v, ok := c.o.Variables[name]; ok {
		return kindOfValue(v)
	}
	if c.role == nil {
		return anyKind
	}
	return kindOfNode(c.role.data[name])
}

func kindOfValue(v any) kind {
	switch v := v.(type) {
	case string:
		if j2.HasTags(v) {
			return anyKind
		}
		return textKind
	case bool:
		return boolKind
	case []any:
		return listKind
	case map[string]any:
		return mapKind
	case int, int64, float64:
		return numberKind
	}
	return anyKind
}

func kindOfNode(n *yaml.Node) kind {
	switch {
	case n == nil:
		return anyKind
	case n.Kind == yaml.AliasNode:
		return kindOfNode(n.Alias)
	case n.Kind == yaml.SequenceNode:
		return listKind
	case n.Kind == yaml.MappingNode:
		return mapKind
	case plainBool(n):
		return boolKind
	case hasJinja(n):
		return anyKind
	}
	switch n.ShortTag() {
	case "!!str", "!vault", "!unsafe":
		return textKind
	case "!!int", "!!float":
		return numberKind
	}
	return anyKind
}

// kindOfPath is the type of what a path such as x.y.z leads to.
func (c *converter) kindOfPath(e *j2.Expr) kind {
	if c.role == nil {
		return anyKind
	}
	return kindOfNode(c.nodeOf(e))
}

func (c *converter) nodeOf(e *j2.Expr) *yaml.Node {
	switch e.Op {
	case j2.Name:
		if _, overridden := c.o.Variables[e.Text]; overridden {
			return nil
		}
		return c.role.data[e.Text]
	case j2.Attr:
		return get(c.nodeOf(e.Args[0]), e.Text)
	case j2.Index:
		if s, ok := e.Args[1].Lit.(string); ok {
			return get(c.nodeOf(e.Args[0]), s)
		}
	}
	return nil
}

// use notes that a variable is read.
func (c *converter) use(name string) { c.out.Report.used[name] = true }

// localFile finds a file of the role, and gives its path from the role's manifests.
func (c *converter) localFile(kind, name string) (string, error) {
	r := c.role
	for _, base := range []string{filepath.Join(r.dir, kind), r.dir, filepath.Dir(c.taskFile)} {
		path := filepath.Join(base, name)
		if !isFile(path) {
			continue
		}
		rel, err := filepath.Rel(r.dir, path)
		if err != nil || strings.HasPrefix(rel, "..") {
			return "", unknownf("the file %s, which is outside of the role", name)
		}
		c.copyOne(path, strings.TrimPrefix(r.out+"/"+filepath.ToSlash(rel), "/"))
		return filepath.ToSlash(rel), nil
	}
	return "", unknownf("the file %s, which is not there", name)
}
