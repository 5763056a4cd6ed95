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
}

// A flow is what the value of an expression may come from.
type flow struct {
	facts     bool
	variables []string
}

type jetPath struct {
	flow flow
	place
}

func (f *jetFlows) assign(name string, e jet.Expression) {
	if e == nil {
		return
	}
	if f.sources == nil {
		f.sources = map[string][]flow{}
	}
	f.sources[name] = append(f.sources[name], flowOf(e))
}

// path notes an expression that is used as a path.
func (f *jetFlows) path(e jet.Expression, at place) {
	f.paths = append(f.paths, jetPath{flowOf(e), at})
}

// hostile finds a path that may come from facts.
func (f *jetFlows) hostile() (at place, found bool) {
	for _, p := range f.paths {
		if f.fromFacts(p.flow, nil) {
			return p.place, true
		}
	}
	return place{}, false
}

func (f *jetFlows) fromFacts(from flow, seen []string) bool {
	if from.facts {
		return true
	}
	for _, name := range from.variables {
		if slices.Contains(seen, name) {
			continue
		}
		for _, source := range f.sources[name] {
			if f.fromFacts(source, append(seen, name)) {
				return true
			}
		}
	}
	return false
}

// flowOf looks at an expression as it is written. Conditions and comparisons
// let nothing through.
func flowOf(e jet.Node) (total flow) {
	var below []jet.Expression
	switch n := e.(type) {
	case *jet.IdentifierNode:
		if jetRoot(n.Ident) == factsRoot {
			return flow{facts: true}
		}
		return flow{variables: []string{n.Ident}}
	case *jet.FieldNode:
		return flow{variables: []string{"."}}
	case *jet.ChainNode:
		return flowOf(n.Node)
	case *jet.IndexExprNode:
		return flowOf(n.Base)
	case *jet.SliceExprNode:
		return flowOf(n.Base)
	case *jet.TernaryExprNode:
		below = []jet.Expression{n.Left, n.Right}
	case *jet.AdditiveExprNode:
		below = []jet.Expression{n.Left, n.Right}
	case *jet.CallExprNode:
		total.facts = jetLookupFlows(n)
		below = n.Exprs
	}
	for _, child := range below {
		if child == nil {
			continue
		}
		from := flowOf(child)
		total.facts = total.facts || from.facts
		total.variables = append(total.variables, from.variables...)
	}
	return total
}

// jetLookupFlows reports whether a call is a lookup that may read facts.
func jetLookupFlows(n *jet.CallExprNode) bool {
	callee, ok := n.BaseExpr.(*jet.IdentifierNode)
	if !ok || callee.Ident != "lookup" || len(n.Exprs) == 0 {
		return false
	}
	path, literal := n.Exprs[0].(*jet.StringNode)
	if !literal {
		return true
	}
	var m mentions
	m.lookup(path.Text)
	return m.readsFacts()
}
