package expr

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Part is the result of evaluating an expression: a value, or the part of the
// expression that remains for the host.
type Part struct {
	value any
	rest  node
}

// Known makes the part of a value.
func Known(v any) Part { return Part{value: Normal(v)} }

// Value gives the value, if it is known.
func (p Part) Value() (v any, known bool) { return p.value, p.rest == nil }

var errSecureCondition = errors.New("the condition is secure, and what it decides would tell of it")

// Bool gives a part that must be a boolean; what names it in errors.
func (p Part) Bool(what string) (bool, error) {
	switch v := p.value.(type) {
	case bool:
		return v, nil
	case Secure:
		return false, fmt.Errorf("%s: %w", what, errSecureCondition)
	}
	return false, fmt.Errorf("%s: the expression gives %s, not a boolean", what, Kind(p.value))
}

// And joins the conditions of a resource and of what it stands in. Both must be
// booleans, or left for the host.
func And(a, b Part) Part {
	for _, p := range []struct{ one, other Part }{{a, b}, {b, a}} {
		if p.one.rest != nil {
			continue
		}
		if holds, ok := p.one.value.(bool); ok && holds {
			return p.other
		}
		return p.one
	}
	return Part{rest: &call{name: "and", args: []node{a.rest, b.rest}, rest: around(a.rest, b.rest)}}
}

// IsSecure reports whether a part is secure, or what remains of it holds something
// that is.
func (p Part) IsSecure() bool {
	if p.rest == nil {
		return IsSecure(p.value)
	}
	return secureNode(p.rest)
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

// Reference reports whether what is left is reference() alone, with members of it:
// of which resource, and the members with dots between them.
func (p Part) Reference() (ref, members string, ok bool) {
	n := p.rest
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

// remaining is a call that remains for the host.
func (e *Evaluator) remaining(ctx context.Context, n *call, args []Part) (Part, error) {
	left, err := e.toNodes(ctx, args...)
	if err != nil {
		return Part{}, err
	}
	return e.bounded(&call{at: n.at, name: n.name, args: left, rest: around(left...)})
}

// maxRest bounds what remains of one expression for a host, in calls, accesses and
// literals: it is a tree there, even if its parts are the same.
const maxRest = 10_000

// maxRestDepth leaves room below maxDepth for [And], one level per group around.
const maxRestDepth = 80

// bounded gives what remains for a host as a part. The host parses it within the bounds
// of every expression.
func (e *Evaluator) bounded(n node) (Part, error) {
	switch r := restOf(n); {
	case r.size > maxRest:
		return Part{}, e.errorAt(n, fmt.Errorf("what depends on the host comes to more than %d calls", maxRest))
	case r.depth > maxRestDepth:
		return Part{}, e.errorAt(n, fmt.Errorf("what depends on the host comes to more than %d calls within each other", maxRestDepth))
	}
	return Part{rest: n}, nil
}

// restOf is how large a part of what remains for a host is.
func restOf(n node) rest {
	switch n := n.(type) {
	case *call:
		return n.rest
	case *member:
		return n.rest
	case *index:
		return n.rest
	}
	return rest{size: 1, depth: 1}
}

// around is how large something is with parts that remain for a host.
func around(parts ...node) rest {
	sum := rest{size: 1}
	for _, n := range parts {
		r := restOf(n)
		sum.size += r.size
		sum.depth = max(sum.depth, r.depth)
	}
	sum.depth++
	return sum
}

// toNodes gives parts as expressions again.
func (e *Evaluator) toNodes(ctx context.Context, parts ...Part) ([]node, error) {
	nodes := make([]node, len(parts))
	for i, p := range parts {
		l, isLambda := p.value.(*lambda)
		switch {
		case p.rest != nil:
			nodes[i] = p.rest
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
