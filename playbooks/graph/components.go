package graph

// Components returns the strongly connected component of each of n nodes, and their sizes, by Tarjan's algorithm. next
// returns the kth successor of a node, from 0, as long as there is one. It does not recurse: there may be 100,000
// nodes.
func Components(n int, next func(node, k int) (to int, ok bool)) (of, size []int) {
	of = make([]int, n)
	order, low := make([]int, n), make([]int, n) // order is 0 for nodes that have not been visited
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
			if f.next == 0 {
				visited++
				order[f.node], low[f.node] = visited, visited
				stack, onStack[f.node] = append(stack, f.node), true
			}
			if to, ok := next(f.node, f.next); ok {
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

// pop makes a component of the nodes on the stack down to node.
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
