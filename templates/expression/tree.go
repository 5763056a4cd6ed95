package expression

import (
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"

	"github.com/ccm-push/ccm-push/templates/diag"
)

// tree gives the nodes below n.
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
