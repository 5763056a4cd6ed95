package expression

import (
	"slices"

	"github.com/expr-lang/expr/ast"

	"github.com/ccm-push/ccm-push/templates/render"
)

// flowOf is the flow of an expression as it is written.
func flowOf(n ast.Node) (f render.Flow) {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		if render.IsRoot(n.Value) {
			f.Path(n.Value, nil)
		} else {
			f.Variables = []string{n.Value}
		}
		return f
	case *ast.PointerNode: // the element of a loop
		return render.Flow{Variables: []string{"#"}}
	case *ast.ChainNode, *ast.MemberNode:
		if root, keys, _ := rootPath(n); root != "" {
			f.Path(root, keys)
			return f
		}
		if member, ok := n.(*ast.MemberNode); ok {
			return flowOf(member.Node)
		}
	case *ast.ConditionalNode:
		f = flowOf(n.Exp1)
		f.Add(flowOf(n.Exp2))
		return f
	case *ast.BinaryNode:
		if isComparison(n.Operator) {
			return f
		}
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok {
			return callOf(callee.Value, n.Arguments)
		}
	}
	for _, child := range tree(n) {
		f.Add(flowOf(*child))
	}
	return f
}

func isComparison(operator string) bool {
	return slices.Contains([]string{"==", "!=", "<", ">", "<=", ">=", "in", "not in", "matches", "contains",
		"startsWith", "endsWith", "and", "or", "&&", "||"}, operator)
}

func callOf(name string, args []ast.Node) render.Flow {
	var path *string
	flows := make([]render.Flow, len(args))
	for i, arg := range args {
		if s, literal := arg.(*ast.StringNode); literal && i == 0 {
			path = &s.Value
		}
		flows[i] = flowOf(arg)
	}
	return render.CallFlow(name, path, flows)
}
