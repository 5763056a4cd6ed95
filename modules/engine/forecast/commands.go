package forecast

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

type predictedCommands struct {
	modules.Commands
	h predictedHost
}

// Probe runs on the host as it is.
func (c predictedCommands) Probe(ctx context.Context, cmd modules.Command) (modules.Exit, error) {
	if cmd.Paths != nil {
		c.probedPaths(cmd.Paths)
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
		if first := h.firstOf(reads); first != "" {
			h.p.Add(Doubt{first, modules.Likely})
		}
	case h.view.pending != "":
		h.p.Doubt(h.view.pending)
	}
	if h.pending != "" {
		h.p.doubtInList(h.pending)
	}
}

// probedPaths adds the doubts about the output of a program that reads only these paths, and everything below them. Modes
// of directories above them may matter, too.
func (c predictedCommands) probedPaths(paths []string) {
	h := c.h
	for _, name := range paths {
		h.p.Reads.path(pathRead{path: name, follow: true, names: true})
		for _, read := range []string{h.Canonical(name, false), h.Canonical(name, true)} {
			doubt := func(changed, ref string) {
				if inside(changed, read) || inside(read, changed) {
					h.p.Doubt(ref)
				}
			}
			for changed, s := range h.paths {
				doubt(changed, s.ref)
			}
			for changed, d := range h.differs {
				doubt(changed, d.ref)
			}
			for changed, by := range h.below {
				doubt(changed, by.ref)
			}
		}
	}
	h.weigh(origin{})
}

// firstOf names the resource that was the first to plan something for a kind of things.
func (h predictedHost) firstOf(kind modules.EffectKind) string {
	var first origin
	for _, s := range h.other[kind] {
		if first.ref == "" || s.at < first.at {
			first = s.origin
		}
	}
	return first.ref
}
