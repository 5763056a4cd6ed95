package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/exchange"
	"github.com/ccm-push/ccm-push/playbooks/semaphore"
)

// A Task is a catalog for a host, and what it may take.
type Task struct {
	*catalog.Compiled
	Semaphores *semaphore.Set        // of the run
	Exchange   *exchange.Participant // in which the host exports and imports; nil if there is none
	Resource   time.Duration         // how long a resource may take; 0 is any time
	Host       HostTime              // what is left to the host of its time for the play
	Emit       func(*modules.Result)
	Flush      func()
}

// Apply sends a catalog and gives Emit each result as it comes; after those that
// have come together it calls Flush. stop ends the catalog after the resource that
// is running, the end of ctx kills that too. whole is false if entries were left
// out because of either. The error is a [Refused], a [Breach], a [Late], or that of
// the connection or of how the host program ended.
func (s *Session) Apply(ctx context.Context, stop <-chan struct{}, t Task) (whole bool, err error) {
	whole, err = s.apply(ctx, stop, t)
	if errors.Is(err, io.EOF) {
		err = s.ending()
	}
	return whole, err
}

func (s *Session) apply(ctx context.Context, stop <-chan struct{}, t Task) (whole bool, err error) {
	packet, err := t.Packet()
	if err != nil {
		return false, err
	}
	if err := s.queue(func() error { return s.conn.SendPacket(packet) }); err != nil {
		return false, err
	}
	a := answers{Session: s, Task: t, seen: make([]bool, len(t.Catalog.Entries)), turns: map[int]*semaphore.Turn{}, needs: map[int]bool{}, ended: make(chan struct{})}
	defer close(a.ended)
	defer a.giveAllBack()
	incoming := s.incoming
	if early := s.early; len(early) > 0 {
		s.early = nil
		incoming = make(chan []*modules.Message, 1)
		incoming <- early
	}
	watch := s.watch(t.Resource, t.Catalog.Lock)
	defer watch.stop()
	ofHost := watchHost(t.Host, &s.waits)
	defer ofHost.stop()
	var grace <-chan time.Time
	killed := ctx.Done()
	kill := func() {
		killed, a.halted = nil, true
		grace = time.After(killGrace)
		s.urge(&modules.Message{Kill: &modules.Empty{}})
	}
	for {
		select {
		case all := <-incoming:
			incoming = s.incoming
			before := a.told
			done, err := a.takeAll(ctx, all)
			if err != nil {
				s.end(err)
				return false, err
			}
			switch {
			case done && a.overdue != nil:
				a.overdue.Answered = true
				return false, a.overdue
			case done:
				return a.missing() == 0, nil
			case a.told > before:
				watch.told()
			}
		case <-watch.fired():
			if watch.over() && killed != nil {
				a.overdue = a.late(watch.limit)
				kill()
			}
		case <-ofHost.fired():
			if ofHost.over() && killed != nil {
				a.overdue = t.Host.late()
				kill()
			}
		case <-stop:
			stop, a.halted = nil, true
			s.urge(&modules.Message{Stop: &modules.Empty{}})
		case <-killed:
			a.overdue = Overdue(ctx)
			kill()
		case <-grace:
			s.end(context.Cause(ctx))
		case <-s.over:
			if a.overdue != nil {
				return false, a.overdue
			}
			return false, s.err
		}
	}
}

// answers handles what a host says about its catalog.
type answers struct {
	*Session
	Task
	seen    []bool
	told    int  // results
	left    bool // it has said what has left the manifest
	halted  bool // the host was told to stop
	overdue *Late
	ended   chan struct{}           // closed at the end of the catalog
	turns   map[int]*semaphore.Turn // by the index of the entry that has asked for it
	needs   map[int]bool            // by the index of the entry that has asked for values of other hosts
}

func (a *answers) missing() int {
	n := 0
	for _, seen := range a.seen {
		if !seen {
			n++
		}
	}
	return n
}

// takeAll handles messages up to the end of the catalog. done is set when it is over.
func (a *answers) takeAll(ctx context.Context, all []*modules.Message) (done bool, err error) {
	defer a.Flush()
	for i, m := range all {
		if done, err := a.take(ctx, m); done || err != nil {
			a.early = all[i+1:]
			return done, err
		}
	}
	return false, nil
}

// take handles one message. done is set when the catalog is over.
func (a *answers) take(ctx context.Context, m *modules.Message) (done bool, err error) {
	switch {
	case m.Result != nil:
		return false, a.result(m.Result)
	case m.Want != nil:
		return false, a.want(ctx, m.Want.SHA256)
	case m.Refused != nil:
		return false, refused(m.Refused, a.Catalog.Lock)
	case m.Parse != nil:
		return false, a.parse(m.Parse)
	case m.Turn != nil:
		return false, a.turn(m.Turn)
	case m.Need != nil:
		return false, a.need(ctx, m.Need)
	case m.Left != nil:
		return false, a.leave(m.Left)
	case m.Done != nil:
		return true, a.done(m.Done)
	}
	return false, breach("the host sent a message that only the controller sends")
}

// done checks that nothing was left out without a reason.
func (a *answers) done(d *modules.Done) error {
	n := a.missing()
	switch {
	case n == 0, a.halted:
		return nil
	case d.Stopped: // by a signal, as when the host shuts down
		return fmt.Errorf("the host program was stopped; %d of %d resources are not done", n, len(a.seen))
	}
	return breach("the host is done but has not reported %d of its %d resources", n, len(a.seen))
}

func (a *answers) result(r *modules.Result) error {
	switch {
	case r.Index < 0 || r.Index >= len(a.seen):
		return breach("the host reports resource %d of %d", r.Index, len(a.seen))
	case a.seen[r.Index]:
		return breach("the host reports resource %d twice", r.Index)
	case len(r.Changes) > modules.MaxParts, len(r.Messages) > modules.MaxParts, len(r.RefreshedBy) > modules.MaxParts:
		return breach("the host reports more than %d changes, notes or triggers of one resource", modules.MaxParts)
	}
	if err := errors.Join(a.health(r), checkState(r, a.Catalog.Entries[r.Index].Query != "")); err != nil {
		return err
	}
	switch r.Status {
	case "":
		r.Status = modules.Stable
	case modules.Changed, modules.Skipped, modules.Failed:
	default:
		return breach("the host reports the status %.64q", r.Status)
	}
	if err := a.sent(r); err != nil {
		return err
	}
	a.seen[r.Index] = true
	a.told++
	a.giveBack(r.Index)
	if a.overdue != nil && r.Status == modules.Failed {
		// The host only knows that it was told to kill, not that it was for the time.
		r.Killed = false
		r.Error = a.overdue.Error() + strings.TrimSuffix(": "+r.Error, ": "+modules.RunInterrupted)
	}
	a.Emit(r)
	return nil
}

// health checks the verdicts of a result against the health checks that were
// asked for.
func (a *answers) health(r *modules.Result) error {
	asked := len(a.Catalog.Entries[r.Index].Health)
	if len(r.Health) > asked {
		return breach("the host reports %d health checks of a resource that has %d", len(r.Health), asked)
	}
	for _, v := range r.Health {
		switch v.Status {
		case modules.HealthOK, modules.HealthWarning, modules.HealthCritical, modules.HealthUnknown:
		default:
			return breach("the host reports the answer %.64q to a health check", v.Status)
		}
	}
	return nil
}
