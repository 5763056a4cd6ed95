package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
)

// looked is what a first look at the host, before the first entry, has found as it
// shall be. As long as nothing has been run since, a second look would find the
// same.
type looked struct {
	mu     sync.Mutex // a command that a Check starts forgets, whoever is at work
	stable map[int]bool
}

// still reports whether the entry i needs no second look.
func (l *looked) still(i int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stable[i]
}

// forget is for whatever may change the host.
func (l *looked) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.stable)
}

// aboutToChange forgets what has been found out about the host beforehand.
func (r *run) aboutToChange() {
	r.preloads.drop()
	r.looked.forget()
}

// changing has f change the host. While it does, nothing that is found
// out holds for others: it may be half done.
func (r *run) changing(f func()) {
	r.aboutToChange()
	if r.scheduler == nil {
		f()
		return
	}
	r.scheduler.Change(f)
	r.aboutToChange()
}

// probing are commands of a Check. They should only look, but nobody knows.
type probing struct {
	modules.Commands
	looked *looked
}

// Probe implements [modules.Commands].
func (p probing) Probe(ctx context.Context, c modules.Command) (modules.Exit, error) {
	p.looked.forget()
	return p.Commands.Probe(ctx, c)
}

// prefetch asks for the contents that Apply will open, as far as they can be
// foreseen by looking at the host as it is.
func (r *run) prefetch(ctx context.Context) error {
	var wanted []modules.Content
	for i, res := range r.resources {
		if res == nil || r.errs[i] != nil || r.monitors(i) || r.checked(i) && !r.diff(i) {
			continue
		}
		lacking := modules.Lacking(res)
		if len(lacking) == 0 {
			continue
		}
		said := &said{}
		plan, err := res.Check(ctx, r.present(said))
		switch {
		case err != nil && !r.checked(i):
			// Most likely what it needs is not there yet, such as its directory. To ask
			// later would cost a round trip for each.
			wanted = append(wanted, slices.DeleteFunc(lacking, modules.Content.Promised)...)
		case err != nil:
		case plan.Pending():
			wanted = append(wanted, r.opens(i, plan)...)
		case len(said.list()) == 0 && said.exit == nil:
			r.looked.stable[i] = true
		}
	}
	if len(wanted) == 0 || r.Engine.Prefetch == nil {
		return nil
	}
	return r.Engine.Prefetch(ctx, wanted)
}

// opens lists what the engine will open for a plan that is not here yet.
func (r *run) opens(i int, plan modules.Plan) []modules.Content {
	var list []modules.Content
	if !r.checked(i) {
		list = plan.Needs
	}
	if r.diff(i) {
		list = slices.Clip(list)
		for _, t := range plan.Texts {
			list = append(list, t.Want)
		}
	}
	var remote []modules.Content
	for _, c := range list {
		if _, here := c.Bytes(); !here && !c.IsZero() {
			remote = append(remote, c)
		}
	}
	return remote
}
