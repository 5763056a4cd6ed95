package workers

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// transfers takes hosts from workers and submits them again for other workers.
type transfers struct {
	runner *playbooks.Runner
	ledger *ledger
	intake *intake
	warn   func(string)

	mu     sync.Mutex       // a leaf: no other lock is taken while it is held
	banned map[string]error // workers that broke the protocol, by key
}

// othersContinue is the hint for hosts that a worker has left.
const othersContinue = "the next free worker of its site continues"

// violation returns why a worker gets no more hosts in this run; nil if it may get some.
func (x *transfers) violation(key string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.banned[key]
}

// exclude takes all hosts from a worker that broke the protocol, for the rest of the run. Other workers get the hosts. Hosts on which a
// command may have run, and that keep no notes, fail.
func (x *transfers) exclude(ctx context.Context, h *assignment, what error) {
	x.mu.Lock()
	if x.banned[h.key] != nil {
		x.mu.Unlock()
		return
	}
	if x.banned == nil {
		x.banned = map[string]error{}
	}
	x.banned[h.key] = what
	x.mu.Unlock()
	x.warn(fmt.Sprintf("the worker %s broke the protocol of this run, so it gets no more hosts: %s\n"+
		"  hint: stop this worker and inspect its machine; until its certificate expires, the worker can log in to its hosts", h.worker, printable.Line(what.Error())))
	x.move(ctx, h, func(one *assignment) bool { return one.key == h.key }, "its worker broke the protocol")
}

// move takes shards from the worker of h, and submits them again for other workers. Hosts on which a command may have run, and that keep
// no notes, fail.
func (x *transfers) move(ctx context.Context, h *assignment, which func(*assignment) bool, why string) {
	shards, watched := x.ledger.takeFrom(which)
	x.reportUnwatched(watched, why, othersContinue, h.errands.lastRequest())
	for _, s := range shards {
		x.ledger.mu.Lock()
		stopped, turns := x.ledger.stopped, s.plain()
		x.ledger.mu.Unlock()
		if stopped || x.mayHaveRun(turns) {
			x.ledger.abandon(s)
			continue
		}
		if err := x.intake.submit(context.WithoutCancel(ctx), s); err != nil {
			x.ledger.fail(s, err.Error())
		}
	}
}

// mayHaveRun reports whether hosts keep no notes about the work of a lost worker, so that no other worker can continue it.
func (x *transfers) mayHaveRun(turns []playbooks.Turn) bool {
	r := x.runner
	return r.Options.NoLock && !r.Options.Check && slices.ContainsFunc(turns, func(t playbooks.Turn) bool {
		return t.OfAPlay() && slices.ContainsFunc(r.Plays[t.Play].Resources, func(one *manifest.Resource) bool { return one.Query == "" })
	})
}

// workerEnded releases the watched hosts of a worker that ended first: other workers get them.
func (x *transfers) workerEnded(h *assignment) {
	x.reportUnwatched(x.ledger.release(h), "its worker has ended", othersContinue, time.Now())
}

// reportUnwatched reports hosts that no worker watches any more. since is when the worker last sent a request.
func (x *transfers) reportUnwatched(turns []*turn, why, hint string, since time.Time) {
	for _, t := range turns {
		failure := x.ledger.failure(t.Turn, "lost", why, hint)
		_, err := t.handler.Answer(playbooks.Watched{WatchNews: playbooks.WatchNews{Lost: &playbooks.WatchLost{Failure: *failure.Failure, Since: since}}})
		warnOf(x.warn, err)
	}
}
