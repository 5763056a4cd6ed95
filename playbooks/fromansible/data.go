package fromansible

import (
	"errors"
	"fmt"
	"path/filepath"
	"sort"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/j2"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
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
		c.out.Files[to] = File{yamlnode.Encode(c.dataMap(n, path)), 0o644}
	}
	r.varsFile = append(r.varsFile, to)
}

// dataMap writes variables as data, with the comments that stand there.
func (c *converter) dataMap(n *yaml.Node, path string) *yaml.Node {
	w := &expression.Writer{Scope: &expression.Scope{Names: map[string]expression.Binding{}, Files: c}}
	return c.dataValue(w, n, path)
}

func (c *converter) dataValue(w *expression.Writer, n *yaml.Node, path string) *yaml.Node {
	if n.Kind == yaml.AliasNode || n.Kind == yaml.ScalarNode {
		v, err := w.Value(n)
		if err != nil {
			c.out.Report.left(c.shown(path), n.Line, "variables", err.Error())
			v = yamlnode.Text("{{ todo(" + expression.QuoteText(fmt.Sprintf("%s:%d: %v", c.shown(path), n.Line, err)) + ") }}")
			v.LineComment = "# " + expression.Shortened(n.Value)
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

// KindOf is the type of a variable, as far as defaults, vars and the inventory show it.
func (c *converter) KindOf(name string) expression.Kind {
	if v, ok := c.o.Variables[name]; ok {
		return expression.KindOfValue(v)
	}
	if c.role == nil {
		return expression.AnyKind
	}
	return expression.KindOfNode(c.role.data[name])
}

// NodeOf is what a path such as x.y.z of data leads to; nil if it is not known here.
func (c *converter) NodeOf(e *j2.Expr) *yaml.Node {
	switch e.Op {
	case j2.Name:
		if c.role == nil {
			return nil
		}
		if _, overridden := c.o.Variables[e.Text]; overridden {
			return nil
		}
		return c.role.data[e.Text]
	case j2.Attr:
		return yamlnode.Get(c.NodeOf(e.Args[0]), e.Text)
	case j2.Index:
		if s, ok := e.Args[1].Lit.(string); ok {
			return yamlnode.Get(c.NodeOf(e.Args[0]), s)
		}
	}
	return nil
}

func (c *converter) RoleName() string { return c.role.name }

// ResultOf is what a task registers.
func (c *converter) ResultOf(name string) (*expression.Result, bool) {
	r, ok := c.results[name]
	return r, ok
}

// ValueOf is what tasks set a variable to.
func (c *converter) ValueOf(name string) (*j2.Expr, bool) {
	v, ok := c.values[name]
	return v, ok
}

// Use notes that a variable is read.
func (c *converter) Use(name string) { c.out.Report.used[name] = true }

// LocalFile finds a file of the role, and gives its path from the role's manifests.
func (c *converter) LocalFile(kind, name string) (string, error) {
	r := c.role
	for _, base := range []string{filepath.Join(r.dir, kind), r.dir, filepath.Dir(c.taskFile)} {
		path := filepath.Join(base, name)
		if !isFile(path) {
			continue
		}
		rel, err := filepath.Rel(r.dir, path)
		if err != nil || strings.HasPrefix(rel, "..") {
			return "", expression.Unknown("the file %s, which is outside of the role", name)
		}
		c.copyOne(path, strings.TrimPrefix(r.out+"/"+filepath.ToSlash(rel), "/"))
		return filepath.ToSlash(rel), nil
	}
	return "", expression.Unknown("the file %s, which is not there", name)
}
