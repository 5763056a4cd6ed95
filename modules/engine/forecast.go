package engine

import (
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// forecast is what the plans of a check run would have made of the host so far.
// It answers reads on top of the real host, and tells a [witness] when an answer
// rests on something that cannot be known.
type forecast struct {
	real    modules.Host
	paths   map[string]foreseen
	other   map[modules.EffectKind]map[string]foreseenState
	pending string           // the first resource that would change something; "" is none
	opaque  cause            // the latest resource with the effect Anything
	undone  cause            // the latest of those that has not been carried out
	below   map[string]cause // by canonical directory: the latest resource that may change anything in it
	clock   int

	// Of the catalog under way, since a graph is one of its own:
	plans         []plan // in the order in which they were made
	began         int    // the clock when it began
	opaqueEarlier cause  // opaque, then
}

// plan is what is noted of one in the catalog under way.
type plan struct {
	entry  int
	ref    string
	opaque bool

	effects []modules.Effect // settled
}

// A sight is what of all that is planned comes before a resource.
type sight struct {
	pending string   // the first resource that would change something; "" is none
	opaque  cause    // the latest with the effect Anything
	before  entrySet // of the catalog under way; used in a graph
	graph   bool     // otherwise everything comes before it
}

// cause is a resource that makes predictions uncertain, and when it was planned.
type cause struct {
	ref string
	at  int
}

// origin is where a foreseen state comes from.
type origin struct {
	ref   string // the resource
	at    int    // when it was planned
	doubt string // what its plan depends on, if it is uncertain
}

// foreseen is the state a path will have.
type foreseen struct {
	modules.PathState
	origin
	fresh bool // a directory that does not exist yet: nothing is in it but what is foreseen
}

// foreseenState is the state of anything else.
type foreseenState struct {
	state any
	origin
}

// witness notes on which resource the answers of a Host depended first.
type witness struct {
	because  string // set beforehand if a requirement is uncertain
	inList   string // what they would have depended on if all came after what stands before it
	noted    bool   // an answer was uncertain
	recorded bool   // a plan has been added to the forecast
	looks    *looks // all that was looked at; nil if nobody needs to know
}

func (w *witness) note(ref string) {
	w.noted = true
	if w.because == "" {
		w.because = ref
	}
}

// perhaps notes on what an answer would depend in a list.
func (w *witness) perhaps(ref string) {
	if w.inList == "" {
		w.inList = ref
	}
}

// asInList has what a list would have put in doubt be in doubt.
func (w *witness) asInList() {
	if w.inList != "" {
		w.note(w.inList)
	}
}

func newForecast(real modules.Host) *forecast {
	return &forecast{real: real, paths: map[string]foreseen{}, other: map[modules.EffectKind]map[string]foreseenState{}, below: map[string]cause{}}
}

// settled gives the effects of a plan that was made on this forecast, with the
// paths that they lead to in it.
func (f *forecast) settled(effects []modules.Effect) []modules.Effect {
	effects = slices.Clone(effects)
	for i, e := range effects {
		switch e.Kind {
		case modules.PathEffect:
			effects[i].Key = f.canonical(e.Key, false)
		case modules.BelowEffect:
			effects[i].Key = f.canonical(e.Key, true)
		}
	}
	return effects
}

// begin is told that another catalog begins, which comes after all that is planned.
func (f *forecast) begin() {
	f.plans, f.began, f.opaqueEarlier = nil, f.clock, f.opaque
}

// everything is what a resource of a list comes after: all before it.
func (f *forecast) everything() sight { return sight{pending: f.pending, opaque: f.opaque} }

// behind is what a resource of a graph comes after: those entries, and all earlier
// catalogs.
func (f *forecast) behind(before entrySet) sight {
	s := sight{opaque: f.opaqueEarlier, before: before, graph: true}
	if f.began > 0 {
		s.pending = f.pending
	}
	for n, p := range f.plans {
		if !before.has(p.entry) {
			continue
		}
		if s.pending == "" {
			s.pending = p.ref
		}
		if p.opaque {
			s.opaque = cause{p.ref, f.began + n + 1}
		}
	}
	return s
}

// precedes reports whether what was planned at a time comes before whom s belongs to.
func (f *forecast) precedes(at int, s sight) bool {
	return !s.graph || at <= f.began || s.before.has(f.plans[at-f.began-1].entry)
}

// record adds the settled effects of a plan of an entry, the resource ref. doubt names
// what its prediction depends on; "" says that it is certain.
func (f *forecast) record(entry int, ref string, of modules.Plan, doubt string) {
	if f.pending == "" {
		f.pending = ref
	}
	f.clock++
	f.plans = append(f.plans, plan{entry, ref, false, of.Effects})
	for _, e := range of.Effects {
		switch e.Kind {
		case modules.AnyEffect:
			f.opaque = cause{ref, f.clock}
			f.undone = f.opaque
			f.plans[len(f.plans)-1].opaque = true
		case modules.BelowEffect:
			f.below[e.Key] = cause{ref, f.clock}
		case modules.PathEffect:
			f.recordPath(e.Key, e.State.(modules.PathState), origin{ref, f.clock, doubt})
		default:
			if f.other[e.Kind] == nil {
				f.other[e.Kind] = map[string]foreseenState{}
			}
			f.other[e.Kind][e.Key] = foreseenState{e.State, origin{ref, f.clock, doubt}}
		}
	}
}

func (f *forecast) recordPath(name string, s modules.PathState, from origin) {
	before, known := f.lookup(name)
	if !known {
		info, err := f.real.Files.Stat(name)
		before.Kind = info.Kind
		if err != nil {
			before.Kind = modules.Absent
		}
	}
	next := foreseen{PathState: s, origin: from}
	next.fresh = s.Kind == modules.Directory && (before.fresh || before.Kind != modules.Directory)
	if s.Kind == modules.Absent {
		for p := range f.paths {
			if strings.HasPrefix(p, strings.TrimSuffix(name, "/")+"/") {
				delete(f.paths, p)
			}
		}
	}
	f.paths[name] = next
}

// lookup finds what is foreseen for a canonical path: by itself, or because of
// a directory above it that will be new or gone.
func (f *forecast) lookup(name string) (foreseen, bool) {
	if s, ok := f.paths[name]; ok {
		return s, true
	}
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if s, ok := f.paths[dir]; ok && (s.Kind != modules.Directory || s.fresh) {
			return foreseen{PathState: modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Absent}}, origin: s.origin}, true
		}
		if dir == "/" || dir == "." {
			return foreseen{}, false
		}
	}
}

// canonical follows the symbolic links of the directories of name, and of its
// last element too if whole is set, so that one file has one key.
func (f *forecast) canonical(name string, whole bool) string {
	done, _ := f.walk(name, whole, func(string, origin) {})
	return done
}

// walk is canonical, and gives the latest cause of doubt about a directory that
// the path leads into, by whatever links. through is told those links, and where they
// are foreseen from.
func (f *forecast) walk(name string, whole bool, through func(link string, from origin)) (done string, unsure cause) {
	rest := strings.Split(strings.Trim(name, "/"), "/")
	done = "/"
	for links := 0; len(rest) > 0; {
		if c := f.below[done]; c.at > unsure.at {
			unsure = c
		}
		next := path.Join(done, rest[0])
		rest = rest[1:]
		if len(rest) == 0 && !whole {
			return next, unsure
		}
		kind, target, from := f.link(next)
		if kind != modules.Symlink || links == 40 { // as many as the kernel follows
			done = next
			continue
		}
		links++
		through(next, from)
		if path.IsAbs(target) {
			done = "/"
		}
		rest = append(slices.DeleteFunc(strings.Split(target, "/"), func(s string) bool { return s == "" }), rest...)
	}
	return done, unsure
}

func (f *forecast) link(name string) (kind modules.FileKind, target string, from origin) {
	if s, ok := f.lookup(name); ok {
		return s.Kind, s.Target, s.origin
	}
	info, err := f.real.Files.Stat(name)
	if err != nil {
		return modules.Absent, "", origin{}
	}
	return info.Kind, info.Target, origin{}
}
