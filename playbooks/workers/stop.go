package workers

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/ccm-push/ccm-push/playbooks"
)

// stop takes back what no worker has, and tells workers to stop after what is running.
func (c *Coordinator) stop(ctx context.Context) {
	c.mu.Lock()
	c.stopped = true
	for _, s := range c.shards {
		switch h := s.current; {
		case s.taken == 0 || s.lost:
			c.endAll(s, stopped)
		case !h.left.IsZero(): // it has reported all that it did
			c.endAll(s, func(t playbooks.Turn) playbooks.TurnEnd {
				return playbooks.TurnEnd{Begun: len(c.toldOf(t).now.results) > 0, Stopped: true}
			})
		}
	}
	c.mu.Unlock()
	timed, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	c.warnOf(c.run.Withdraw(timed))
	c.warnOf(c.order(ctx, order{Stop: true}))
	c.answering.Go(func() { c.awaitStopped(context.WithoutCancel(ctx)) })
}

// awaitStopped waits until all hosts have ended behind a stop. A worker that has heard of it says all the time that it is there; hosts
// of one of which nothing is heard fail as lost. Hosts that are watched are not waited for.
func (c *Coordinator) awaitStopped(ctx context.Context) {
	ticks := time.NewTicker(laterTime)
	defer ticks.Stop()
	for {
		working := c.working()
		if len(working) == 0 {
			return
		}
		for _, h := range working {
			if c.silent(h) < cmp.Or(c.unheard, unheardTime) {
				continue
			}
			c.mu.Lock()
			left := len(h.shard.turns)
			c.endAll(h.shard, func(t playbooks.Turn) playbooks.TurnEnd { return c.lostEnd(h, t) })
			c.mu.Unlock()
			c.Warn(fmt.Sprintf("worker %s was lost, last heard at %s: not waiting for %s", h.worker, h.errands.heard().Local().Format(time.TimeOnly), counted(left)))
		}
		select {
		case <-ticks.C:
		case <-c.gone:
			return
		}
		_ = c.order(ctx, order{Stop: true}) // a worker that was out of reach has not got it
	}
}

// working are the workers that have hosts, but for those that only watch them.
func (c *Coordinator) working() (all []*handed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.shards {
		if s.current != nil && len(s.watched()) == 0 {
			all = append(all, s.current)
		}
	}
	return all
}

// order tells all workers of the run something.
func (c *Coordinator) order(ctx context.Context, o order) error {
	o.Run = c.name
	timed, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	text, err := sign(c.Key, orderKind, o)
	if err != nil {
		return err
	}
	return c.run.Order(timed, text)
}
