package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
	"github.com/ccm-push/ccm-push/playbooks/workers/sealing"
)

// A Lease reserves a run for this coordinator. It is extended until it is given back.
type Lease struct {
	handover *Handover
	lost     *loss
	done     chan struct{} // closed when it is not extended any more
	ending   sync.Once
	keeping  sync.WaitGroup

	mu    sync.Mutex // one claim at a time
	said  lease
	claim *queue.Claim
	taken bool
}

// A loss reports that another machine has a lease, or one of several.
type loss struct {
	once   sync.Once
	closed chan struct{}
}

func newLoss() *loss { return &loss{closed: make(chan struct{})} }

// claim makes a claim, and extends it. lost reports its loss.
func (h *Handover) claim(ctx context.Context, said lease, after *queue.Claim, lost *loss) (*Lease, error) {
	data, err := h.seal(said)
	if err != nil {
		return nil, err
	}
	claim, err := h.Records.Claim(ctx, said.Run, data, after)
	if err != nil {
		return nil, err
	}
	l := &Lease{handover: h, lost: lost, done: make(chan struct{}), said: said, claim: claim}
	l.keeping.Go(func() { l.keep(context.WithoutCancel(ctx)) })
	return l, nil
}

// keep extends the lease.
func (l *Lease) keep(ctx context.Context) {
	ticks := time.NewTicker(l.handover.lasts() / 4)
	defer ticks.Stop()
	for {
		select {
		case <-l.done:
			return
		case <-ticks.C:
			if !l.Held(ctx) {
				return
			}
		}
	}
}

// Held extends the lease, and reports whether it is still ours. While NATS is out of reach, no other machine can take
// it.
func (l *Lease) Held(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, l.handover.lasts()/4)
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.say(ctx) // it is tried again soon
	return !l.taken
}

// say renews the claim, with the lock held.
func (l *Lease) say(ctx context.Context) error {
	if l.taken {
		return queue.ErrTaken
	}
	data, err := l.handover.seal(l.said)
	if err != nil {
		return err
	}
	claim, err := l.handover.Records.Claim(ctx, l.said.Run, data, l.claim)
	switch {
	case errors.Is(err, queue.ErrTaken):
		holder, err := l.holder(ctx)
		if err != nil || holder == l.said.Holder { // an answer was lost, or the request will be repeated
			return err
		}
		l.taken = true
		if holder == "" {
			l.handover.Warn(fmt.Sprintf("run %s ends on this machine, because NATS has lost the data of the run\n  hint: the stream may have been deleted; to continue the run: ccm-push resume %s", l.said.Run, l.said.Run))
		} else {
			l.handover.Warn(fmt.Sprintf("%s has taken over run %s, so the run ends on this machine\n  hint: to follow the run: ccm-push attach %s", holder, l.said.Run, l.said.Run))
		}
		l.lost.once.Do(func() { close(l.lost.closed) })
	case err == nil:
		l.claim = claim
	}
	return err
}

// holder returns the holder of the last claim, or "". It continues a claim of ours.
func (l *Lease) holder(ctx context.Context) (string, error) {
	all, err := l.handover.All(ctx)
	if err != nil {
		return "", err
	}
	for _, s := range all {
		if s.Run != l.said.Run {
			continue
		}
		if s.Holder == l.said.Holder && s.Since.Equal(l.said.Since) && s.Over == l.said.Over {
			l.claim = &s.claim
			return s.Holder, nil
		}
		if s.Holder == l.said.Holder {
			return "another process of " + s.Holder, nil
		}
		return s.Holder, nil
	}
	return "", nil
}

// end has the lease not be extended any more.
func (l *Lease) end() {
	l.ending.Do(func() { close(l.done) })
	l.keeping.Wait()
}

// GiveBack lets any machine continue the run at once.
func (l *Lease) GiveBack(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	l.end()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.taken {
		return nil
	}
	l.said.Over = true
	return l.say(ctx)
}

// A Copy copies the record of a run of ours to where others can read it, with its lease. It implements
// [record.Copy].
type Copy struct {
	handover *Handover
	own      *Lease
	resumes  *Lease // lease of the run that this one resumes, or nil
	writer   *sealing.FrameWriter
	more     chan struct{} // has one if there is something to send
	done     chan struct{} // closed when nothing more comes
	giveUp   func()        // stops sending; the remaining data stay here
	working  sync.WaitGroup

	mu      sync.Mutex
	pending [][]byte
	end     *record.End
}

// Begin implements [record.Copy].
func (c *Copy) Begin(h record.Header) { c.addJSON(copiedHeader, h) }

// Lines implements [record.Copy].
func (c *Copy) Lines(text []byte) { c.add(copiedLines, text) }

// End implements [record.Copy].
func (c *Copy) End(e record.End) {
	c.mu.Lock()
	c.end = &e
	c.mu.Unlock()
	c.addJSON(copiedEnd, e)
}

func (c *Copy) addJSON(kind byte, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		c.handover.Warn(fmt.Sprintf("the copy of the record is not whole: %v", err))
		return
	}
	c.add(kind, text)
}

func (c *Copy) add(kind byte, text []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = append(c.pending, append([]byte{kind}, text...))
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// send sends what there is to send, until nothing more comes. While NATS is out of reach it waits.
func (c *Copy) send(ctx context.Context) {
	for over := false; !over; {
		select {
		case <-c.more:
		case <-c.done:
			over = true
		}
		c.mu.Lock()
		texts := c.pending
		c.pending = nil
		c.mu.Unlock()
		for _, text := range texts {
			for _, frame := range c.writer.Frames(text) {
				if !c.append(ctx, frame) {
					return
				}
			}
		}
	}
}

// append adds a frame, and reports whether others can be added.
func (c *Copy) append(ctx context.Context, frame []byte) bool {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		once, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := c.handover.Records.Append(once, c.own.said.Run, frame)
		cancel()
		switch {
		case err == nil:
			return true
		case errors.Is(err, queue.ErrTaken), errors.Is(err, queue.ErrGone):
			if c.own.Held(ctx) {
				c.handover.Warn(fmt.Sprintf("the record of the run is no longer copied to NATS, so no other machine can continue the run: %v", err))
			}
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-c.own.lost.closed:
			return false
		case <-time.After(wait):
		}
	}
}

// Lost returns a channel that is closed when another machine continues this run, or the run that it resumes.
func (c *Copy) Lost() <-chan struct{} { return c.own.lost.closed }

// lingers is the time that readers have for the end of a run that has ended well.
const lingers = 10 * time.Second

// Close ends the lease. The data of a run that has ended well are deleted, once its followers have read the end; any
// machine can continue another run.
func (c *Copy) Close(ctx context.Context) error {
	close(c.done)
	late := time.AfterFunc(closeTime, c.giveUp) // NATS may never answer again
	c.working.Wait()
	late.Stop()
	c.giveUp()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	c.mu.Lock()
	end := c.end
	c.mu.Unlock()
	if !c.own.Held(ctx) {
		c.own.end()
		if c.resumes != nil {
			c.resumes.end()
		}
		return nil
	}
	if end != nil && end.Outcome() != record.OK {
		err := c.own.GiveBack(ctx)
		if c.resumes != nil { // the next coordinator needs its record
			err = errors.Join(err, c.resumes.GiveBack(ctx))
		}
		return err
	}
	if end == nil { // it has not begun
		c.own.end() // no claim follows the last one
		err := c.handover.Records.Forget(ctx, c.own.said.Run)
		if c.resumes != nil {
			err = errors.Join(err, c.resumes.GiveBack(ctx))
		}
		return err
	}
	c.awaitReaders(ctx)
	c.own.end() // deleted data are not extended; the lease lasts longer than deleting takes
	if c.resumes != nil {
		c.resumes.end()
	}
	return errors.Join(c.handover.forget(ctx, c.own.said.Run, c.own.said.Resumes), c.handover.sweep(ctx))
}

// awaitReaders waits until the record has no reader any more.
func (c *Copy) awaitReaders(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lingers)
	defer cancel()
	for {
		n, err := c.handover.Records.Readers(ctx, c.own.said.Run)
		if err != nil || n == 0 {
			return
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
}
