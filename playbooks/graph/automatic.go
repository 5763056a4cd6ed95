package graph

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// holders are the vertices that look after one thing.
type holders struct {
	makers, editors, removers []int
}

// things is an index of the things that vertices manage.
type things struct {
	of     map[modules.Thing]*holders
	paths  []string            // paths among the things, sorted
	within map[string][]string // known results of below
}

func (b *builder) things() *things {
	t := &things{of: map[modules.Thing]*holders{}, within: map[string][]string{}}
	for i := range b.vertices {
		for _, r := range b.vertices[i].Relations {
			if r.Verb != modules.Makes && r.Verb != modules.Edits && r.Verb != modules.Removes {
				continue
			}
			h := t.of[r.Thing]
			if h == nil {
				h = &holders{}
				t.of[r.Thing] = h
				if r.Thing.Kind == modules.ThingPath {
					t.paths = append(t.paths, r.Thing.Key)
				}
			}
			h.put(r.Verb, i)
		}
	}
	slices.Sort(t.paths)
	return t
}

func (h *holders) put(verb modules.Verb, i int) {
	list := &h.makers
	switch verb {
	case modules.Edits:
		list = &h.editors
	case modules.Removes:
		list = &h.removers
	}
	if n := len(*list); n == 0 || (*list)[n-1] != i {
		*list = append(*list, i)
	}
}

// found returns the vertices that a relation of vertex i concerns, without i itself.
func (t *things) found(i int, r modules.Relation) []int {
	switch {
	case r.Thing.Kind != modules.ThingPath || r.Reach == modules.There:
		return t.at(i, r, r.Thing)
	case r.Reach == modules.Nearest:
		for p := r.Thing.Key; ; p = path.Dir(p) {
			if all := t.at(i, r, modules.Thing{Kind: modules.ThingPath, Key: p}); len(all) > 0 || p == "/" || p == "." {
				return all
			}
		}
	}
	var all []int
	for _, p := range t.below(r.Thing.Key) {
		all = append(all, t.at(i, r, modules.Thing{Kind: modules.ThingPath, Key: p})...)
	}
	return all
}

// at returns the vertices that manage exactly one thing, as relation r counts it.
func (t *things) at(i int, r modules.Relation, thing modules.Thing) []int {
	h := t.of[thing]
	if h == nil {
		return nil
	}
	var all []int
	for _, list := range h.counting(r.Verb) {
		for _, one := range list {
			if one != i {
				all = append(all, one)
			}
		}
	}
	return all
}

// counting are the lists that count for a verb.
func (h *holders) counting(verb modules.Verb) [][]int {
	switch verb {
	case modules.Needs:
		return [][]int{h.makers, h.editors}
	case modules.Edits:
		return [][]int{h.makers}
	case modules.Leaves:
		return [][]int{h.removers}
	}
	return nil
}

// below returns the paths at or below dir.
func (t *things) below(dir string) []string {
	if known, ok := t.within[dir]; ok {
		return known
	}
	var all []string
	if _, ok := slices.BinarySearch(t.paths, dir); ok {
		all = append(all, dir)
	}
	prefix := strings.TrimSuffix(dir, "/") + "/"
	for from, _ := slices.BinarySearch(t.paths, prefix); from < len(t.paths) && strings.HasPrefix(t.paths[from], prefix); from++ {
		if t.paths[from] != dir {
			all = append(all, t.paths[from])
		}
	}
	t.within[dir] = all
	return all
}

// candidates returns the edges for the relations, in an order independent of the order of the vertices: edges that are
// dropped first in a circle come last.
func (b *builder) candidates() ([]Edge, error) {
	t := b.things()
	var all []Edge
	for i := range b.vertices {
		for _, r := range b.vertices[i].Relations {
			for _, other := range t.found(i, r) {
				e := Edge{From: other, To: i, Kind: Automatic, Why: r.Why, Weak: r.Weak}
				if r.Verb == modules.Leaves {
					e.From, e.To = i, other
				}
				all = append(all, e)
			}
			if len(all) > maxEdges {
				return nil, fmt.Errorf("more than %d automatic edges (dependencies that ccm-push adds); write autoedge: false at resources that many other resources would wait for", maxEdges)
			}
		}
	}
	slices.SortFunc(all, func(x, y Edge) int {
		return cmp.Or(
			cmp.Compare(weakness(x), weakness(y)),
			cmp.Compare(b.vertices[x.To].Ref, b.vertices[y.To].Ref),
			cmp.Compare(b.vertices[x.From].Ref, b.vertices[y.From].Ref),
			cmp.Compare(x.Why, y.Why),
			cmp.Compare(x.To, y.To),
			cmp.Compare(x.From, y.From))
	})
	return all, nil
}

func weakness(e Edge) int {
	if e.Weak {
		return 1
	}
	return 0
}

// automatic adds the candidates that close no circle, and returns the others.
func (b *builder) automatic(candidates []Edge) (dropped []Edge) {
	written := len(b.edges)
	for _, e := range candidates {
		b.add(e)
	}
	of, size := b.components()
	if len(size) == len(b.vertices) {
		return nil
	}
	// Only what lies within a component can close a circle. All of that is taken out,
	// and put back one by one where no route leads back.
	all := b.edges
	b.edges, b.seen, b.next = nil, map[[2]int]int{}, make([][]lifted, len(b.vertices))
	var doubtful []Edge
	for i, e := range all {
		if a, z, _ := b.lift(e.From, e.To); i >= written && of[a] == of[z] {
			doubtful = append(doubtful, e)
		} else {
			b.add(e)
		}
	}
	search := &search{builder: b, of: of, been: make([]int, len(b.vertices)), remaining: maxSteps}
	for _, e := range doubtful {
		a, z, _ := b.lift(e.From, e.To)
		if search.reaches(z, a) {
			dropped = append(dropped, e)
		} else {
			b.add(e)
		}
	}
	return dropped
}

// maxSteps bounds the search for circles, in edges that are followed.
const maxSteps = 50_000_000

// search finds routes between vertices of one component.
type search struct {
	*builder
	of        []int
	been      []int // the number of the search that was last there
	round     int
	remaining int // steps; without any, every edge is taken for one that closes a circle
}

func (s *search) reaches(from, to int) bool {
	s.round++
	stack := []int{from}
	s.been[from] = s.round
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if at == to || s.remaining <= 0 {
			return true
		}
		for _, l := range s.next[at] {
			s.remaining--
			if s.of[l.to] == s.of[from] && s.been[l.to] != s.round {
				s.been[l.to] = s.round
				stack = append(stack, l.to)
			}
		}
	}
	return false
}

// kindName returns the usual word for a kind of things.
func kindName(k modules.ThingKind) string {
	if k == modules.ThingPath {
		return "file"
	}
	return string(k)
}

// turns returns edges between vertices that must not run at once, in the given order.
func (b *builder) turns(order []int) []Edge {
	last := map[modules.Thing]int{}
	var all []Edge
	wait := func(thing modules.Thing, i int, why string) {
		before, ok := last[thing]
		last[thing] = i
		if !ok || before == i {
			return
		}
		if _, known := b.seen[[2]int{before, i}]; known {
			return
		}
		if _, _, apart := b.lift(before, i); !apart {
			return
		}
		b.seen[[2]int{before, i}] = -1
		all = append(all, Edge{From: before, To: i, Kind: Turn, Why: why})
	}
	for _, i := range order {
		v := &b.vertices[i]
		if v.Name != "" {
			wait(modules.Thing{Kind: "name", Key: v.Name}, i, "same name")
		}
		for _, r := range v.Relations {
			switch r.Verb {
			case modules.Edits:
				wait(r.Thing, i, "edits the same "+kindName(r.Thing.Kind))
			case modules.Turns:
				wait(r.Thing, i, "takes turns for the "+r.Thing.Key)
			}
		}
	}
	return all
}
