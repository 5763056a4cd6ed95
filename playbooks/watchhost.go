package playbooks

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// A watchedHost is a host under watch. Its sessions are those of its goroutine, [watchedHost.run].
type watchedHost struct {
	of    *watching
	state *hostState
	plays []*watchedPlay

	// Of the one that decides:
	announced bool      // it is told to be watched
	lost      time.Time // since when it is told not to be; zero if it is not told
	phase     string    // why, in a word
	since     time.Time // it is not watched, if it is not announced
}

// A watchedPlay is a play on a host under watch. All but the selection is of the one that decides.
type watchedPlay struct {
	*selection
	entries   []watchedEntry
	unsettled []string // what never is as it shall be
	polled    int      // so many entries are only checked every now and then
	heard     bool     // that is known
}

// Times between the attempts to watch a host again: any time up to firstWatch, then up to twice that, and
// so on, so that the hosts of a rack do not all come at once.
const (
	firstWatch   = time.Second
	longestWatch = time.Minute
)

// run watches the host until ctx ends, again and again.
func (h *watchedHost) run(ctx context.Context) {
	defer h.state.close()
	for longest := firstWatch; ctx.Err() == nil; longest = min(2*longest, longestWatch) {
		stood, err := h.watch(ctx)
		h.state.close()
		if ctx.Err() != nil {
			return
		}
		if stood {
			longest = firstWatch
		}
		wait := rand.N(longest)
		h.of.say(ctx, func() { h.of.lose(h, err, wait) })
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// watch has the host watched until that ends. stood says that it was.
func (h *watchedHost) watch(ctx context.Context) (stood bool, err error) {
	if err := h.standAll(ctx); err != nil {
		return false, err
	}
	return true, h.hear(ctx)
}

// standAll sends all plays to be watched, when there is a place for that.
func (h *watchedHost) standAll(ctx context.Context) error {
	select {
	case h.of.places <- struct{}{}:
		defer func() { <-h.of.places }()
	case <-ctx.Done():
		return ctx.Err()
	}
	h.state.activity.Work()
	defer h.state.activity.Rest()
	for _, p := range h.plays {
		if err := h.stand(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// stand sends a play to be watched, in the place of what was sent of it before.
func (h *watchedHost) stand(ctx context.Context, p *watchedPlay) error {
	var entries []watchedEntry
	results := map[int]*wire.Result{}
	s := p.looking(false, func(_ string, c *wire.Catalog, r *wire.Result) {
		if len(entries) != len(c.Entries) { // of the last stage
			entries = h.of.entriesOf(c)
		}
		if r.Status != wire.Stable && r.Status != wire.Skipped {
			results[r.Index] = r
		}
	})
	rules := &h.of.rules
	s.look.watch = &wire.Watch{Play: p.number + 1, Settle: rules.Settle, Longest: rules.Longest, Poll: rules.Poll, Quiet: rules.Files}
	s.look.told = func(m *wire.Watched) { h.of.say(ctx, func() { h.of.told(h, p, m) }) }
	if err := h.of.fleet.playOn(ctx, s, h.state); err != nil {
		return err
	}
	h.state.steps = nil // they are of no run
	h.of.say(ctx, func() { h.of.stood(h, p, entries, results) })
	return nil
}

// hear listens to all host programs until ctx ends, or one of them does: its error.
func (h *watchedHost) hear(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	var hearing sync.WaitGroup
	errs := make(chan error, len(h.state.programs))
	for _, one := range h.state.programs {
		hearing.Go(func() {
			errs <- one.session.Hear(ctx)
			end()
		})
	}
	hearing.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return &phaseError{phase: phaseOf(err), err: err}
		}
	}
	return nil
}

// leaveOutOthers leaves out of a catalog what needs other hosts, since nobody brings them together while
// they are watched.
func leaveOutOthers(c *catalog.Compiled) {
	for i := range c.Catalog.Entries {
		e := &c.Catalog.Entries[i]
		if e.On == "" && !e.Once && len(c.Imports[i]) == 0 {
			continue
		}
		*e = wire.Entry{Type: e.Type, Name: e.Name, Alias: e.Alias, Require: e.Require, Subscribe: e.Subscribe, After: e.After, Sensitive: e.Sensitive, Excluded: true}
	}
}

// lose tells that a host is not watched for now, and why. It is told once, and again when there is
// another reason.
func (w *watching) lose(h *watchedHost, err error, wait time.Duration) {
	r := w.fleet.runner
	now := r.Now()
	if h.announced {
		h.announced, h.since = false, now
	}
	for _, p := range h.plays {
		p.heard = false
	}
	play := h.plays[0].play.Name
	failed := failure(play, h.state.host.Name, err)
	if !h.state.done { // the run has not got to it, and does not
		r.Events.Report(failed)
		w.done(h)
	}
	phase, text, hint := "unreachable", reason(failed), ""
	switch e := failed.(type) {
	case events.Unreachable:
		hint = e.Hint
	case events.HostFailed:
		phase, hint = e.Phase, e.Hint
	}
	if !h.lost.IsZero() && h.phase == phase {
		return
	}
	h.lost, h.phase = h.since, phase
	r.Events.Report(events.Unwatched{Host: h.state.host.Name, Since: h.since, Error: text, Hint: hint, Next: now.Add(wait)})
}
