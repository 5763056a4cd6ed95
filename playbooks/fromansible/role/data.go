package role

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/output"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/yamlnode"
)

// ReadData reads defaults and vars, and what tasks set, and writes them as files of data.
func (r *Role) ReadData() {
	for _, part := range []string{"defaults", "vars"} {
		base := filepath.Join(r.Dir, part, "main")
		path := r.To.From.YAMLFile(base)
		paths := []string{path}
		if path == "" {
			paths = r.To.From.Glob(filepath.Join(base, "*.y*ml"))
		}
		for i, path := range paths {
			if path == "" {
				continue
			}
			name := part + ".yaml"
			if i > 0 {
				name = fmt.Sprintf("%s-%d.yaml", part, i+1)
			}
			r.ReadDataFile(path, r.Out+"/"+name)
		}
	}
	r.survey()
	r.writeFacts()
}

// writeFacts writes the variables that include_vars chooses as a file of data.
func (r *Role) writeFacts() {
	names, values := r.SetVariables()
	if len(names) == 0 {
		return
	}
	out := yamlnode.Map()
	for i, name := range names {
		if values[i] == nil {
			values[i] = yamlnode.Text("{{ todo(" + expression.QuoteText(r.Facts[name].Why) + ") }}")
		}
		out.Content = append(out.Content, yamlnode.Text(name), values[i])
	}
	path := r.Below("facts.yaml")
	r.To.Save(path, "# What tasks of the role set.\n"+string(yamlnode.Encode(out)))
	r.Files = append(r.Files, path)
}

// ReadDataFile writes a file of variables as one of data. One that is encrypted stays as it is.
func (r *Role) ReadDataFile(path, to string) {
	n, err := r.To.ReadYAML(path)
	switch {
	case errors.Is(err, yamlnode.ErrVault):
		r.To.Copy(path, to)
	case err != nil:
		r.To.Report.Leave(r.To.Shown(path), 1, "file", err.Error())
		r.To.Save(to, "# todo: "+err.Error()+"\ntodo: \"{{ todo('"+strings.ReplaceAll(err.Error(), "'", "")+"') }}\"\n")
	case n == nil || n.Kind != yaml.MappingNode:
		return
	default:
		data, rest, own := r.File(path).DataValue(n), yamlnode.Map(), yamlnode.Map()
		for i := 0; i+1 < len(n.Content); i += 2 {
			name, part := n.Content[i].Value, rest
			r.Data[name] = n.Content[i+1]
			switch isDefault := strings.HasPrefix(filepath.Base(to), "defaults"); {
			case !isDefault:
				r.Vars[name] = true
			case r.Known.Split[name]:
				part = own
			}
			part.Content = append(part.Content, data.Content[i], data.Content[i+1])
		}
		if data.Content = rest.Content; len(own.Content) > 0 {
			r.Own = own
			if len(rest.Content) == 0 {
				return
			}
		}
		r.To.SaveYAML(to, data)
	}
	r.Files = append(r.Files, to)
}

// DataValue writes variables as data, with the comments that stand there.
func (f File) DataValue(n *yaml.Node) *yaml.Node {
	return f.dataValue(&expression.Writer{Scope: f.Scope()}, n)
}

func (f File) dataValue(w *expression.Writer, n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode || n.Kind == yaml.ScalarNode {
		v, err := w.Value(n)
		if err != nil {
			shown := f.To.Shown(f.Path)
			f.To.Report.Leave(shown, n.Line, "variables", err.Error())
			v = yamlnode.Text("{{ todo(" + expression.QuoteText(fmt.Sprintf("%s: %v", output.Position(shown, n.Line), err)) + ") }}")
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
			if is := yamlnode.OddKey(child); is != "" {
				f.Leave(child.Line, "variables", "a key that is "+is+" for Ansible")
				key = *yamlnode.Text("{{ todo(" + expression.QuoteText(fmt.Sprintf("%s: the key %s is %s for Ansible: write it in quotes if it is a text", f.Position(child.Line), child.Value, is)) + ") }}")
			}
			out.Content = append(out.Content, &key)
			continue
		}
		out.Content = append(out.Content, f.dataValue(w, child))
	}
	return out
}
