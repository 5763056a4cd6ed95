package playbooks

import (
	"cmp"
	"slices"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// catalogProgress is the progress of a host with a catalog.
type catalogProgress struct {
	Failed bool // an entry has
	Would  bool // an entry has changed, or would

	catalog *wire.Catalog
	look    bool   // set if nothing is changed: differences do not count as changes
	told    []bool // by entry: it has a result
	changed []bool // by entry: it has changed the host
	brought []bool // whether an entry is in its desired state, by entry
	reached int    // entry: all before it have results
	locked  bool   // the host waits for its lock
	killed  bool   // the host has killed its running resources, on request: it starts nothing else
	// worth contains the results that changed the host or failed, without texts, and how often each was reported.
	worth map[events.UntoldResult]int
}

// newCatalogProgress returns the progress of a host which has not begun.
func newCatalogProgress(c *wire.Catalog) *catalogProgress {
	return &catalogProgress{catalog: c, told: make([]bool, len(c.Entries)), changed: make([]bool, len(c.Entries)), brought: make([]bool, len(c.Entries))}
}

// Note receives each result once, except when an entry is run again, see [session.Task].
func (p *catalogProgress) Note(r *wire.Result) {
	p.grow()
	p.told[r.Index], p.changed[r.Index] = true, changedHost(p.catalog, r)
	p.brought[r.Index] = r.Status == wire.Stable || r.Status == wire.Changed
	p.Failed = p.Failed || r.Status == wire.Failed
	p.killed = p.killed || r.Killed || r.Overdue
	p.Would = p.Would || r.Status == wire.Changed
	if entry := &p.catalog.Entries[r.Index]; !p.catalog.Check && !entry.Check && (r.Status == wire.Changed || r.Status.HasFailed()) {
		if p.worth == nil {
			p.worth = map[events.UntoldResult]int{}
		}
		p.worth[events.UntoldResult{Type: entry.Type, Name: entry.Name, Status: events.Status(r.Status)}]++
	}
}

// next returns the first entry without a result, or nil.
func (p *catalogProgress) next() *wire.Entry {
	p.grow()
	for p.reached < len(p.told) && p.told[p.reached] {
		p.reached++
	}
	if p.reached == len(p.told) {
		return nil
	}
	return &p.catalog.Entries[p.reached]
}

// unfinished names a resource that depends on a change of the entry first or a later one, and was not applied; "" means
// none.
func (p *catalogProgress) unfinished(first int) string {
	p.grow()
	for i := first; i < len(p.catalog.Entries); i++ {
		e := &p.catalog.Entries[i]
		if e.Check || e.Excluded || e.Hidden || p.brought[i] {
			continue
		}
		for _, of := range e.Subscribe {
			if of >= first && p.hasChanged(of) {
				return e.Ref() + " depends on a change that has to be confirmed, and was not applied"
			}
		}
	}
	return ""
}

// at shows the progress of a host with a catalog.
func (s *hostState) at(p *catalogProgress) {
	if !p.look {
		s.activity.Came(p.Would, p.Failed)
	}
	if p.locked {
		s.activity.At("waiting for the lock")
	} else if entry := p.next(); entry != nil {
		s.activity.AtResource(entry.Type, cmp.Or(entry.Alias, entry.Name))
	} else {
		s.activity.At("ending")
	}
}

// count returns the number of entries with a result.
func (p *catalogProgress) count() int {
	n := 0
	for _, told := range p.told {
		if told {
			n++
		}
	}
	return n
}

// again reports which entries have a result, for a host that resumes the catalog. The host adds its own entries again.
func (p *catalogProgress) again() []bool {
	if p.catalog.Undo != nil { // it names the same again
		return slices.Clone(p.told)
	}
	own := len(p.catalog.Entries)
	for own > 0 && p.catalog.Entries[own-1].Reversal {
		own--
	}
	p.cut(own)
	p.reached, p.locked = min(p.reached, len(p.told)), false
	return slices.Clone(p.told)
}

// stage notes that the entries after those with results have been replaced.
func (p *catalogProgress) stage() {
	p.cut(len(p.catalog.Entries))
	p.grow()
}

// cut forgets the entries from the nth on.
func (p *catalogProgress) cut(n int) {
	n = min(n, len(p.told))
	p.told, p.changed, p.brought = p.told[:n], p.changed[:n], p.brought[:n]
}

// grow makes room for the entries that a host has added: see [wire.Reversals].
func (p *catalogProgress) grow() {
	more := max(0, len(p.catalog.Entries)-len(p.told))
	for _, list := range []*[]bool{&p.told, &p.changed, &p.brought} {
		*list = append(*list, make([]bool, more)...)
	}
}

// changedHost reports whether the host was changed, also if that did not help.
func changedHost(c *wire.Catalog, r *wire.Result) bool {
	if c.Check || c.Entries[r.Index].Check {
		return false
	}
	return r.Status == wire.Changed || r.Status.HasFailed() && r.Done
}

// Rest describes the entries without a result.
func (p *catalogProgress) Rest() events.Rest {
	p.grow()
	var rest events.Rest
	for i := range p.catalog.Entries {
		if p.told[i] {
			continue
		}
		entry := &p.catalog.Entries[i]
		if entry.Unselected == "" {
			if rest.NotReached++; rest.NotReached == 1 {
				rest.Next = entry.Ref()
			}
		}
		if !entry.Check && slices.ContainsFunc(entry.Subscribe, p.hasChanged) {
			rest.RefreshDue = append(rest.RefreshDue, entry.Ref())
		}
	}
	return rest
}

// hasChanged reports whether an entry, or one of the nested manifest that it stands
// for, has changed the host.
func (p *catalogProgress) hasChanged(i int) bool {
	scope := p.catalog.Entries[i].Scope
	if scope == nil || p.told[i] {
		return p.changed[i]
	}
	return slices.Contains(p.changed[i-scope.Entries:i], true)
}
