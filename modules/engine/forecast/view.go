package forecast

import "github.com/ccm-push/ccm-push/modules"

// A View holds the plans that precede a resource.
type View struct {
	pending   string               // first resource that would change something; empty means none
	opaque    cause                // the latest with the effect Anything
	elsewhere cause                // the latest with the effect Elsewhere
	before    func(entry int) bool // reports whether an entry of the catalog precedes it, along edges; nil in a list, where all earlier ones do
}

// Everything is the view of a resource of a list, which comes after all before it.
func (f *Forecast) Everything() View {
	return View{pending: f.pending, opaque: f.opaque, elsewhere: f.elsewhere}
}

// Behind returns the view of a resource of a graph: it includes the entries that before accepts, and all earlier
// catalogs.
func (f *Forecast) Behind(before func(entry int) bool) View {
	v := f.earlier
	v.before = before
	for n, p := range f.plans {
		if !before(p.Entry) {
			continue
		}
		if v.pending == "" {
			v.pending = p.Ref
		}
		at := cause{p.Ref, f.began + n + 1}
		if p.opaque {
			v.opaque = at
		}
		if p.elsewhere {
			v.elsewhere = at
		}
	}
	return v
}

// precedes reports whether the plan that was recorded at a time comes before whom v
// belongs to.
func (f *Forecast) precedes(at int, v View) bool {
	return v.before == nil || at <= f.began || v.before(f.plans[at-f.began-1].Entry)
}

// A Pair holds the two forecasts of a check run. A noop entry will not be applied, so only other noop entries see its
// plan.
type Pair struct {
	Will  *Forecast // without the plans of noop entries
	Would *Forecast // and with them: what noop entries see
}

// NewPair is the forecasts before any plan, on top of the real host.
func NewPair(real modules.Host) *Pair { return &Pair{New(real), New(real)} }

// For returns the forecast that an entry is checked against.
func (p *Pair) For(noop bool) *Forecast {
	if noop {
		return p.Would
	}
	return p.Will
}

// Begin begins another catalog, whose real host has the folder and the contents of its own play. earlier is a previous
// resource with unknown effects; empty means none.
func (p *Pair) Begin(real modules.Host, earlier string) {
	for _, f := range []*Forecast{p.Will, p.Would} {
		f.on(real)
		if earlier != "" {
			f.Record(Plan{Entry: -1, Ref: earlier, Effects: []modules.Effect{modules.Anything}})
		}
		f.Begin()
	}
}

// Plans returns the plans of the current catalog, by entry.
func (p *Pair) Plans() map[int][]Plan {
	plans := map[int][]Plan{}
	for _, r := range p.Would.plans {
		plans[r.Entry] = append(plans[r.Entry], r.Plan)
	}
	return plans
}

// Record adds a plan to the forecasts whose readers see it. An applied plan needs no forecast, except after plans that
// were only predicted.
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
