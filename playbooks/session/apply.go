package session

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/share"
)

// A Task is a catalog for a host, and what it may take.
type Task struct {
	Compiled *catalog.Compiled
	// Claim claims the semaphores of an entry. If the connection is lost while the host holds them, the
	// turn is not released: the host may go on without the connection. Granted is called before the host is told that
	// it holds them; nil is not.
	Claim    func(index int, claims []share.Claim) *share.Turn
	Granted  func(index int)
	Exchange Exchange      // in which the host exports and imports; nil if there is none
	Resource time.Duration // how long a resource may take; 0 is any time
	Host     HostTime      // the host's time for the play
	Emit     func(*wire.Result)
	Flush    func()
	Sync     func() bool                        // returns when what came is recorded: if it is, the host is told next that it may forget it
	Untold   func(*wire.Untold) (reported bool) // takes results that earlier runs could not report; nil if there can be none
	Output   func(*wire.Output)                 // is given what commands write, as it comes; nil asks for none
	// Ask asks a person before an entry that has a semaphore does what it would; false is no,
	// and then the run is being stopped. Its context ends with the question. nil asks nobody.
	Ask func(ctx context.Context, e *wire.Entry, would string) bool
	// Elsewhere brings an entry about on another host, and gives the result there; nil if the run ends
	// before that has begun, or if it is to run here. refresh says that something has changed that the
	// entry subscribes to. The end of ctx ends the waiting for that host alone.
	Elsewhere func(ctx context.Context, index int, refresh bool) (result *wire.Result, here bool)
	// Arm tries the way in to the host before an entry changes it for the first time, and says why
	// it cannot be changed. Armed is told how long the host then waits, from the end of the catalog
	// on, for that to be confirmed; 0 if it does not. Reverted is given what it has taken back since nobody did, in
	// this run or in earlier ones; nil leaves that to be told again.
	Arm      func(ctx context.Context, index int, why string) error
	ArmSet   func(index int, why string) // reports that the host has armed itself after Arm
	Armed    func(within time.Duration)
	Watchdog func(*wire.Watchdog) // reports that the watchdog has ended, from another goroutine and until the session ends
	Reverted func(*wire.Reverted)
	// Watched is given what becomes of a catalog with a Watch, from its end on until another one of the
	// same play, by [Session.Hear] or during other catalogs.
	Watched func(*wire.Watched)
	Locked  func(waits bool) // is told that the host waits for its lock, and that it has it then; nil is not
	// Fetch gives what takes the file that an entry hands over, and is asked again where that begins
	// anew; nil where no file can be taken.
	Fetch func(e *wire.Entry) (File, error)
	// Known are the entries, by index, whose results have come in an earlier session, the
	// connection of which was lost: Emit is not given them again, unless the entry has had
	// its turn again and has changed something, or failed.
	Known []bool
}

// An Exchange is a host's part in the values between hosts, see [share.Participant].
type Exchange interface {
	Export(*wire.Result, *wire.Catalog)
	Import(ctx context.Context, index int) *wire.Imported
	ImportedSensitive(index int) bool
}

// Apply sends a catalog and gives Emit each result as it comes; after those that
// have come together it calls Flush. stop ends the catalog after the resource that
// is running, the end of ctx kills that too. whole is false if entries were skipped
// because of either. The error is a [Refused], a [Breach], a [Late], or that of
// the connection or of how the host program ended.
func (s *Session) Apply(ctx context.Context, stop <-chan struct{}, t Task) (whole bool, err error) {
	whole, err = s.apply(ctx, stop, t)
	if errors.Is(err, io.EOF) {
		err = s.ending()
	}
	return whole, err
}

func (s *Session) apply(ctx context.Context, stop <-chan struct{}, t Task) (whole bool, err error) {
	c := newCatalogRun(s, t)
	packet, err := t.Compiled.Packet()
	if err != nil {
		return false, err
	}
	s.replaceWatch(c.catalog.Watch)
	if report := t.Watchdog; c.catalog.Confirm != nil && report != nil { // the session must not keep the task
		s.onWatchdog.Store(&report)
	}
	if err := s.queue(func() error { return s.conn.SendPacket(packet) }); err != nil {
		return false, err
	}
	defer c.endTurns()
	defer c.dropFetches()
	incoming := s.incoming
	if early := s.early; len(early) > 0 {
		s.early = nil
		incoming = make(chan []*wire.Message, 1)
		incoming <- early
	}
	timer := s.timeResources(t.Resource, c.catalog.Lock)
	defer timer.stop()
	ofHost := timeHost(t.Host, &s.waits)
	defer ofHost.stop()
	var grace <-chan time.Time
	killed := ctx.Done()
	kill := func() {
		killed, c.halted = nil, true
		grace = time.After(killGrace)
		s.sendNow(&wire.Message{Kill: &wire.Empty{}})
	}
	for {
		select {
		case all := <-incoming:
			incoming = s.incoming
			before := c.results
			done, err := c.handleAll(ctx, all)
			if err != nil {
				s.end(err)
				return false, err
			}
			switch {
			case done && c.overdue != nil:
				c.overdue.Answered = true
				return false, c.overdue
			case done:
				c.acknowledge()
				whole := c.missing() == 0
				if whole {
					s.watch(c.catalog, t.Watched)
				}
				return whole, nil
			case c.results > before:
				timer.restart()
			}
		case <-timer.fired():
			if timer.over() && killed != nil {
				c.overdue = c.late(timer.limit)
				kill()
			}
		case <-ofHost.fired():
			if ofHost.over() && killed != nil {
				c.overdue = t.Host.late()
				kill()
			}
		case <-stop:
			stop, c.halted = nil, true
			s.sendNow(&wire.Message{Stop: &wire.Empty{}})
		case <-killed:
			c.overdue = Overdue(ctx)
			kill()
		case <-grace:
			s.end(context.Cause(ctx))
		case <-s.over:
			if c.overdue != nil {
				return false, c.overdue
			}
			return false, s.err
		}
	}
}
