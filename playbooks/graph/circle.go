package graph

import (
	"fmt"
	"strings"
)

// A CircleError is resources that would have to wait for each other.
type CircleError struct {
	Refs  []string // the first one again at the end
	Edges []Edge   // between each and the next
}

// maxShown bounds the named resources of a circle.
const maxShown = 12

func (e *CircleError) Error() string {
	parts := []string{e.Refs[0]}
	for i, edge := range e.Edges {
		by := edge.Why
		if edge.At != nil {
			by += ", " + edge.At.Pos()
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", e.Refs[i+1], by))
	}
	if len(parts) > maxShown {
		parts = append(append(parts[:maxShown-2:maxShown-2], "…"), parts[len(parts)-1])
	}
	return "these resources wait for each other: " + strings.Join(parts, " → ")
}

// circle returns the error about a circle, or nil.
func (b *builder) circle() error {
	of, size := b.components()
	for i := range b.vertices {
		if size[of[i]] < 2 {
			continue
		}
		found := &CircleError{Refs: []string{b.vertices[i].Ref}}
		for _, step := range b.routeBack(i, of) {
			found.Edges = append(found.Edges, b.edges[step.edge])
			found.Refs = append(found.Refs, b.vertices[step.to].Ref)
		}
		return found
	}
	return nil
}

// routeBack is a shortest route from a vertex of a circle to itself.
func (b *builder) routeBack(start int, of []int) []lifted {
	type step struct {
		lifted
		from int // the step before; -1 is the start
	}
	var steps []step
	been := map[int]bool{}
	expand := func(at, from int) int {
		for _, l := range b.next[at] {
			if of[l.to] != of[start] || been[l.to] {
				continue
			}
			been[l.to] = true
			steps = append(steps, step{l, from})
			if l.to == start {
				return len(steps) - 1
			}
		}
		return -1
	}
	last := expand(start, -1)
	for i := 0; last < 0 && i < len(steps); i++ {
		last = expand(steps[i].to, i)
	}
	var route []lifted
	for ; last >= 0; last = steps[last].from {
		route = append([]lifted{steps[last].lifted}, route...)
	}
	return route
}

// components returns the strongly connected component of each vertex, and their sizes.
func (b *builder) components() (of, size []int) {
	return Components(len(b.vertices), func(node, k int) (to int, ok bool) {
		if k == len(b.next[node]) {
			return 0, false
		}
		return b.next[node][k].to, true
	})
}
