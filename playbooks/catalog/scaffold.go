package catalog

import (
	"context"
	"errors"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/templates"
)

// tree renders a folder of templates for one host. Files that hold no expressions
// are contents of the play's folder; the others are held until the host is done.
func (p *preparation) tree(ctx context.Context, request modules.TreeRequest) (*modules.Tree, error) {
	m := &p.made
	m.unfit = true // the inputs of its templates are not among the inputs of the resource
	parsed, err := p.manifest.taint(p.resource).Tree(p.manifest.files, request)
	if err != nil {
		return nil, inTree(err)
	}
	bounds := manifest.TreeBounds()
	bounds.Size = min(bounds.Size, p.room)
	nodes, err := parsed.Render(ctx, withData(p.env, request.Data), request.SkipEmpty, bounds)
	if err != nil {
		return nil, inTree(err)
	}
	tree := &modules.Tree{Mode: directoryMode(parsed.Mode), Nodes: make([]modules.TreeNode, 0, len(nodes))}
	for _, n := range nodes {
		node := modules.TreeNode{Path: n.Path, Mode: n.Mode, Target: n.Target}
		switch {
		case n.Dir:
			node.Mode = directoryMode(n.Mode)
		case n.Target != "":
		case n.Copy != "":
			node.Mode |= ownerReads
			node.Content, err = m.file(p.manifest.sources, n.Copy)
		default:
			node.Mode |= ownerReads
			node.Content = m.text(modules.TextContent(n.Text))
		}
		if err != nil {
			return nil, modules.AboutProperty("source", err)
		}
		tree.Nodes = append(tree.Nodes, node)
	}
	return tree, nil
}

// Permissions that the host program needs on its files if it is not root.
const (
	ownerReads = 0o400
	ownerAll   = 0o700
)

func directoryMode[M ~uint32](mode M) M { return mode | ownerAll }

// inTree keeps the position of an error of a template, and makes any other one of
// the property.
func inTree(err error) error {
	if placed, ok := errors.AsType[*templates.Error](err); ok && placed.Line > 0 {
		return placed
	}
	placed, _ := errors.AsType[*templates.Error](templates.Place(new(yamlpos.Node), err))
	return &modules.PropertyError{Path: "source", Msg: "source: " + placed.Msg, Hint: placed.Hint}
}

// withData is an environment in which data takes the place of the play's, unless
// it is empty.
func withData(env *templates.Env, data map[string]any) *templates.Env {
	if len(data) == 0 {
		return env
	}
	return templates.WithData(env, data, nil)
}
