package forecast

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
