package forecast

import "github.com/ccm-push/ccm-push/modules"

// A View is what of all that is planned comes before a resource.
type View struct {
	pending string               // the first resource that would change something; "" is none
	opaque  cause                // the latest with the effect Anything
	before  func(entry int) bool // of the catalog under way: which come before, along edges; nil in a list, where all do
}

// Everything is the view of a resource of a list, which comes after all before it.
func (f *Forecast) Everything() View { return View{pending: f.pending, opaque: f.opaque} }

// Behind is the view of a resource of a graph, which comes after the entries that before
// accepts, and after all earlier catalogs.
func (f *Forecast) Behind(before func(entry int) bool) View {
	v := View{opaque: f.opaqueEarlier, before: before}
	if f.began > 0 {
		v.pending = f.pending
	}
	for n, p := range f.plans {
		if !before(p.Entry) {
			continue
		}
		if v.pending == "" {
			v.pending = p.Ref
		}
		if p.opaque {
			v.opaque = cause{p.Ref, f.began + n + 1}
		}
	}
	return v
}

// precedes reports whether the plan that was recorded at a time comes before whom v
// belongs to.
func (f *Forecast) precedes(at int, v View) bool {
	return v.before == nil || at <= f.began || v.before(f.plans[at-f.began-1].Entry)
}

// A Pair is the forecasts of a check run. A noop entry will not be carried out, so only
// other noop entries see what it would do.
type Pair struct {
	Will  *Forecast // without the plans of noop entries
	Would *Forecast // and with them: what noop entries see
}

// NewPair is the forecasts before any plan, on top of the real host.
func NewPair(real modules.Host) *Pair { return &Pair{New(real), New(real)} }

// For is the forecast that an entry is checked against.
func (p *Pair) For(noop bool) *Forecast {
	if noop {
		return p.Would
	}
	return p.Will
}

// Begin is told that another catalog begins, whose real host has the folder and the contents
// of its own play. earlier is a resource before it of which it is not known what it has
// done; "" is none.
func (p *Pair) Begin(real modules.Host, earlier string) {
	for _, f := range []*Forecast{p.Will, p.Would} {
		f.on(real)
		if earlier != "" {
			f.Record(Plan{Entry: -1, Ref: earlier, Effects: []modules.Effect{modules.Anything}})
		}
		f.Begin()
	}
}

// Plans gives what is planned in the catalog under way, by entry.
func (p *Pair) Plans() map[int][]Plan {
	plans := map[int][]Plan{}
	for _, r := range p.Would.plans {
		plans[r.Entry] = append(plans[r.Entry], r.Plan)
	}
	return plans
}

// Record adds a plan to the forecasts of those who shall see it. What has been applied
// needs no forecast, except over plans that were only predicted.
func (p *Pair) Record(plan Plan) {
	if plan.Applied && p.Would.pending == "" {
		return
	}
	plan.Effects = p.For(plan.Noop).Settled(plan.Effects)
	if !plan.Applied && !plan.Noop {
		p.Will.Record(plan)
	}
	p.Would.Record(plan)
}
