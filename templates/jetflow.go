package templates

import (
	"slices"

	"github.com/CloudyKit/jet/v6"
)

// jetFlows knows what is assigned to the variables of a set of Jet templates,
// by name, to tell whether what a host sent can reach a path. The context is
// the variable ".".
type jetFlows struct {
	sources map[string][]flow
	paths   []jetPath
	printed []jetPrinted
}

type jetPath struct {
	flow flow
	place
}

// jetPrinted is a value that is printed at a site.
type jetPrinted struct {
	flow flow
	site int
}

func (f *jetFlows) assign(name string, e jet.Expression) {
	if e == nil {
		return
	}
	if f.sources == nil {
		f.sources = map[string][]flow{}
	}
	f.sources[name] = append(f.sources[name], jetFlow(e))
}

// path notes an expression that is used as a path.
func (f *jetFlows) path(e jet.Expression, at place) {
	f.paths = append(f.paths, jetPath{jetFlow(e), at})
}

// resolve replaces the variables of a flow by what is assigned to them.
func (f *jetFlows) resolve(from flow) flow {
	var total flow
	seen := map[string]bool{}
	var follow func(flow)
	follow = func(one flow) {
		variables := one.variables
		one.variables = nil
		total.add(one)
		for _, name := range variables {
			if seen[name] {
				continue
			}
			seen[name] = true
			for _, source := range f.sources[name] {
				follow(source)
			}
		}
	}
	follow(from)
	return total
}

// jetFlow is the flow of an expression as it is written. What a template renders
// can be anything.
func jetFlow(e jet.Node) (f flow) {
	switch n := e.(type) {
	case *jet.IdentifierNode, *jet.ChainNode, *jet.IndexExprNode:
		if root, keys, _ := jetRootPath(n); root != "" {
			f.path(root, keys)
			return f
		}
		return jetBaseFlow(n)
	case *jet.FieldNode:
		f.variables = []string{"."}
	case *jet.SliceExprNode:
		return jetFlow(n.Base)
	case *jet.TernaryExprNode:
		f = jetFlow(n.Left)
		f.add(jetFlow(n.Right))
	case *jet.AdditiveExprNode:
		if n.Left != nil { // not of -x
			f = jetFlow(n.Left)
		}
		f.add(jetFlow(n.Right))
	case *jet.CallExprNode:
		return jetCallFlow(n)
	}
	return f
}

// jetBaseFlow is the flow of what a variable, or a chain below one, holds.
func jetBaseFlow(e jet.Node) flow {
	switch n := e.(type) {
	case *jet.IdentifierNode:
		return flow{variables: []string{n.Ident}}
	case *jet.ChainNode:
		return jetFlow(n.Node)
	case *jet.IndexExprNode:
		return jetFlow(n.Base)
	}
	return flow{}
}

// jetCallFlow is the flow of what a function gives.
func jetCallFlow(n *jet.CallExprNode) (f flow) {
	args := n.Exprs
	switch callee, _ := n.BaseExpr.(*jet.IdentifierNode); {
	case callee == nil:
	case slices.Contains([]string{"template", "jet", "exec", "includeIfExists"}, callee.Ident):
		f.anything()
		return f
	case callee.Ident == "lookup" && len(args) > 0:
		if path, literal := args[0].(*jet.StringNode); literal {
			f.lookup(path.Text)
		} else {
			f.anything()
		}
		args = args[1:]
	}
	for _, arg := range args {
		f.add(jetFlow(arg))
	}
	return f
}
