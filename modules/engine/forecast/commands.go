package forecast

import (
	"context"
	"iter"
	"slices"

	"github.com/ccm-push/ccm-push/modules"
)

type predictedCommands struct {
	modules.Commands
	h predictedHost
}

// Probe runs on the host as it is.
func (c predictedCommands) Probe(ctx context.Context, cmd modules.Command) (modules.Exit, error) {
	if cmd.Paths != nil {
		c.probedPaths(cmd.Paths, cmd.User)
	} else {
		c.h.probed(cmd.Reads)
	}
	return c.Commands.Probe(ctx, cmd)
}

// Probed adds to p the doubts about the output of a program that reads such things. v is the view of its entry.
func (f *Forecast) Probed(v View, p *Prediction, reads modules.EffectKind) {
	predictedHost{Forecast: f, view: v, p: p}.probed(reads)
}

// probed notes what puts in doubt what a program has said of the host as it is:
// anything pending, or anything of the kind that it reads. Things of one kind have to do
// with each other in ways that no edge shows: packages, and units, bring others along.
func (h predictedHost) probed(reads modules.EffectKind) {
	if reads == "" {
		h.p.Reads.probe()
	} else {
		h.p.Reads.thing(reads, "")
	}
	switch {
	case reads != "":
		h.weighKind(reads, origin{})
		h.p.Add(Doubt{h.firstOf(reads, nil).ref, modules.Likely})
	case h.view.pending != "":
		h.p.Doubt(h.view.pending)
	}
	if h.pending != "" {
		h.p.doubtInList(h.pending)
	}
}

// probedPaths adds the doubts about the output of a program that reads only these paths, and everything below them. Modes
// of directories above them and mounts count, too. If user is not empty, the program runs as this user, and pending changes
// of accounts count.
func (c predictedCommands) probedPaths(paths []string, user string) {
	h := c.h
	var first cause
	doubt := func(c cause) {
		if c.ref != "" && (first.ref == "" || c.at < first.at) {
			first = c
		}
	}
	for _, name := range paths {
		h.p.Reads.path(pathRead{path: name, follow: true, names: true})
		read := []string{h.Canonical(name, false), h.Canonical(name, true)}
		for at, by := range h.changedPaths() {
			if meets(read, at) {
				doubt(by)
			}
		}
		for point, s := range h.other[modules.MountEffect] {
			if meets(read, point) {
				doubt(cause{s.ref, s.at})
			}
		}
	}
	if user != "" {
		for _, kind := range []modules.EffectKind{modules.UserEffect, modules.GroupEffect} {
			s := h.firstOf(kind, nil)
			doubt(cause{s.ref, s.at})
		}
	}
	if first.ref != "" {
		h.p.Doubt(first.ref)
	}
	h.weigh(origin{})
}

// changedPaths yields the paths that plans change, and directories in which they may change anything.
func (f *Forecast) changedPaths() iter.Seq2[string, cause] {
	return func(yield func(string, cause) bool) {
		for at, s := range f.paths {
			if !yield(at, cause{s.ref, s.at}) {
				return
			}
		}
		for at, d := range f.differs {
			if !yield(at, d.cause) {
				return
			}
		}
		for dir, c := range f.below {
			if !yield(dir, c.cause) {
				return
			}
		}
	}
}

// likelyReads adds the doubt about a program that may read anything, but most likely reads these paths only. If all pending
// plans only change other paths, the program's answer is likely.
func (c predictedCommands) likelyReads(names []string) modules.Grade {
	h := c.h
	h.p.Reads.probe()
	for i, name := range names {
		h.p.Reads.path(pathRead{path: name, follow: true, names: true, knows: h.knows})
		if h.pending != "" {
			names[i] = h.Canonical(name, true)
		}
	}
	var first origin // the first plan of the lowest grade
	add := func(at cause, d Doubt) {
		if d.Any() && (first.ref == "" || first.doubt.Or(d) != first.doubt || d.Grade == first.doubt.Grade && at.at < first.at) {
			first = origin{ref: at.ref, at: at.at, doubt: d}
		}
	}
	changes := func(at cause, read bool) {
		switch {
		case read:
			add(at, Doubt{at.ref, modules.Unknown})
		case h.precedes(at.at, h.view):
			add(at, Doubt{at.ref, modules.Likely})
		}
	}
	for kind, states := range h.other {
		for point, s := range states {
			changes(cause{s.ref, s.at}, kind == modules.MountEffect && meets(names, point))
		}
	}
	for at, by := range h.changedPaths() {
		changes(by, meets(names, at))
	}
	for _, c := range h.kinds {
		changes(c, false)
	}
	add(h.view.opaque, Doubt{h.view.opaque.ref, modules.Unknown})
	add(h.view.elsewhere, Doubt{h.view.elsewhere.ref, modules.Likely})
	if first.ref == "" && h.view.pending != "" {
		first.doubt = Doubt{h.view.pending, modules.Likely}
	}
	h.p.Add(first.doubt)
	if h.pending != "" {
		h.p.doubtInList(h.pending)
	}
	if !first.doubt.Any() {
		return modules.Certain
	}
	return first.doubt.Grade
}

// live adds the doubt about what runs on the host, see [modules.LiveEffect], and returns its grade.
func (c predictedCommands) live(key string) modules.Grade {
	h, aside := c.h, c.h
	aside.p = &Prediction{Reads: h.p.Reads}
	if key == modules.NotYet {
		aside.probed("")
	} else {
		h.p.Reads.probe()
		aside.weigh(origin{})
		aside.p.Add(Doubt{h.view.pending, modules.Likely})
		aside.p.Add(h.firstUnknown())
	}
	h.p.Add(aside.p.Because)
	return aside.p.Because.Grade
}

// reread reports whether systemd will read the unit files again after the last change at the names.
func (c predictedCommands) reread(names []string) bool {
	h := c.h
	at := h.other[modules.RereadEffect][""].at
	if at == 0 || !h.precedes(at, h.view) {
		return false
	}
	for changed, by := range h.changedPaths() {
		if by.at > at && meets(names, changed) {
			return false
		}
	}
	return true
}

// firstUnknown returns the doubt of the first plan with unknown effects on services, packages or the firewall.
func (f *Forecast) firstUnknown() Doubt {
	var first origin
	for _, kind := range []modules.EffectKind{modules.UnitEffect, modules.PackageEffect, modules.FirewallEffect} {
		for _, s := range f.other[kind] {
			if s.doubt.Grade == modules.Unknown && (first.ref == "" || s.at < first.at) {
				first = s.origin
			}
		}
	}
	return first.doubt
}

// meets reports whether a path is below or above one of the names.
func meets(names []string, at string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return modules.Inside(at, name) || modules.Inside(name, at) })
}

// firstOf returns the first planned state for a kind of things that is of interest; nil accepts all.
func (h predictedHost) firstOf(kind modules.EffectKind, of func(state any) bool) (first origin) {
	for _, s := range h.other[kind] {
		if (of == nil || of(s.state)) && (first.ref == "" || s.at < first.at) {
			first = s.origin
		}
	}
	return first
}
