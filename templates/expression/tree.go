package expression

import (
	"slices"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"

	"github.com/ccm-push/ccm-push/templates/diag"
	"github.com/ccm-push/ccm-push/templates/render"
)

// tree returns the nodes below n.
func tree(n ast.Node) []*ast.Node {
	switch n := n.(type) {
	case *ast.UnaryNode:
		return []*ast.Node{&n.Node}
	case *ast.BinaryNode:
		return []*ast.Node{&n.Left, &n.Right}
	case *ast.ChainNode:
		return []*ast.Node{&n.Node}
	case *ast.MemberNode:
		return []*ast.Node{&n.Node, &n.Property}
	case *ast.SliceNode:
		return present(&n.Node, &n.From, &n.To)
	case *ast.CallNode:
		return append([]*ast.Node{&n.Callee}, pointers(n.Arguments)...)
	case *ast.BuiltinNode:
		return pointers(n.Arguments)
	case *ast.PredicateNode:
		return []*ast.Node{&n.Node}
	case *ast.ConditionalNode:
		return []*ast.Node{&n.Cond, &n.Exp1, &n.Exp2}
	case *ast.VariableDeclaratorNode:
		return []*ast.Node{&n.Value, &n.Expr}
	case *ast.SequenceNode:
		return pointers(n.Nodes)
	case *ast.ArrayNode:
		return pointers(n.Nodes)
	case *ast.MapNode:
		return pointers(n.Pairs)
	case *ast.PairNode:
		return []*ast.Node{&n.Key, &n.Value}
	}
	return nil
}

func present(nodes ...*ast.Node) []*ast.Node {
	var there []*ast.Node
	for _, n := range nodes {
		if *n != nil {
			there = append(there, n)
		}
	}
	return there
}

func pointers(nodes []ast.Node) []*ast.Node {
	list := make([]*ast.Node, len(nodes))
	for i := range nodes {
		list[i] = &nodes[i]
	}
	return list
}

// failed makes an error at a node of the tree.
func failed(n ast.Node, f *diag.Fault) error {
	e := &file.Error{Location: n.Location(), Message: f.Msg}
	e.Wrap(f)
	return e
}

// flowOf returns the flow of an expression as it is written.
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
