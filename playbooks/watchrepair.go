package playbooks

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
	"github.com/ccm-push/ccm-push/playbooks/watch"
)

// A repair is the mode of a play that the host applies again, because some of its resources have drifted.
type repair struct {
	wholePlay
	number int      // part, from repairPart on
	held   []string // resources that are left as they are, as [watchedEntry] has them
}

func (r repair) part() int   { return r.number }
func (repair) watched() bool { return true }

// repairPart is the first of the parts of plays, in the sense of [selection], that are repairs: a rollout
// has fewer.
const repairPart = 1 << 10

// narrow leaves out of a catalog what is to be left as it is, and what is not watched. What is only reported may have drifted since the
// host was asked, and is not mended either: but for what has to follow those that it subscribes to, it is only looked at.
func (r repair) narrow(c *catalog.Compiled) {
	leaveOutOthers(c)
	for i, ref := range refsOf(&c.Catalog) {
		off := c.WatchRules(i).Mode == watch.Off && c.Catalog.Entries[i].Scope == nil // what stands in it may say otherwise
		if off || slices.Contains(r.held, ref) {
			leaveOut(&c.Catalog.Entries[i])
		}
		if e := &c.Catalog.Entries[i]; c.WatchRules(i).Mode == watch.Report && e.Scope == nil && len(e.Subscribe) == 0 {
			e.Check = true
		}
	}
	c.Catalog.Quiet = c.WatchRules(len(c.Catalog.Entries)).Files // those of the play
	if c.Catalog.Remember != nil {                               // what has left the manifest is left to a run
		c.Catalog.Remember.Whole = false
	}
}

// order has hosts mended as the judge allows, and says when to ask again at the latest; zero is when
// something has been said.
func (w *watching) order() (next time.Time) {
	now := w.fleet.runner.Now()
	due, next, told := w.judge.Due(now)
	for _, o := range told {
		p := w.byName[o.Key.Host].play(o.Key.Play)
		w.tell(p, p.entry(o.Key.Ref), o)
	}
	orders := map[*watchedHost]*WatchOrder{}
	for _, k := range due {
		h := w.byName[k.Host]
		if h.mending != nil {
			continue // it is asked for again when that has ended
		}
		if orders[h] == nil {
			orders[h] = &WatchOrder{}
		}
		one := orders[h].play(k.Play)
		one.Refs = append(one.Refs, k.Ref)
	}
	for h, o := range orders {
		w.judge.Begun(now, o.keys(h.state.host.Name))
		for i := range o.Plays {
			o.Plays[i].Held = w.judge.Held(now, h.state.host.Name, o.Plays[i].Play)
		}
		w.orders++
		o.Number = w.orders
		h.mending = o
		h.orders <- *o
	}
	return next
}

// mended takes in how the repair of a host has ended.
func (w *watching) mended(h *watchedHost, m *WatchMended) {
	if h.mending == nil || h.mending.Number != m.Order { // its host was lost meanwhile
		return
	}
	failed := map[watch.Key]string{}
	for _, f := range m.Failed {
		k := watch.Key{Host: h.state.host.Name, Play: f.Play, Ref: f.Ref}
		if failed[k] = f.Error; f.Unknown {
			w.judge.Unknown(k)
			failed[k] += "; its outcome is unknown, so it is not repaired until you run ccm-push watch release"
		}
	}
	for _, k := range h.mending.keys(h.state.host.Name) {
		w.repaired(h, k, failed[k])
	}
	h.mending = nil
	for i := range m.Found {
		w.found(h, &m.Found[i])
	}
}

// found takes in that a repair has mended what was not known to have drifted.
func (w *watching) found(h *watchedHost, f *WatchFound) {
	p := h.play(f.Play)
	if p == nil || p.entry(f.Ref) == nil {
		return
	}
	w.judged(h, p, p.entry(f.Ref), f.Verdict, false)
	key := watch.Key{Host: h.state.host.Name, Play: f.Play, Ref: f.Ref}
	w.judge.Begun(w.fleet.runner.Now(), []watch.Key{key})
	w.repaired(h, key, "")
}

// repaired takes in how the repair of a resource has ended. What came of it is told when its host has been checked, if that is still to be.
func (w *watching) repaired(h *watchedHost, k watch.Key, failed string) {
	if !w.over {
		w.judge.Ended(k, failed)
		return
	}
	for _, o := range w.judge.Over(w.fleet.runner.Now(), k, failed) {
		p := h.play(k.Play)
		w.tell(p, p.entry(k.Ref), o)
	}
}

// answer does what a person says from elsewhere: that resources are to be mended again.
func (w *watching) answer(request rollout.Request) {
	reply := rollout.Reply{}
	if err := w.release(request.Command); err != nil {
		reply.Error = err.Error()
	}
	request.Answer(reply)
}

// release has the judge let resources of a host be mended again that it leaves alone.
func (w *watching) release(c rollout.Command) error {
	h := w.byName[c.Host]
	switch {
	case c.Verb != rollout.ReleaseHost:
		return fmt.Errorf("hosts are watched: %q is for rollouts", c.Verb)
	case h == nil:
		return fmt.Errorf("no host %q is watched", c.Host)
	}
	released := false
	astray, _ := w.judge.Astray()
	for _, k := range astray {
		if k.Host != c.Host {
			continue
		}
		if e := h.play(k.Play).entry(k.Ref); c.Resource == "" || c.Resource == k.Ref || c.Resource == e.shown() {
			w.judge.Release(k)
			released = true
		}
	}
	switch {
	case released:
		return nil
	case c.Resource != "":
		return fmt.Errorf("%s of %s has its desired state, or is not watched", c.Resource, c.Host)
	}
	return fmt.Errorf("all resources of %s have their desired state", c.Host)
}

// obey repairs plays, and has them watched again, which tells what has come of it. The error is that of a
// host which is lost. A repair that has begun is not ended by the end of until: as in any run, the resource ends that is running.
func (h *watcher) obey(ctx, until context.Context, o *WatchOrder) error {
	if err := h.beside(until, nil, func() error { return h.enter(until) }); err != nil {
		return err
	}
	defer h.leave()
	again := map[string]bool{} // users whose plays are not watched any more
	mended := WatchMended{Order: o.Number}
	err := h.repairAll(ctx, o, &mended, again)
	h.tell(ctx, WatchNews{Mended: &mended})
	for _, p := range h.plays {
		if err == nil && again[h.user(p)] {
			err = h.beside(until, p, func() error { return h.stand(until, p) })
		}
	}
	return err
}

// repairAll repairs plays, and notes why resources are not mended, and which others are.
func (h *watcher) repairAll(ctx context.Context, o *WatchOrder, mended *WatchMended, again map[string]bool) (lost error) {
	for _, p := range h.plays {
		one := o.of(p.number + 1)
		if one == nil {
			continue
		}
		again[h.user(p)] = true
		results := map[string]Unmended{}
		var err error
		found := func(ref string, v watch.Verdict) {
			if !slices.Contains(one.Refs, ref) {
				mended.Found = append(mended.Found, WatchFound{one.Play, ref, v})
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
				ended.Error = reason(failure(p.play.Name, h.state.host.Name, err))
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
func (h *watcher) repair(ctx context.Context, p *selection, part int, held []string, results map[string]Unmended, found func(ref string, v watch.Verdict)) error {
	if err := h.end(ctx, p); err != nil {
		return err
	}
	s := p.whole()
	s.mode = repair{number: part, held: held}
	var refs []string
	s.heard = func(_ string, c *wire.Catalog, r *wire.Result) {
		if len(refs) != len(c.Entries) { // of the last stage
			refs = refsOf(c)
		}
		ref, e := refs[r.Index], &c.Entries[r.Index]
		results[ref] = Unmended{Error: unmended(r), Unknown: r.Unknown}
		if r.Status == wire.Changed && r.Cause == wire.Drift && !e.Check && e.Scope == nil {
			one := watchedEntry{Type: e.Type, Name: e.Name, Alias: e.Alias, Sensitive: e.Sensitive}
			found(ref, one.verdictOf(r, nil).Verdict)
		}
	}
	h.state.plays = []*selection{p} // what the others look after is not undone
	for _, other := range h.plays {
		if other != p {
			h.state.plays = append(h.state.plays, other)
		}
	}
	return h.playOn(s, h.state).run(ctx)
}

// unmended is why a resource is not as it shall be after its turn; "" if it is.
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
