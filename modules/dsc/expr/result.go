package expr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Result is the result of evaluating an expression: a value, or the part of the
// expression that remains for the host.
type Result struct {
	value    any
	residual node
}

// Known returns the result with a known value.
func Known(v any) Result { return Result{value: Normal(v)} }

// Value returns the value, if it is known.
func (p Result) Value() (v any, known bool) { return p.value, p.residual == nil }

var errSecureCondition = errors.New("the condition is secure, and its result would reveal it")

// Bool returns a result that must be a boolean; what names it in errors.
func (p Result) Bool(what string) (bool, error) {
	switch v := p.value.(type) {
	case bool:
		return v, nil
	case Secure:
		return false, fmt.Errorf("%s: %w", what, errSecureCondition)
	}
	return false, fmt.Errorf("%s: the expression gives %s, not a boolean", what, Kind(p.value))
}

// And joins the conditions of a resource and of the group around it. Both must be booleans, or remain for the host.
func And(a, b Result) Result {
	for _, p := range []struct{ one, other Result }{{a, b}, {b, a}} {
		if p.one.residual != nil {
			continue
		}
		if holds, ok := p.one.value.(bool); ok && holds {
			return p.other
		}
		return p.one
	}
	return Result{residual: &call{name: "and", args: []node{a.residual, b.residual}, residualSize: sizeAround(a.residual, b.residual)}}
}

// IsSecure reports whether a result is secure, or what remains of it holds something
// that is.
func (p Result) IsSecure() bool {
	if p.residual == nil {
		return IsSecure(p.value)
	}
	return secureNode(p.residual)
}

func secureNode(n node) bool {
	switch n := n.(type) {
	case *literal:
		return IsSecure(n.value)
	case *call:
		return slices.ContainsFunc(n.args, secureNode)
	case *member:
		return secureNode(n.of)
	case *index:
		return secureNode(n.of) || secureNode(n.by)
	}
	return false
}

// Reference reports whether the remaining part is only reference(), with optional members. It returns the resource, and
// the members with dots between them.
func (p Result) Reference() (ref, members string, ok bool) {
	n := p.residual
	for {
		m, isMember := n.(*member)
		if !isMember {
			break
		}
		members = strings.TrimSuffix(m.name+"."+members, ".")
		n = m.of
	}
	c, isCall := n.(*call)
	if !isCall || !isReference(c) {
		return "", "", false
	}
	id, isLiteral := c.args[0].(*literal)
	if !isLiteral {
		return "", "", false
	}
	ref, ok = id.value.(string)
	return ref, members, ok
}

// residualCall returns a call that remains for the host.
func (e *Evaluator) residualCall(ctx context.Context, n *call, args []Result) (Result, error) {
	left, err := e.toNodes(ctx, args...)
	if err != nil {
		return Result{}, err
	}
	return e.bounded(&call{at: n.at, name: n.name, args: left, residualSize: sizeAround(left...)})
}

// maxRest bounds what remains of one expression for a host, in calls, accesses and
// literals: it is a tree there, even if its parts are the same.
const maxResidual = 10_000

// maxRestDepth leaves room below maxDepth for [And], one level per group around.
const maxResidualDepth = 80

// bounded returns a part that remains for a host as a result. The host parses it within the limits of every expression.
func (e *Evaluator) bounded(n node) (Result, error) {
	switch r := residualSizeOf(n); {
	case r.size > maxResidual:
		return Result{}, e.errorAt(n, fmt.Errorf("the part that depends on the host has more than %d calls", maxResidual))
	case r.depth > maxResidualDepth:
		return Result{}, e.errorAt(n, fmt.Errorf("the part that depends on the host has more than %d nested calls", maxResidualDepth))
	}
	return Result{residual: n}, nil
}

// residualSizeOf returns the size of a part that remains for a host.
func residualSizeOf(n node) residualSize {
	switch n := n.(type) {
	case *call:
		return n.residualSize
	case *member:
		return n.residualSize
	case *index:
		return n.residualSize
	}
	return residualSize{size: 1, depth: 1}
}

// sizeAround returns the size of a node with parts that remain for a host.
func sizeAround(parts ...node) residualSize {
	sum := residualSize{size: 1}
	for _, n := range parts {
		r := residualSizeOf(n)
		sum.size += r.size
		sum.depth = max(sum.depth, r.depth)
	}
	sum.depth++
	return sum
}

// toNodes converts results to expressions again.
func (e *Evaluator) toNodes(ctx context.Context, parts ...Result) ([]node, error) {
	nodes := make([]node, len(parts))
	for i, p := range parts {
		l, isLambda := p.value.(*lambda)
		switch {
		case p.residual != nil:
			nodes[i] = p.residual
		case isLambda:
			var err error
			if nodes[i], err = e.foldLambda(ctx, l); err != nil {
				return nil, err
			}
		default:
			nodes[i] = &literal{value: p.value}
		}
	}
	return nodes, nil
}
