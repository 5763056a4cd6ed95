package engine

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
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

// preload gives the Preload of the Host that the entry i is checked with; nil if
// its type has found out nothing. In a check run w notes what puts it in doubt.
func (r *run) preload(ctx context.Context, i int, p *forecast.Prediction) func(modules.EffectKind) any {
	if _, ok := r.resources[i].(modules.Preloader); !ok {
		return nil
	}
	name := r.cat.Entries[i].Type
	of := r.preloads[name]
	if of == nil {
		of = &preload{}
		r.preloads[name] = of
	}
	switch {
	case r.scheduler.Changing():
		return nil // what others are changing is different in a moment
	case of.singly:
		of.singly = false
		return nil
	case !of.asked:
		of.asked = true
		drops := of.drops
		if answer := r.ask(ctx, i); of.drops == drops {
			of.answer = answer
		}
	}
	if of.answer == nil {
		return nil
	}
	answer := of.answer
	return func(reads modules.EffectKind) any {
		if r.checked(i) {
			r.forecast(i).Probed(r.view(i), p, reads)
		}
		return answer
	}
}

// ask lets a type ask about the entry i and those of its type that follow. One
// alone can ask by itself, and what fails here is told by those it matters to.
func (r *run) ask(ctx context.Context, i int) (answer any) {
	var all []modules.Resource
	for j := i; j < len(r.resources); j++ {
		if r.cat.Entries[j].Type == r.cat.Entries[i].Type && r.resources[j] != nil && r.errs[j] == nil && r.settled[j] == nil && r.shareable(i, j) {
			all = append(all, r.resources[j])
		}
	}
	if len(all) < 2 {
		return nil
	}
	r.outside(i, func() {
		var err error
		if answer, err = r.resources[i].(modules.Preloader).Preload(ctx, r.present(modules.Discard{}), all); err != nil {
			answer = nil
		}
	})
	return answer
}
