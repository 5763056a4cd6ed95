package templates

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// Render returns the paths of the scaffold for one host, directories before their content. With skipEmpty, files that
// contain only white space are omitted.
func (t *ScaffoldTree) Render(ctx context.Context, env *render.Env, skipEmpty bool, bounds ScaffoldBounds) ([]ScaffoldNode, error) {
	out := &scaffoldRendering{bounds: bounds, skipEmpty: skipEmpty, kinds: map[string]scaffoldKind{}}
	for _, n := range t.nodes {
		out.kinds[n.Path] = n.kind()
	}
	for _, n := range t.nodes {
		node := n.ScaffoldNode
		if n.template != nil {
			var err error
			if node.Text, err = n.template.RenderTo(ctx, env, out); err != nil {
				return nil, err
			}
			n.blank = strings.TrimSpace(node.Text) == ""
		}
		if n.blank && skipEmpty {
			continue
		}
		if err := out.add(node); err != nil {
			return nil, diag.At(diag.Position{File: n.Path}, err)
		}
	}
	slices.SortFunc(out.nodes, func(a, b ScaffoldNode) int { return strings.Compare(a.Path, b.Path) })
	return out.nodes, nil
}

func (n ScaffoldNode) kind() scaffoldKind {
	switch {
	case n.Dir:
		return scaffoldDir
	case n.Target != "":
		return scaffoldLink
	}
	return scaffoldFile
}

type scaffoldKind int

const (
	scaffoldFile scaffoldKind = iota + 1
	scaffoldDir
	scaffoldLink
	scaffoldWritten // a file that a template has written
)

// scaffoldRendering is one scaffold on its way to one host.
type scaffoldRendering struct {
	bounds    ScaffoldBounds
	skipEmpty bool
	nodes     []ScaffoldNode
	size      int64
	kinds     map[string]scaffoldKind // kinds of all used paths
}

func (r *scaffoldRendering) add(n ScaffoldNode) error {
	r.nodes = append(r.nodes, n)
	r.size += int64(len(n.Text))
	switch {
	case len(r.nodes) > r.bounds.Nodes:
		return diag.Faultf("the scaffold has grown beyond %d files, directories and links", r.bounds.Nodes)
	case r.size > r.bounds.Size:
		return diag.Faultf("the files of the scaffold have grown beyond %d MiB", r.bounds.Size>>20)
	}
	return nil
}

// Modes of files and directories that templates write, without a file in the play.
const (
	writtenFile fs.FileMode = 0o644
	writtenDir  fs.FileMode = 0o755
)

// WriteFile adds a file that a template has made, with the directories around it. No error shows the path, since it may
// contain text from a host.
func (r *scaffoldRendering) WriteFile(name, text string) error {
	switch {
	case r.bounds.Path(name) != nil || !utf8.ValidString(name):
		return diag.Faultf("write: the path must be clean and below the target").WithHint(`write it as "conf.d/site.conf"`)
	case r.skipEmpty && strings.TrimSpace(text) == "":
		return nil
	}
	switch r.kinds[name] {
	case scaffoldWritten:
		return diag.Faultf("write: the same file is written twice")
	case scaffoldFile, scaffoldLink, scaffoldDir:
		return diag.Faultf("write: there is something else of this name in the source")
	}
	for i, c := range name {
		if c != '/' {
			continue
		}
		switch dir := name[:i]; r.kinds[dir] {
		case scaffoldDir:
		case 0:
			r.kinds[dir] = scaffoldDir
			if err := r.add(ScaffoldNode{Path: dir, Dir: true, Mode: writtenDir}); err != nil {
				return err
			}
		default:
			return diag.Faultf("write: a parent of the path is a file or a link")
		}
	}
	r.kinds[name] = scaffoldWritten
	return r.add(ScaffoldNode{Path: name, Text: text, Mode: writtenFile})
}
