package jettemplate

import (
	"reflect"

	"github.com/CloudyKit/jet/v6"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// base returns the common part of a node that replaces n.
func base(n jet.Node, kind jet.NodeType) jet.NodeBase {
	return jet.NodeBase{TemplatePath: templatePath(n), NodeType: kind, Pos: start(n), Line: nodeBase(n).Line}
}

// A place is where a node begins. The position is counted out of it only when
// it is shown.
type place struct {
	template string
	offset   int
}

func placeOf(n jet.Node) place { return place{templatePath(n), int(start(n))} }

func (p place) in(units map[string]render.Body) diag.Position {
	return units[p.template].Position(p.offset)
}

// start returns the offset where the source of a node begins. For some nodes Jet records only the operator or the first
// key.
func start(n jet.Node) jet.Pos {
	var first jet.Node
	switch n := n.(type) {
	case *jet.ChainNode:
		first = n.Node
	case *jet.IndexExprNode:
		first = n.Base
	case *jet.SliceExprNode:
		first = n.Base
	case *jet.CallExprNode:
		first = n.BaseExpr
	case *jet.TernaryExprNode:
		first = n.Boolean
	default:
		if left, _ := sides(n); left != nil && *left != nil { // not of -x
			first = *left
		}
	}
	if first == nil {
		return n.Position()
	}
	return start(first)
}

// sides returns the operands of a binary operation; nil for any other node. The left one of -x is nil.
func sides(n jet.Node) (left, right *jet.Expression) {
	switch n := n.(type) {
	case *jet.AdditiveExprNode:
		return &n.Left, &n.Right
	case *jet.MultiplicativeExprNode:
		return &n.Left, &n.Right
	case *jet.NumericComparativeExprNode:
		return &n.Left, &n.Right
	case *jet.ComparativeExprNode:
		return &n.Left, &n.Right
	case *jet.LogicalExprNode:
		return &n.Left, &n.Right
	}
	return nil, nil
}

func templatePath(n jet.Node) string { return nodeBase(n).TemplatePath }

// nodeBase returns the embedded NodeBase that every node has and no method returns.
func nodeBase(n jet.Node) jet.NodeBase {
	return reflect.ValueOf(n).Elem().FieldByName("NodeBase").Interface().(jet.NodeBase)
}

// hidden returns a call of one of our functions in place of n, at a new site.
func (w *rewriter) hidden(n jet.Node, function string, s site, args ...jet.Expression) *jet.CallExprNode {
	number := &jet.NumberNode{NodeBase: base(n, jet.NodeNumber), IsInt: true, Int64: int64(len(w.sites))}
	s.place = placeOf(n)
	w.sites = append(w.sites, s)
	return &jet.CallExprNode{
		NodeBase: base(n, jet.NodeCallExpr),
		BaseExpr: &jet.IdentifierNode{NodeBase: base(n, jet.NodeIdentifier), Ident: function},
		CallArgs: jet.CallArgs{Exprs: append([]jet.Expression{number}, args...)},
	}
}

// action returns a statement that calls one of our functions.
func (w *rewriter) action(n jet.Node, function string, s site, args ...jet.Expression) *jet.ActionNode {
	cmd := &jet.CommandNode{NodeBase: base(n, jet.NodeCommand)}
	cmd.BaseExpr = w.hidden(n, function, s, args...)
	return &jet.ActionNode{
		NodeBase: base(n, jet.NodeAction),
		Pipe:     &jet.PipeNode{NodeBase: base(n, jet.NodePipe), Cmds: []*jet.CommandNode{cmd}},
	}
}

// shorten shortens source text for errors.
func shorten(s string) string {
	runes := []rune(s)
	if len(runes) > 80 {
		return string(runes[:77]) + "…"
	}
	return s
}
