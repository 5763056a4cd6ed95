package reference

import (
	"slices"

	"github.com/ccm-push/ccm-push/playbooks/graph"
)

// circles are the resources that literal references make depend on each other,
// directly or not: the strongly connected components of their graph.
type circles struct {
	targets [][]int // by number of the resource that refers
	of      []int   // the component of each resource
	firsts  []int   // the first resource of each component
}

func (c *circles) first(i int) int { return c.firsts[c.of[i]] }

func findCircles(x *Index) *circles {
	n := len(x.all)
	c := &circles{targets: make([][]int, n)}
	for i, r := range x.all {
		for _, list := range r.Lists {
			if list.Mirror {
				continue
			}
			for _, ref := range list.Refs {
				c.targets[i] = append(c.targets[i], x.called[ref.Text]...)
			}
		}
	}
	of, size := graph.Components(n, func(node, k int) (to int, ok bool) {
		if k == len(c.targets[node]) {
			return 0, false
		}
		return c.targets[node][k], true
	})
	c.of, c.firsts = of, make([]int, len(size))
	for i, component := range slices.Backward(of) {
		c.firsts[component] = i
	}
	return c
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
