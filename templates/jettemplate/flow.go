package jettemplate

import (
	"github.com/CloudyKit/jet/v6"

	"github.com/ccm-push/ccm-push/templates/render"
)

// flows has the values assigned to the variables of a set of Jet templates, by name, to detect whether a value from a
// host can reach a path. The context is the variable ".".
type flows struct {
	sources map[string][]render.Flow
	paths   []filePath
	printed []printedValue

	part   bool // part of a scaffold: the context can be anything
	rooted bool // the context is used that has all values
}

type filePath struct {
	flow render.Flow
	text string
	place
}

// printedValue is a value that is printed at a site.
type printedValue struct {
	flow render.Flow
	site int
}

func (f *flows) assign(name string, e jet.Expression) {
	if e == nil {
		return
	}
	if f.sources == nil {
		f.sources = map[string][]render.Flow{}
	}
	f.sources[name] = append(f.sources[name], flowOf(e))
}

// path notes an expression that is used as a path.
func (f *flows) path(e jet.Expression, at place) {
	f.paths = append(f.paths, filePath{flowOf(e), e.String(), at})
}

// resolve replaces the variables of a flow by the values assigned to them.
func (f *flows) resolve(from render.Flow) render.Flow {
	var total render.Flow
	seen := map[string]bool{}
	var follow func(render.Flow)
	follow = func(one render.Flow) {
		variables := one.Variables
		one.Variables = nil
		total.Add(one)
		for _, name := range variables {
			if seen[name] {
				continue
			}
			seen[name] = true
			if name == "." && (f.part || f.rooted) {
				total.Anything()
			}
			for _, source := range f.sources[name] {
				follow(source)
			}
		}
	}
	follow(from)
	return total
}

// flowOf returns the flow of an expression as it is written.
func flowOf(e jet.Node) (f render.Flow) {
	switch n := e.(type) {
	case *jet.IdentifierNode, *jet.ChainNode, *jet.IndexExprNode:
		root, keys, _ := rootPath(n)
		if root == "" {
			return baseFlow(n)
		}
		f.Path(root, keys)
		f.Variables = []string{identOf(n)} // a variable may have the name of the root
	case *jet.FieldNode:
		f.Variables = []string{"."}
		if root := render.RootNamed(n.Ident[0]); root != "" { // of the context of a scaffold
			f.Path(root, n.Ident[1:])
		}
	case *jet.SliceExprNode:
		return flowOf(n.Base)
	case *jet.TernaryExprNode:
		f = flowOf(n.Left)
		f.Add(flowOf(n.Right))
	case *jet.AdditiveExprNode:
		if n.Left != nil { // not of -x
			f = flowOf(n.Left)
		}
		f.Add(flowOf(n.Right))
	case *jet.CallExprNode:
		return callFlow(n)
	}
	return f
}

// identOf returns the identifier that a chain of keys begins with.
func identOf(e jet.Node) string {
	switch n := e.(type) {
	case *jet.IdentifierNode:
		return n.Ident
	case *jet.ChainNode:
		return identOf(n.Node)
	case *jet.IndexExprNode:
		return identOf(n.Base)
	}
	return ""
}

// baseFlow returns the flow of the value in a variable, or in a chain below one.
func baseFlow(e jet.Node) render.Flow {
	switch n := e.(type) {
	case *jet.IdentifierNode:
		return render.Flow{Variables: []string{n.Ident}}
	case *jet.ChainNode:
		return flowOf(n.Node)
	case *jet.IndexExprNode:
		return flowOf(n.Base)
	}
	return render.Flow{}
}

// callFlow returns the flow of a function's result.
func callFlow(n *jet.CallExprNode) render.Flow {
	name := ""
	if callee, ok := n.BaseExpr.(*jet.IdentifierNode); ok {
		name = callee.Ident
	}
	var path *string
	flows := make([]render.Flow, len(n.Exprs))
	for i, arg := range n.Exprs {
		if s, literal := arg.(*jet.StringNode); literal && i == 0 {
			path = &s.Text
		}
		flows[i] = flowOf(arg)
	}
	return render.CallFlow(name, path, flows)
}
