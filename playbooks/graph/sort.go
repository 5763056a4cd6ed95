package graph

import (
	"container/heap"
	"slices"
)

// sort returns the vertices in an order in which each comes after its dependencies: of several possible next ones, the
// one that was written first.
func (b *builder) sort() []int {
	members := make(map[int][]int, 1) // vertices, by the vertex that contains them
	for i := range b.vertices {
		members[b.vertices[i].Within] = append(members[b.vertices[i].Within], i)
	}
	order := make([]int, 0, len(b.vertices))
	var level func(within int)
	level = func(within int) {
		for _, i := range b.sortLevel(members[within]) {
			if len(members[i]) > 0 {
				level(i)
			}
			order = append(order, i)
		}
	}
	level(-1)
	return order
}

// A cluster is a group of neighbours: one vertex, or several with the same batch.
type cluster struct {
	members []int // as written
	waits   int   // number of edges that it waits for
}

// sortLevel sorts the contents of one vertex.
func (b *builder) sortLevel(members []int) []int {
	cluster, of := b.clusters(members)
	for _, i := range members {
		for _, l := range b.next[i] {
			cluster[of[l.to]].waits++
		}
	}
	ready := &numbers{}
	for c := range cluster {
		if cluster[c].waits == 0 {
			heap.Push(ready, c)
		}
	}
	sorted := make([]int, 0, len(members))
	for ready.Len() > 0 {
		c := heap.Pop(ready).(int)
		for _, i := range cluster[c].members {
			sorted = append(sorted, i)
			for _, l := range b.next[i] {
				to := of[l.to]
				if cluster[to].waits--; cluster[to].waits == 0 {
					heap.Push(ready, to)
				}
			}
		}
	}
	return sorted
}

// clusters groups members that have the same batch and the same number of batches before them on the longest route. No
// route leads from one of these to another, and grouping all of them closes no circle: along every edge that number
// grows by one for each vertex with a batch, and never shrinks. They are numbered by their first members.
func (b *builder) clusters(members []int) (all []cluster, of map[int]int) {
	rank := b.ranks(members)
	of = make(map[int]int, len(members))
	type key struct {
		batch string
		rank  int
	}
	known := map[key]int{}
	for _, i := range members {
		k := key{b.vertices[i].Batch, rank[i]}
		c, ok := known[k]
		if k.batch == "" || !ok {
			c = len(all)
			all = append(all, cluster{})
			if k.batch != "" {
				known[k] = c
			}
		}
		all[c].members = append(all[c].members, i)
		of[i] = c
	}
	return all, of
}

// ranks counts, for each member, the members with a batch on the longest route to it, itself included.
func (b *builder) ranks(members []int) map[int]int {
	rank, waits := make(map[int]int, len(members)), make(map[int]int, len(members))
	for _, i := range members {
		for _, l := range b.next[i] {
			waits[l.to]++
		}
	}
	var queue []int
	for _, i := range members {
		if waits[i] == 0 {
			queue = append(queue, i)
		}
	}
	for at := 0; at < len(queue); at++ {
		i := queue[at]
		if b.vertices[i].Batch != "" {
			rank[i]++
		}
		for _, l := range b.next[i] {
			rank[l.to] = max(rank[l.to], rank[i])
			if waits[l.to]--; waits[l.to] == 0 {
				queue = append(queue, l.to)
			}
		}
	}
	return rank
}

// levels counts the vertices before each on the longest route to it. The contents of a vertex come before it, and after
// everything that the vertex waits for.
func (b *builder) levels(order []int) []int {
	level := make([]int, len(b.vertices))
	before := make([][]int, len(b.vertices))
	for _, e := range b.edges {
		before[e.To] = append(before[e.To], e.From)
	}
	for _, i := range order {
		for _, j := range before[i] {
			level[i] = max(level[i], level[j]+1)
		}
		if w := b.vertices[i].Within; w >= 0 {
			level[w] = max(level[w], level[i]+1)
		}
	}
	return level
}

// numbers is a heap.
type numbers struct{ list []int }

func (n *numbers) Len() int           { return len(n.list) }
func (n *numbers) Less(i, j int) bool { return n.list[i] < n.list[j] }
func (n *numbers) Swap(i, j int)      { n.list[i], n.list[j] = n.list[j], n.list[i] }
func (n *numbers) Push(v any)         { n.list = append(n.list, v.(int)) }
func (n *numbers) Pop() any {
	last := len(n.list) - 1
	v := n.list[last]
	n.list = slices.Delete(n.list, last, last+1)
	return v
}
