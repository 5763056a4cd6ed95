package engine

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// preloads are what types have found out about their resources, by name of the
// type.
type preloads map[string]*preload

// preload is what one type has found out.
type preload struct {
	asked  bool
	answer any // nil: nothing
	// singly lets the next resource ask by itself. After an Apply that is cheaper: if
	// that one has to be applied as well, asking for the rest would be in vain.
	singly bool
	drops  int // how often it was dropped
}

// drop forgets everything, since something is about to change the host.
func (p preloads) drop() {
	for _, of := range p {
		*of = preload{singly: true, drops: of.drops + 1}
	}
}

func (p preloads) of(typ string) *preload {
	if p[typ] == nil {
		p[typ] = &preload{}
	}
	return p[typ]
}

// preload gives the Preload of the Host that the job is checked with; nil if
// its type has found out nothing.
func (j *job) preload(ctx context.Context) func(modules.EffectKind) any {
	if _, ok := j.resource.(modules.Preloader); !ok {
		return nil
	}
	of := j.run.preloads.of(j.entry.Type)
	switch {
	case j.run.scheduler.Changing():
		return nil // what others are changing is different in a moment
	case of.singly:
		of.singly = false
		return nil
	case !of.asked:
		of.asked = true
		drops := of.drops
		if answer := j.askAhead(ctx); of.drops == drops {
			of.answer = answer
		}
	}
	if of.answer == nil {
		return nil
	}
	answer := of.answer
	return func(reads modules.EffectKind) any {
		if j.predicts() {
			j.forecast().Probed(j.view(), j.prediction, reads)
		}
		return answer
	}
}

// askAhead lets a type ask about the job and those of its type that follow. One
// alone can ask by itself, and what fails here is told by those it matters to.
func (j *job) askAhead(ctx context.Context) (answer any) {
	var all []modules.Resource
	for _, next := range j.run.jobs[j.index:] {
		if next.entry.Type == j.entry.Type && next.resource != nil && next.invalid == nil && next.joint == nil && next.secret == j.secret {
			all = append(all, next.resource)
		}
	}
	if len(all) < 2 {
		return nil
	}
	j.outside(func() {
		var err error
		if answer, err = j.resource.(modules.Preloader).Preload(ctx, j.run.present(modules.Discard{}), all); err != nil {
			answer = nil
		}
	})
	return answer
}
