package expr

import "fmt"

// remaining is a call that remains for the host.
func (e *Evaluator) remaining(n *call, args []Part) (Part, error) {
	left, err := e.toNodes(args...)
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
func (e *Evaluator) toNodes(parts ...Part) ([]node, error) {
	nodes := make([]node, len(parts))
	for i, p := range parts {
		l, isLambda := p.value.(*lambda)
		switch {
		case p.rest != nil:
			nodes[i] = p.rest
		case isLambda:
			var err error
			if nodes[i], err = e.foldLambda(l); err != nil {
				return nil, err
			}
		default:
			nodes[i] = &literal{value: p.value}
		}
	}
	return nodes, nil
}
