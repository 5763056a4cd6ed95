package forecast

import (
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// A Forecast predicts the host after the recorded plans. Its clock counts plans: the first one is recorded at 1.
type Forecast struct {
	real               modules.Host
	paths              map[string]predictedPath
	other              map[modules.EffectKind]map[string]predictedState
	pending            string                       // first resource that would change something; empty means none
	opaque             cause                        // the latest resource with the effect Anything
	elsewhere          cause                        // the latest resource with the effect Elsewhere
	unapplied          cause                        // latest resource with the effect Anything that was not applied
	unappliedElsewhere cause                        // the same with the effect Elsewhere
	below              map[string]differing         // latest resource that may change anything in a directory, by canonical directory
	kinds              map[modules.EffectKind]cause // latest resource that may change anything of a kind
	differs            map[string]differing
	binds              map[string]string // binds of [modules.FileRights]: one file has one path in the maps above
	clock              int

	// Plans of the current catalog, since each catalog has a graph of its own:
	plans   []recorded // in the order in which they were made
	began   int        // the clock when it began
	earlier View       // everything, then
}

// A Plan is the plan of an entry.
type Plan struct {
	Entry   int    // its index in the catalog under way
	Ref     string // the resource, which predictions that rest on the plan depend on
	Effects []modules.Effect
	Doubt   Doubt // about the plan itself
	Noop    bool  // not applied ever, so only other noop entries see it
	Applied bool  // it has been carried out, over plans that were only predicted
}

type recorded struct {
	Plan
	opaque, elsewhere bool // effects Anything and Elsewhere
}

// A cause is a resource that makes predictions uncertain, and when it was planned.
type cause struct {
	ref string
	at  int
}

// differing is the latest plan that changes a path in a way that is not predicted.
type differing struct {
	cause
	kind  modules.EffectKind // predicts the meaning of the file; empty if none does
	there bool               // below the path, likely no new paths appear
}

// An origin is where a predicted state comes from.
type origin struct {
	ref   string // the resource
	at    int    // when it was planned
	doubt Doubt  // about its plan, or this effect of it
}

// predictedPath is the state a path will have.
type predictedPath struct {
	modules.PathState
	origin
	fresh bool // a directory that does not exist yet: all its contents are predicted
}

// predictedState is the state of anything else.
type predictedState struct {
	state any
	origin
}

// New is the forecast before any plan, on top of the real host.
func New(real modules.Host) *Forecast {
	return (&Forecast{paths: map[string]predictedPath{}, other: map[modules.EffectKind]map[string]predictedState{}, below: map[string]differing{}, kinds: map[modules.EffectKind]cause{}, differs: map[string]differing{}}).on(real)
}

// on sets the real host.
func (f *Forecast) on(real modules.Host) *Forecast {
	f.real = real
	if real.Files.FileRights != nil {
		f.binds = real.Files.Binds()
	}
	return f
}

// same returns the path under which the forecast keeps a path without links: bind mounts have one.
func (f *Forecast) same(name string) string { return modules.FollowBinds(f.real.Files, f.binds, name) }

// Pending returns the first resource that would change something, or "".
func (f *Forecast) Pending() string { return f.pending }

// Begin begins another catalog, which comes after all plans so far.
func (f *Forecast) Begin() {
	f.plans, f.began, f.earlier = nil, f.clock, f.Everything()
}

// Settled returns the effects of a plan that was made on this forecast, with the targets of their paths in it.
func (f *Forecast) Settled(effects []modules.Effect) []modules.Effect {
	effects = slices.Clone(effects)
	for i, e := range effects {
		switch e.Kind {
		case modules.PathEffect, modules.DiffersEffect:
			effects[i].Key = f.Canonical(e.Key, false)
		case modules.BelowEffect:
			effects[i].Key = f.Canonical(e.Key, true)
		}
	}
	return effects
}

// Record adds a plan, whose effects are settled.
func (f *Forecast) Record(p Plan) {
	if f.pending == "" {
		f.pending = p.Ref
	}
	f.clock++
	plan := recorded{Plan: p}
	for _, e := range p.Effects {
		from := origin{p.Ref, f.clock, p.Doubt}
		if e.Likely {
			from.doubt = from.doubt.Or(Doubt{p.Ref, modules.Likely})
		}
		switch e.Kind {
		case modules.ElsewhereEffect:
			plan.elsewhere = true
			f.elsewhere = cause{p.Ref, f.clock}
			if !p.Applied {
				f.unappliedElsewhere = f.elsewhere
			}
		case modules.AnyEffect:
			plan.opaque = true
			f.opaque = cause{p.Ref, f.clock}
			if !p.Applied {
				f.unapplied = f.opaque
			}
		case modules.BelowEffect:
			before, already := f.below[e.Key]
			f.below[e.Key] = differing{cause: cause{p.Ref, f.clock}, there: e.Likely && (!already || before.there)}
		case modules.KindEffect:
			f.kinds[modules.EffectKind(e.Key)] = cause{p.Ref, f.clock}
		case modules.DiffersEffect:
			before, already := f.differs[e.Key]
			f.differs[e.Key] = differing{cause{p.Ref, f.clock}, e.State.(modules.EffectKind), e.Likely && (!already || before.there)}
		case modules.PathEffect:
			f.recordPath(e.Key, e.State.(modules.PathState), from)
		default:
			if f.other[e.Kind] == nil {
				f.other[e.Kind] = map[string]predictedState{}
			}
			f.other[e.Kind][e.Key] = predictedState{e.State, from}
		}
	}
	f.plans = append(f.plans, plan)
}

func (f *Forecast) recordPath(name string, s modules.PathState, from origin) {
	before, known := f.lookup(name)
	if !known {
		info, err := f.real.Files.Stat(name)
		before.Kind = info.Kind
		if err != nil {
			before.Kind = modules.Absent
		}
	}
	next := predictedPath{PathState: s, origin: from}
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

// lookup returns the prediction for a canonical path: its own, or one of a directory above it that will be new or
// removed.
func (f *Forecast) lookup(name string) (predictedPath, bool) {
	name = f.same(name)
	if s, ok := f.paths[name]; ok {
		return s, true
	}
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if s, ok := f.paths[dir]; ok && (s.Kind != modules.Directory || s.fresh) {
			return predictedPath{PathState: modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Absent}}, origin: s.origin}, true
		}
		if dir == "/" || dir == "." {
			return predictedPath{}, false
		}
	}
}

// Canonical resolves the symbolic links of the directories of name, with whole also of its last element, so that one
// file has one key. It also resolves bind mounts.
func (f *Forecast) Canonical(name string, whole bool) string {
	done, _, _ := f.walk(name, whole, "", func(string, origin) {})
	return f.same(done)
}

// walk is Canonical without bind mounts. It returns the latest cause of doubt about a directory on the way, through any
// links; ifThere is the same for a doubt that counts only if the path exists. It calls through with each link, and the
// origin of its prediction. knows is the kind of effects that the reader applies itself.
func (f *Forecast) walk(name string, whole bool, knows modules.EffectKind, through func(link string, from origin)) (done string, unsure, ifThere cause) {
	rest := strings.Split(strings.Trim(name, "/"), "/")
	done = "/"
	for links := 0; len(rest) > 0; {
		if below := f.below[f.same(done)]; below.there {
			ifThere = latest(ifThere, below.cause)
		} else {
			unsure = latest(unsure, below.cause)
		}
		next := path.Join(done, rest[0])
		rest = rest[1:]
		switch d := f.differ(next, knows); {
		case d.there && len(rest) > 0:
			ifThere = latest(ifThere, d.cause)
		default:
			unsure = latest(unsure, d.cause)
		}
		if len(rest) == 0 && !whole {
			return next, unsure, ifThere
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
	return done, unsure, ifThere
}

func latest(a, b cause) cause {
	if b.at > a.at {
		return b
	}
	return a
}

// differ returns the latest plan that changes a path in a way that is not predicted, except by effects
// of the kind that the reader knows.
func (f *Forecast) differ(name string, knows modules.EffectKind) differing {
	d := f.differs[f.same(name)]
	if d.kind != "" && d.kind == knows {
		return differing{}
	}
	return d
}

func (f *Forecast) link(name string) (kind modules.FileKind, target string, from origin) {
	if s, ok := f.lookup(name); ok {
		return s.Kind, s.Target, s.origin
	}
	info, err := f.real.Files.Stat(name)
	if err != nil {
		return modules.Absent, "", origin{}
	}
	return info.Kind, info.Target, origin{}
}
