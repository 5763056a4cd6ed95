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
	c.h.probed(cmd.Reads)
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
	case reads != "" && len(h.other[reads]) == 0:
		h.weighKind(reads, origin{})
	case reads != "" && h.view.before != nil:
		h.p.Doubt(h.firstOf(reads))
	case h.view.pending != "":
		h.p.Doubt(h.view.pending)
	}
	if h.pending != "" {
		h.p.doubtInList(h.pending)
	}
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
