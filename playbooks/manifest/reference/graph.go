package reference

import (
	"errors"
	"slices"

	"github.com/ccm-push/ccm-push/playbooks/graph"
)

// CheckGraph reports resources of a graph that wait for each other by literal references. The references themselves
// have been checked.
func (x *Index) CheckGraph() error {
	vertices := make([]graph.Vertex, len(x.all))
	for i := range x.all {
		vertices[i] = graph.Vertex{Ref: x.all[i].Ref()}
	}
	graph.SetWithin(vertices, x.begin)
	_, err := graph.New(vertices, append(x.edges(), x.turns()...))
	if circle, ok := errors.AsType[*graph.CircleError](err); ok {
		return Circular(circle)
	}
	return err
}

// edges returns the edges of the literal references.
func (x *Index) edges() []graph.Edge {
	var all []graph.Edge
	for i, r := range x.all {
		all = append(all, x.received(i)...)
		for _, list := range r.Lists {
			for _, ref := range list.Refs {
				for _, target := range x.called[ref.Text] {
					if target == i {
						continue
					}
					e := graph.Edge{From: target, To: i, Kind: list.Kind, Why: list.Key, At: ref}
					if list.Mirror {
						e.From, e.To = i, target
					}
					all = append(all, e)
				}
			}
		}
	}
	return all
}

// turns are the edges between the parts of blocks.
func (x *Index) turns() (all []graph.Edge) {
	for i, r := range x.all {
		if r.Rescue+r.Always == 0 {
			continue
		}
		var members []int // last one first, without the resources that they apply
		for k := i - 1; k >= x.begin(i); k = x.begin(k) - 1 {
			members = append(members, k)
		}
		always, others := members[:r.Always], members[r.Always:]
		rescue, main := others[:r.Rescue], others[r.Rescue:]
		all = append(all, inTurn(main, rescue, "rescue")...)
		all = append(all, inTurn(others, always, "always")...)
	}
	return all
}

func inTurn(earlier, later []int, part string) (all []graph.Edge) {
	for _, from := range earlier {
		for _, to := range later {
			all = append(all, graph.Edge{From: from, To: to, Kind: graph.Part, Why: part})
		}
	}
	return all
}

// received returns the edges of the values that resource number i receives.
func (x *Index) received(i int) []graph.Edge {
	var all []graph.Edge
	for _, value := range x.all[i].Recv {
		ref, _, _ := SplitValue(value, x.registry, x.exists)
		for _, target := range x.called[ref] {
			if target != i {
				all = append(all, graph.Edge{From: target, To: i, Kind: graph.Receive, Why: "recv", At: value})
			}
		}
	}
	return all
}

// Circular is the error of resources that wait for each other, at the first place
// where that is written.
func Circular(circle *graph.CircleError) error {
	for _, e := range circle.Edges {
		if e.At != nil {
			return e.At.Errorf("remove one of these references", "%v", circle)
		}
	}
	return circle
}

// circles are the resources that literal references make depend on each other,
// directly or not: the strongly connected components of their graph.
type circles struct {
	targets [][]int // targets by number of the referring resource
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
