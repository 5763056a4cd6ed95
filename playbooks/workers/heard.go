package workers

import (
	"context"
	"fmt"
	"time"

	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

type toldOf struct {
	host string
	play int
	kind playbooks.TurnKind
}

// hear takes what workers say until the run is closed.
func (c *Coordinator) hear(ctx context.Context) {
	defer close(c.gone)
	for {
		frame, number, err := c.run.Said(ctx)
		if err != nil {
			c.mu.Lock()
			c.err = err
			c.mu.Unlock()
			return
		}
		c.warnOf(c.heard(ctx, frame))
		c.mu.Lock()
		c.heardTo = number
		close(c.hearsMore)
		c.hearsMore = make(chan struct{})
		c.mu.Unlock()
	}
}

// catchUp waits until all is heard that workers have said by now: questions come by another way, and overtake it.
func (c *Coordinator) catchUp(ctx context.Context) error {
	last, err := c.run.LastSaid(ctx)
	if err != nil {
		return err
	}
	for {
		c.mu.Lock()
		heard, more := c.heardTo, c.hearsMore
		c.mu.Unlock()
		if heard >= last {
			return nil
		}
		select {
		case <-more:
		case <-c.gone:
			return queue.ErrGone
		}
	}
}

// heard takes a frame. Those of nobody who was handed anything are left out.
func (c *Coordinator) heard(ctx context.Context, frame []byte) error {
	if c.lost != nil && closed(c.lost) { // others tell
		return nil
	}
	of, ok := handoutOf(frame)
	c.mu.Lock()
	h := c.handed[of]
	c.mu.Unlock()
	if !ok || h == nil || c.isExcluded(h.key) != nil {
		return nil
	}
	text, err := h.reader.read(frame)
	if err != nil || text == nil {
		return err
	}
	var s said
	err = receive(text, &s)
	if err == nil {
		err = c.checkSaid(h, &s)
	}
	if err != nil {
		c.exclude(ctx, h, err)
		return nil
	}
	for _, w := range s.Warnings {
		c.Warn(printable.Block(w))
	}
	if all := c.untold(c.news(h, s.Events)); len(all) > 0 {
		c.register(ctx, h, all)
		c.Runner.Events.Report(all...)
	}
	if s.Failed != "" && c.has(h) {
		c.fail(h.shard, fmt.Sprintf("the worker %s: %s", h.worker, s.Failed))
	}
	c.ends(h, s)
	if s.Over {
		c.mu.Lock()
		h.left = time.Now()
		c.mu.Unlock()
		c.left(h)
	}
	return nil
}

// untold leaves out what hosts tell of earlier runs and is known here to have been told: workers do not know that.
func (c *Coordinator) untold(list []events.Event) (all []events.Event) {
	for _, e := range list {
		left := true
		if u, is := e.(events.Untold); is {
			e, left = c.Runner.Untold(u)
		}
		if left {
			all = append(all, e)
		}
	}
	return all
}

// has reports whether a worker has its hosts still: no other one has been given them.
func (c *Coordinator) has(h *handed) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return h.shard.current == h
}

// news are those of events that have not been told.
func (c *Coordinator) news(h *handed, list []events.Carried) (all []events.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range list {
		host := events.HostOf(one.Event)
		t := h.shard.turns[host]
		if t == nil { // it has ended, and told all
			continue
		}
		switch e := one.Event.(type) {
		case events.Untold:
			if e.Earlier == c.Runner.Options.Run {
				continue
			}
		case events.Result, events.Message:
			// A worker that was taken for lost comes late with them: the next one tells them, since the host has kept them.
			if h.shard.current != h {
				continue
			}
		}
		if watches(t.Turn) { // what is mended again is told again
			all = append(all, one.Event)
			continue
		}
		if !c.toldOf(t.Turn).isNew(one.Event) {
			continue
		}
		if r, ok := one.Event.(events.Result); ok && c.Runner.Options.Progress.Retold(t.Play, r) { // since the run that this one goes on with
			continue
		}
		all = append(all, one.Event)
	}
	return all
}

// register registers what resources ask for, and says where files are: workers reach neither.
func (c *Coordinator) register(ctx context.Context, h *handed, list []events.Event) {
	for i, e := range list {
		r, ok := e.(events.Result)
		if !ok {
			continue
		}
		r = c.Runner.Kept(r)
		list[i] = r
		if len(r.Registers) == 0 {
			continue
		}
		failed := c.Runner.Register(ctx, &r)
		list[i] = r
		c.mu.Lock()
		if t := h.shard.turns[r.Host]; t != nil && failed {
			c.toldOf(t.Turn).failed = true
		}
		c.mu.Unlock()
	}
}

// toldOf is what has been told of a host in a play, with the lock held.
func (c *Coordinator) toldOf(t playbooks.Turn) *told {
	of := toldOf{t.Host, t.Play, t.Kind}
	if c.told[of] == nil {
		c.told[of] = &told{}
	}
	return c.told[of]
}

// ends gives those hosts their ends that have ended. A worker that another one has been given the
// hosts after does not know how they end.
func (c *Coordinator) ends(h *handed, s said) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.shard.current != h {
		return
	}
	for host, end := range s.Ends {
		if t := h.shard.turns[host]; t != nil {
			if c.toldOf(t.Turn).failed {
				end.Failed = true
				if o := end.Found.Outcome; o != nil {
					o.Failed = true
				}
			}
			if end.Refused && end.Failure != nil {
				end.Failure = refused(end.Failure, c.authority)
			}
			c.end(h.shard, t, end)
		}
	}
	if s.Over && c.stopped { // the others were not begun
		c.endAll(h.shard, stopped)
	}
}
