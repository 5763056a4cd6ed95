package engine

import (
	"path"
	"strconv"

	"github.com/ccm-push/ccm-push/modules"
)

// A check run goes through a graph in one order, and an applying run with several at once
// in any that the edges allow. So what an entry has looked at may have been changed by one
// that was looked at after it. That is known at the end only, when all plans are.

// looks are what an entry has looked at. Nil notes nothing.
type looks struct {
	paths  map[glance]bool
	things map[thing]bool // what is no path
	probed bool           // it has run a program that may read anything
	met    map[int]bool   // entries that it does not come after, and that have planned what it has looked at
}

// glance is how a path was looked at.
type glance struct {
	path   string
	follow bool // what a link there leads to
	names  bool // what is in the directory
}

// thing is what an effect is about that is none on a path. Key "" is all of its kind.
type thing struct {
	kind modules.EffectKind
	key  string
}

func newLooks() *looks {
	return &looks{paths: map[glance]bool{}, things: map[thing]bool{}, met: map[int]bool{}}
}

func (l *looks) at(g glance) {
	if l != nil {
		l.paths[g] = true
	}
}

func (l *looks) thing(kind modules.EffectKind, key string) {
	if l != nil {
		l.things[thing{kind, key}] = true
	}
}

func (l *looks) probe() {
	if l != nil {
		l.probed = true
	}
}

// meets is told where a state comes from that was foreseen for the very thing.
func (h foreseenHost) meets(from origin) {
	if h.w.looks != nil && from.ref != "" && !h.precedes(from.at, h.sees) {
		h.w.looks.met[h.plans[from.at-h.began-1].entry] = true
	}
}

// withID is the key of the account of that kind that has an id.
func withID(id int) string { return "#" + strconv.Itoa(id) }

// crosses reports whether a check run is about a graph of which several are worked on at
// once.
func (r *run) crosses() bool { return r.cat.Check && r.graph() && r.cat.Parallel > 1 }

// planned are the entries that would change something, by what that is.
type planned struct {
	paths  map[string][]int // that matter for all that is below them too
	attrs  map[string][]int // that do not: directories that only get other attributes
	names  map[string][]int // by directory: what comes into it or goes
	below  map[string][]int // by directory: anything may change in it
	things map[thing][]int
	opaque []int
	all    []int
}

func (r *run) planned() *planned {
	p := &planned{paths: map[string][]int{}, attrs: map[string][]int{}, names: map[string][]int{}, below: map[string][]int{}, things: map[thing][]int{}}
	for _, made := range r.would.plans {
		i := made.entry
		p.all = append(p.all, i)
		for _, e := range made.effects {
			switch e.Kind {
			case modules.AnyEffect:
				p.opaque = append(p.opaque, i)
			case modules.BelowEffect:
				p.below[e.Key] = append(p.below[e.Key], i)
			case modules.PathEffect:
				state := e.State.(modules.PathState)
				into := p.paths
				if state.Kind == modules.Directory && state.Mode&ownerMayEnter != 0 && !r.would.paths[e.Key].fresh {
					into = p.attrs
				}
				into[e.Key] = append(into[e.Key], i)
				p.names[path.Dir(e.Key)] = append(p.names[path.Dir(e.Key)], i)
			default:
				keys := []string{e.Key, ""}
				if account, ok := e.State.(modules.AccountState); ok && account.ID != nil {
					keys = append(keys, withID(*account.ID))
				}
				for _, key := range keys {
					p.things[thing{e.Kind, key}] = append(p.things[thing{e.Kind, key}], i)
				}
			}
		}
	}
	return p
}

// crossings gives, by entry, one that was looked at later and may come first, and changes
// what the entry has looked at.
func (r *run) crossings() map[int]int {
	crossed := map[int]int{}
	if len(r.would.plans) == 0 {
		return crossed
	}
	all, ways := r.planned(), map[glance][]string{}
	for i, l := range r.looks {
		if l != nil {
			r.findCrossing(i, l, all, ways, crossed)
		}
	}
	return crossed
}

func (r *run) findCrossing(i int, l *looks, all *planned, ways map[glance][]string, crossed map[int]int) {
	failed := r.results[i].status == modules.Failed
	note := func(i, j int) {
		if first, ok := crossed[i]; !ok || j < first {
			crossed[i] = j
		}
	}
	cross := func(lists ...[]int) {
		for _, list := range lists {
			for _, j := range list {
				if j > i && !r.comesAfter(j, i) && (r.cat.Entries[i].Check || !r.cat.Entries[j].Check) {
					note(i, j)
				}
			}
		}
	}
	for g := range l.paths {
		if ways[g] == nil {
			ways[g] = r.would.ways(g)
		}
		for n, at := range ways[g] {
			if cross(all.paths[at], all.attrs[at]); g.names && n == len(ways[g])-1 {
				cross(all.names[at], all.below[at])
			}
			for dir := at; dir != "/"; {
				dir = path.Dir(dir)
				if cross(all.paths[dir], all.below[dir]); failed {
					cross(all.attrs[dir])
				}
			}
		}
	}
	for t := range l.things {
		if t.kind == modules.AnyEffect {
			cross(all.opaque)
			continue
		}
		cross(all.things[t])
		for dir, list := range all.below {
			if isKept(t.kind, dir) {
				cross(list)
			}
		}
	}
	if failed { // what it misses, anything may bring
		cross(all.opaque)
		if l.probed || len(r.cat.Entries[i].Health) > 0 {
			cross(all.all)
		}
	}
	// What finds that done which another one does, and may as well come first, does it then.
	if out := &r.results[i]; !out.changed || out.unknown {
		for j := range l.met {
			note(j, i)
		}
	}
}

// ways gives all paths by which a glance goes: those of the links that it follows, and
// last where it ends.
func (f *forecast) ways(g glance) []string {
	ways := []string{g.path}
	end, _ := f.walk(g.path, g.follow, func(link string, _ origin) { ways = append(ways, link) })
	return append(ways, end)
}
