package document

import (
	"container/heap"
	"slices"
	"strings"
)

// sorted gives the instances in an order in which each follows what it depends on,
// and otherwise as they are written. A circle is an error.
func (r *reader) sorted() []*Instance {
	waits := make([]int, len(r.instances))
	then := make([][]int, len(r.instances))
	for i, d := range r.instances {
		for _, other := range d.order {
			waits[i]++
			then[other.number] = append(then[other.number], i)
			d.Requires = append(d.Requires, &other.Instance)
		}
	}
	ready := &numbers{}
	for i, n := range waits {
		if n == 0 {
			heap.Push(ready, i)
		}
	}
	var order []*Instance
	for ready.Len() > 0 {
		i := heap.Pop(ready).(int)
		order = append(order, &r.instances[i].Instance)
		for _, next := range then[i] {
			if waits[next]--; waits[next] == 0 {
				heap.Push(ready, next)
			}
		}
	}
	if len(order) < len(r.instances) {
		r.circle(waits)
	}
	return order
}

// circle reports one circle among what waits.
func (r *reader) circle(waits []int) {
	d := r.instances[slices.IndexFunc(waits, func(n int) bool { return n > 0 })]
	seen := map[*draft]int{}
	var path []*draft
	for {
		if at, again := seen[d]; again {
			path = path[at:]
			break
		}
		seen[d] = len(path)
		path = append(path, d)
		d = d.order[slices.IndexFunc(d.order, func(other *draft) bool { return waits[other.number] > 0 })]
	}
	first := 0 // the one that is written first begins
	for i, d := range path {
		if d.number < path[first].number {
			first = i
		}
	}
	path = append(slices.Clone(path[first:]), path[:first]...)
	var names []string
	for _, d := range append(path, path[0]) {
		names = append(names, d.Ref())
	}
	const most = 8
	if len(names) > most {
		names = append(append(names[:most-2:most-2], "…"), names[len(names)-1])
	}
	r.add(path[0].needs[path[1%len(path)]].Errorf("remove one of these dependencies", "circular dependency: %s", strings.Join(names, " → ")))
}

// numbers is a heap of integers, the least first.
type numbers []int

func (n numbers) Len() int           { return len(n) }
func (n numbers) Less(i, j int) bool { return n[i] < n[j] }
func (n numbers) Swap(i, j int)      { n[i], n[j] = n[j], n[i] }
func (n *numbers) Push(x any)        { *n = append(*n, x.(int)) }
func (n *numbers) Pop() any {
	last := (*n)[len(*n)-1]
	*n = (*n)[:len(*n)-1]
	return last
}
