package templates

import (
	"github.com/CloudyKit/jet/v6"
)

// jetFlows knows what is assigned to the variables of a set of Jet templates,
// by name, to tell whether what a host sent can reach a path. The context is
// the variable ".".
type jetFlows struct {
	sources map[string][]flow
	paths   []jetPath
	printed []jetPrinted

	part   bool // of a scaffold: the context can be anything
	rooted bool // the context is used that has all values
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
			if name == "." && (f.part || f.rooted) {
				total.anything()
			}
			for _, source := range f.sources[name] {
				follow(source)
			}
		}
	}
	follow(from)
	return total
}

// jetFlow is the flow of an expression as it is written.
func jetFlow(e jet.Node) (f flow) {
	switch n := e.(type) {
	case *jet.IdentifierNode, *jet.ChainNode, *jet.IndexExprNode:
		root, keys, _ := jetRootPath(n)
		if root == "" {
			return jetBaseFlow(n)
		}
		f.path(root, keys)
		f.variables = []string{jetIdent(n)} // it may stand before the root
	case *jet.FieldNode:
		f.variables = []string{"."}
		if root := jetRoot(n.Ident[0]); root != "" { // of the context of a scaffold
			f.path(root, n.Ident[1:])
		}
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

// jetIdent is the identifier that a chain of keys begins with.
func jetIdent(e jet.Node) string {
	switch n := e.(type) {
	case *jet.IdentifierNode:
		return n.Ident
	case *jet.ChainNode:
		return jetIdent(n.Node)
	case *jet.IndexExprNode:
		return jetIdent(n.Base)
	}
	return ""
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
func jetCallFlow(n *jet.CallExprNode) flow {
	name := ""
	if callee, ok := n.BaseExpr.(*jet.IdentifierNode); ok {
		name = callee.Ident
	}
	var path *string
	flows := make([]flow, len(n.Exprs))
	for i, arg := range n.Exprs {
		if s, literal := arg.(*jet.StringNode); literal && i == 0 {
			path = &s.Text
		}
		flows[i] = jetFlow(arg)
	}
	return callFlow(name, path, flows)
}
