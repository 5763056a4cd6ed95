package manifest

import "slices"

// circles are the resources that literal references make depend on each other,
// directly or not: the strongly connected components of their graph.
type circles struct {
	targets [][]int // by number of the resource that refers
	of      []int   // the component of each resource
	firsts  []int   // the first resource of each component
}

func (c *circles) first(i int) int { return c.firsts[c.of[i]] }

// findCircles finds the components with Tarjan's algorithm, without recursion: a
// list may hold 100,000 resources.
func findCircles(x *index) *circles {
	n := len(x.all)
	c := &circles{targets: make([][]int, n), of: make([]int, n)}
	for i, r := range x.all {
		for _, ref := range literals(r.Require, r.Subscribe) {
			c.targets[i] = append(c.targets[i], x.called[ref.Text]...)
		}
	}
	type frame struct{ node, next int }
	order, low := make([]int, n), make([]int, n) // order is 0 where nobody has been
	onStack := make([]bool, n)
	var stack []int
	visited := 0
	for root := range n {
		if order[root] != 0 {
			continue
		}
		frames := []frame{{node: root}}
		for len(frames) > 0 {
			f := &frames[len(frames)-1]
			if f.next == 0 {
				visited++
				order[f.node], low[f.node] = visited, visited
				stack, onStack[f.node] = append(stack, f.node), true
			}
			if f.next < len(c.targets[f.node]) {
				target := c.targets[f.node][f.next]
				f.next++
				if order[target] == 0 {
					frames = append(frames, frame{node: target})
				} else if onStack[target] {
					low[f.node] = min(low[f.node], order[target])
				}
				continue
			}
			if low[f.node] == order[f.node] {
				stack = c.close(stack, onStack, f.node)
			}
			done := f.node
			if frames = frames[:len(frames)-1]; len(frames) > 0 {
				parent := frames[len(frames)-1].node
				low[parent] = min(low[parent], low[done])
			}
		}
	}
	return c
}

// close makes a component of what stands on the stack down to node.
func (c *circles) close(stack []int, onStack []bool, node int) []int {
	from := slices.Index(stack, node)
	number, first := len(c.firsts), node
	for _, member := range stack[from:] {
		c.of[member], onStack[member] = number, false
		first = min(first, member)
	}
	c.firsts = append(c.firsts, first)
	return stack[:from]
}

// path is a shortest way from i over next, which is of the same component, back
// to i.
func (c *circles) path(i, next int) []int {
	from := map[int]int{next: -1}
	queue := []int{next}
	for len(queue) > 0 {
		node := queue[0]
		queue = queue[1:]
		if node == i {
			break
		}
		for _, target := range c.targets[node] {
			if _, been := from[target]; !been && c.of[target] == c.of[i] {
				from[target] = node
				queue = append(queue, target)
			}
		}
	}
	var back []int
	for node := i; node != -1; node = from[node] {
		back = append(back, node)
	}
	slices.Reverse(back)
	return append([]int{i}, back...)
}
