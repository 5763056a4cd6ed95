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

// maxShown is how many resources of a circle are named.
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

// circle is the error of a circle; nil if there is none.
func (b *builder) circle() error {
	of, size := b.components()
	for i := range b.vertices {
		if size[of[i]] < 2 {
			continue
		}
		found := &CircleError{Refs: []string{b.vertices[i].Ref}}
		for _, step := range b.wayBack(i, of) {
			found.Edges = append(found.Edges, b.edges[step.edge])
			found.Refs = append(found.Refs, b.vertices[step.to].Ref)
		}
		return found
	}
	return nil
}

// wayBack is a shortest way from a vertex of a circle to itself.
func (b *builder) wayBack(start int, of []int) []lifted {
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
	var way []lifted
	for ; last >= 0; last = steps[last].from {
		way = append([]lifted{steps[last].lifted}, way...)
	}
	return way
}

// components gives the strongly connected component of each vertex, and their
// sizes, by Tarjan's algorithm. It does not recurse: there may be 100,000.
func (b *builder) components() (of, size []int) {
	n := len(b.vertices)
	of = make([]int, n)
	order, low := make([]int, n), make([]int, n) // order is 0 where nobody has been
	onStack := make([]bool, n)
	var stack []int
	type frame struct{ node, next int }
	visited := 0
	for root := range n {
		if order[root] != 0 {
			continue
		}
		frames := []frame{{node: root}}
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			if f.next == 0 && order[f.node] == 0 {
				visited++
				order[f.node], low[f.node] = visited, visited
				stack, onStack[f.node] = append(stack, f.node), true
			}
			if f.next < len(b.next[f.node]) {
				to := b.next[f.node][f.next].to
				f.next++
				if order[to] == 0 {
					frames = append(frames, frame{node: to})
				} else if onStack[to] {
					low[f.node] = min(low[f.node], order[to])
				}
				continue
			}
			if low[f.node] == order[f.node] {
				stack, size = pop(stack, f.node, onStack, of, size)
			}
			done := f.node
			if frames = frames[:len(frames)-1]; len(frames) > 0 {
				parent := frames[len(frames)-1].node
				low[parent] = min(low[parent], low[done])
			}
		}
	}
	return of, size
}

// pop makes a component of what stands on the stack down to a node.
func pop(stack []int, node int, onStack []bool, of, size []int) (rest, sizes []int) {
	size = append(size, 0)
	for {
		member := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		of[member], onStack[member] = len(size)-1, false
		size[len(size)-1]++
		if member == node {
			return stack, size
		}
	}
}
