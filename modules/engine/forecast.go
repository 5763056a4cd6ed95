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
	below   map[string]cause // by canonical directory: the latest resource that may change anything in it
	clock   int
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
	noted    bool   // an answer was uncertain
	recorded bool   // a plan has been added to the forecast
}

func (w *witness) note(ref string) {
	w.noted = true
	if w.because == "" {
		w.because = ref
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

// record adds the settled effects of a plan of the resource ref. doubt names what its
// prediction depends on; "" says that it is certain.
func (f *forecast) record(ref string, plan modules.Plan, doubt string) {
	if f.pending == "" {
		f.pending = ref
	}
	f.clock++
	for _, e := range plan.Effects {
		switch e.Kind {
		case modules.AnyEffect:
			f.opaque = cause{ref, f.clock}
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
	done, _ := f.walk(name, whole)
	return done
}

// walk is canonical, and gives the latest cause of doubt about a directory that
// the path leads into, by whatever links.
func (f *forecast) walk(name string, whole bool) (done string, unsure cause) {
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
		kind, target := f.link(next)
		if kind != modules.Symlink || links == 40 { // as many as the kernel follows
			done = next
			continue
		}
		links++
		if path.IsAbs(target) {
			done = "/"
		}
		rest = append(slices.DeleteFunc(strings.Split(target, "/"), func(s string) bool { return s == "" }), rest...)
	}
	return done, unsure
}

func (f *forecast) link(name string) (modules.FileKind, string) {
	if s, ok := f.lookup(name); ok {
		return s.Kind, s.Target
	}
	info, err := f.real.Files.Stat(name)
	if err != nil {
		return modules.Absent, ""
	}
	return info.Kind, info.Target
}
