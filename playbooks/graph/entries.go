package graph

import (
	"slices"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// SetWithin sets the vertices that represent the manifests of others: the vertices from first(i) to before i are within
// vertex i, in the innermost such vertex.
func SetWithin(vertices []Vertex, first func(i int) int) {
	for i := range vertices {
		vertices[i].Within = -1
	}
	for i := range vertices { // the innermost comes first
		for j := first(i); j < i; j++ {
			if vertices[j].Within < 0 {
				vertices[j].Within = i
			}
		}
	}
}

// FirstWithin returns the first entry of the manifest that entry i represents, or i itself.
func FirstWithin(entries []wire.Entry, i int) int {
	if scope := entries[i].Scope; scope != nil {
		return i - scope.Entries
	}
	return i
}

// Depend writes edges into the entries at their ends. Each entry of a nested manifest waits for everything that the
// manifest's own entry waits for.
func Depend(entries []wire.Entry, edges []Edge) {
	touched := map[int]bool{}
	for _, e := range edges {
		for to := FirstWithin(entries, e.To); to <= e.To; to++ {
			touched[to] = true
			switch one := &entries[to]; e.Kind {
			case Subscribe:
				one.Subscribe = append(one.Subscribe, e.From)
			case Turn, Part:
				one.After = append(one.After, e.From)
			default:
				one.Require = append(one.Require, e.From)
			}
		}
	}
	for i := range touched {
		e := &entries[i]
		e.Require, e.Subscribe, e.After = Distinct(e.Require), Distinct(e.Subscribe), Distinct(e.After)
	}
}

// Distinct returns numbers without duplicates, in the order of their first occurrences.
func Distinct(list []int) []int {
	seen := make(map[int]bool, len(list))
	var kept []int
	for _, i := range list {
		if !seen[i] {
			seen[i] = true
			kept = append(kept, i)
		}
	}
	return kept
}

// Rearrange returns entries in the order of a graph, with their references to each other changed accordingly. moved has
// the new numbers by the old ones.
func Rearrange(entries []wire.Entry, order []int) (sorted []wire.Entry, moved []int) {
	moved = make([]int, len(order))
	for i, before := range order {
		moved[before] = i
	}
	renumber := func(list []int) {
		for k, i := range list {
			list[k] = moved[i]
		}
		slices.Sort(list)
	}
	sorted = Permute(entries, order)
	for i := range sorted {
		e := &sorted[i]
		renumber(e.Require)
		renumber(e.Subscribe)
		renumber(e.After)
		for k := range e.Receive {
			if from := &e.Receive[k].From; *from >= 0 {
				*from = moved[*from]
			}
		}
	}
	return sorted, moved
}

// Permute returns a list in an order of its numbers.
func Permute[V any](list []V, order []int) []V {
	all := make([]V, len(order))
	for i, before := range order {
		all[i] = list[before]
	}
	return all
}
