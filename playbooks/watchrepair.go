package playbooks

import (
	"cmp"
	"context"
	"slices"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/watch"
	"github.com/ccm-push/ccm-push/playbooks/watch/watching"
)

// A repair is the mode of a play that the host applies again, because some of its resources have drifted.
type repair struct {
	wholePlay
	number int      // part, from repairPart on
	held   []string // resources that are not changed, as [watching.Entry] has them
}

func (r repair) part() int   { return r.number }
func (repair) watched() bool { return true }

// repairPart is the first of the parts of plays, in the sense of [selection], that are repairs: a rollout
// has fewer.
const repairPart = 1 << 10

// narrow removes from a catalog the resources that must not change, and the resources that are not watched. Resources
// that are only reported are only checked, since they may have drifted since the last check. They are applied only if
// they subscribe to other resources.
func (r repair) narrow(c *catalog.Compiled) {
	leaveOutOthers(c)
	for i, ref := range watching.Refs(&c.Catalog) {
		off := c.WatchRules(i).Mode == watch.Off && c.Catalog.Entries[i].Scope == nil // its entries may have other rules
		if off || slices.Contains(r.held, ref) {
			leaveOut(&c.Catalog.Entries[i])
		}
		if e := &c.Catalog.Entries[i]; c.WatchRules(i).Mode == watch.Report && e.Scope == nil && len(e.Subscribe) == 0 {
			e.Check = true
		}
	}
	c.Catalog.Quiet = c.WatchRules(len(c.Catalog.Entries)).Files // quiet files of the play
	if c.Catalog.Remember != nil {                               // only a run handles resources that have left the manifest
		c.Catalog.Remember.Whole = false
	}
}

// obey repairs plays, and watches them again, which reports the outcome. The error is the loss of the host. The end of
// until does not end a repair that has begun: as in any run, the running resource ends.
func (h *watcher) obey(ctx, until context.Context, o *WatchOrder) error {
	if err := h.beside(until, nil, func() error { return h.enter(until) }); err != nil {
		return err
	}
	defer h.leave()
	again := map[string]bool{} // users whose plays are not watched any more
	mended := watching.Mended{Order: o.Number}
	err := h.repairAll(ctx, o, &mended, again)
	h.tell(ctx, WatchNews{Mended: &mended})
	for _, p := range h.plays {
		if err == nil && again[h.user(p)] {
			err = h.beside(until, p, func() error { return h.stand(until, p) })
		}
	}
	return err
}

// repairAll repairs plays, and notes why resources are not repaired, and which others are.
func (h *watcher) repairAll(ctx context.Context, o *WatchOrder, mended *watching.Mended, again map[string]bool) (lost error) {
	for _, p := range h.plays {
		one := o.For(p.number + 1)
		if one == nil {
			continue
		}
		again[h.user(p)] = true
		results := map[string]watching.Unmended{}
		var err error
		found := func(ref string, v watch.Verdict) {
			if !slices.Contains(one.Refs, ref) {
				mended.Found = append(mended.Found, watching.Found{Play: one.Play, Ref: ref, Verdict: v})
			}
		}
		lost := h.beside(ctx, p, func() error {
			if err = h.repair(ctx, p, repairPart+o.Number, one.Held, results, found); err != nil {
				return h.end(ctx, p)
			}
			return nil
		})
		for _, ref := range one.Refs {
			ended, told := results[ref]
			switch {
			case told:
			case err != nil:
				ended.Error = events.FailureText(failure(p.play.Name, h.state.host.Name, err))
			default:
				ended.Error = "the repair reported no result"
			}
			if ended.Error != "" {
				ended.Play, ended.Ref = one.Play, ref
				mended.Failed = append(mended.Failed, ended)
			}
		}
		if lost != nil {
			return lost
		}
	}
	return nil
}

// repair applies a play again with a new host program, which gathers the facts again. It adds the outcome
// of each resource to results, without an error for a success, and calls found for each resource that had drifted.
// part is the same for no other repair of the run, also at another worker: a host repeats the results of a part that it has done.
func (h *watcher) repair(ctx context.Context, p *selection, part int, held []string, results map[string]watching.Unmended, found func(ref string, v watch.Verdict)) error {
	if err := h.end(ctx, p); err != nil {
		return err
	}
	s := p.whole()
	s.mode = repair{number: part, held: held}
	var refs []string
	s.heard = func(_ string, c *wire.Catalog, r *wire.Result) {
		if len(refs) != len(c.Entries) { // of the last stage
			refs = watching.Refs(c)
		}
		ref, e := refs[r.Index], &c.Entries[r.Index]
		results[ref] = watching.Unmended{Error: unmended(r), Unknown: r.Unknown}
		if r.Status == wire.Changed && r.Cause == wire.Drift && !e.Check && e.Scope == nil {
			one := watching.Entry{Type: e.Type, Name: e.Name, Alias: e.Alias, Sensitive: e.Sensitive}
			found(ref, one.VerdictOf(r, nil).Verdict)
		}
	}
	h.state.plays = []*selection{p} // resources that the other plays manage are not undone
	for _, other := range h.plays {
		if other != p {
			h.state.plays = append(h.state.plays, other)
		}
	}
	return h.playOn(s, h.state).run(ctx)
}

// unmended returns why a resource is not in its desired state after its turn; "" if it is.
func unmended(r *wire.Result) string {
	switch {
	case r.Status.HasFailed():
		return cmp.Or(r.Error, "it has failed")
	case r.Status == wire.Skipped && r.Because != "":
		return r.Message + ": " + r.Because
	case r.Status == wire.Skipped:
		return cmp.Or(r.Message, "it was skipped")
	}
	return ""
}
