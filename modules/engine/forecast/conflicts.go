package forecast

import (
	"path"

	"github.com/ccm-push/ccm-push/modules"
)

// A check run processes a graph in one order. An applying run processes several entries at once, in any order that the
// edges allow. So in the applying run, an entry may read a thing after another entry has changed it, although the check
// run checks that other entry later. Such conflicts are known only at the end, when all plans are known.

// A Reader is an entry that has had its turn, with the things that it has read.
type Reader struct {
	Entry  int
	Reads  *ReadSet // nil reads nothing
	Noop   bool     // it sees the plans of other noop entries
	Failed bool
	Asked  bool // read by health checks, which may read anything
	Acts   bool // its changes are known
}

// Conflicts returns, for a reader, the first entry that was planned later, may run first, and changes a thing that the
// reader has read. comesAfter reports whether i begins after j has ended.
func (f *Forecast) Conflicts(readers []Reader, comesAfter func(i, j int) bool) map[int]int {
	c := &conflicts{f: f, comesAfter: comesAfter, ways: map[pathRead][]string{}, found: map[int]int{}}
	if len(f.plans) == 0 {
		return c.found
	}
	c.planned = f.planned()
	for i := range readers {
		if readers[i].Reads != nil {
			c.find(&readers[i])
		}
	}
	return c.found
}

type conflicts struct {
	f          *Forecast
	planned    *planned
	comesAfter func(i, j int) bool
	ways       map[pathRead][]string
	found      map[int]int
}

// planned are the plans with changes, by the changed thing.
type planned struct {
	paths     map[string][]*recorded // plans that also affect everything below the path
	attrs     map[string][]*recorded // plans that affect the path only: directories with new attributes
	names     map[string][]*recorded // plans that add or remove a name, by directory
	below     map[string][]*recorded // plans that may change anything in a directory, by directory
	differ    map[differs][]*recorded
	things    map[thing][]*recorded
	kinds     map[modules.EffectKind]bool // of differ
	opaque    []*recorded
	elsewhere []*recorded // plans that likely change nothing else
	all       []*recorded
}

// differs is a path that a plan changes in a way that is not predicted, or the folder of one.
type differs struct {
	path   string
	folder bool
	kind   modules.EffectKind // predicts the meaning of the file; empty if none does
}

func (f *Forecast) planned() *planned {
	all := &planned{paths: map[string][]*recorded{}, attrs: map[string][]*recorded{}, names: map[string][]*recorded{},
		below: map[string][]*recorded{}, things: map[thing][]*recorded{},
		differ: map[differs][]*recorded{}, kinds: map[modules.EffectKind]bool{}}
	for i := range f.plans {
		p := &f.plans[i]
		all.all = append(all.all, p)
		for _, e := range p.Effects {
			switch e.Kind {
			case modules.ElsewhereEffect:
				all.elsewhere = append(all.elsewhere, p)
			case modules.AnyEffect:
				all.opaque = append(all.opaque, p)
			case modules.BelowEffect:
				all.below[e.Key] = append(all.below[e.Key], p)
			case modules.DiffersEffect:
				kind := e.State.(modules.EffectKind)
				all.kinds[kind] = true
				for _, key := range []differs{{e.Key, false, kind}, {path.Dir(e.Key), true, kind}} {
					all.differ[key] = append(all.differ[key], p)
				}
			case modules.PathEffect:
				state := e.State.(modules.PathState)
				into := all.paths
				if state.Kind == modules.Directory && state.Mode&ownerMayEnter != 0 && !f.paths[e.Key].fresh {
					into = all.attrs
				}
				into[e.Key] = append(into[e.Key], p)
				all.names[path.Dir(e.Key)] = append(all.names[path.Dir(e.Key)], p)
			default:
				keys := []string{e.Key, ""}
				if account, ok := e.State.(modules.AccountState); ok && account.ID != nil {
					keys = append(keys, withID(*account.ID))
				}
				for _, key := range keys {
					all.things[thing{e.Kind, key}] = append(all.things[thing{e.Kind, key}], p)
				}
			}
		}
	}
	return all
}

// find finds what may change what a reader has read.
func (c *conflicts) find(r *Reader) {
	c.findPaths(r)
	for t := range r.Reads.things {
		if t.kind == modules.AnyEffect {
			c.add(r, c.planned.opaque, c.planned.elsewhere)
			continue
		}
		c.add(r, c.planned.things[t], c.planned.things[thing{modules.KindEffect, string(t.kind)}])
		for dir, list := range c.planned.below {
			if keptIn(t.kind, dir) != modules.Certain {
				c.add(r, list)
			}
		}
		for _, file := range c.f.databases(t.kind) {
			c.add(r, c.planned.paths[file])
			c.add(r, c.planned.differ[differs{path: file}])
		}
	}
	if r.Failed { // any plan may provide the missing thing
		c.add(r, c.planned.opaque, c.planned.elsewhere)
		if r.Reads.probed || r.Asked {
			c.add(r, c.planned.all)
		}
	}
	// An entry that finds its change made by another one, which may run later, makes the change itself then.
	if !r.Acts {
		for j := range r.Reads.unordered {
			c.note(j, r.Entry)
		}
	}
}

func (c *conflicts) findPaths(r *Reader) {
	all := c.planned
	for read := range r.Reads.paths {
		if c.ways[read] == nil {
			c.ways[read] = c.f.ways(read)
		}
		ways := c.ways[read]
		for n, at := range ways {
			if c.add(r, all.paths[at], all.attrs[at]); read.names && n == len(ways)-1 {
				c.add(r, all.names[at], all.below[at])
				c.addDiffering(r, read, at, true)
			}
			c.addDiffering(r, read, at, false)
			for dir := at; dir != "/"; {
				dir = path.Dir(dir)
				c.addDiffering(r, read, dir, false)
				if c.add(r, all.paths[dir], all.below[dir]); r.Failed {
					c.add(r, all.attrs[dir])
				}
			}
		}
	}
}

// addDiffering adds the plans with an unpredicted change of a path, or of the contents of a folder. It skips effects
// that the reader applies itself.
func (c *conflicts) addDiffering(r *Reader, read pathRead, at string, folder bool) {
	for kind := range c.planned.kinds {
		if kind == "" || kind != read.knows {
			c.add(r, c.planned.differ[differs{at, folder, kind}])
		}
	}
}

// add notes the plans that come later in the check run and may come before the reader,
// and that it sees.
func (c *conflicts) add(r *Reader, lists ...[]*recorded) {
	for _, list := range lists {
		for _, p := range list {
			if p.Entry > r.Entry && !c.comesAfter(p.Entry, r.Entry) && (r.Noop || !p.Noop) {
				c.note(r.Entry, p.Entry)
			}
		}
	}
}

func (c *conflicts) note(reader, writer int) {
	if first, ok := c.found[reader]; !ok || writer < first {
		c.found[reader] = writer
	}
}

// ways returns all paths of a read: the paths of the links that it follows, and last its target.
func (f *Forecast) ways(read pathRead) []string {
	ways := []string{read.path}
	end, _, _ := f.walk(read.path, read.follow, read.knows, func(link string, _ origin) { ways = append(ways, f.same(link)) })
	return append(ways, f.same(end))
}
