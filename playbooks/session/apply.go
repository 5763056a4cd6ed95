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

// A Task is a catalog for a host, with its time limits and callbacks.
type Task struct {
	Compiled *catalog.Compiled
	// Claim claims the semaphores of an entry. If the connection is lost while the host holds them, the turn is not
	// released: the host may continue without the connection. Granted is called before the host learns that it holds
	// them; it may be nil.
	Claim    func(index int, claims []share.Claim) *share.Turn
	Granted  func(index int)
	Exchange Exchange      // exchange in which the host exports and imports; nil means none
	Resource time.Duration // time limit of a resource; 0 means none
	Host     HostTime      // the host's time for the play
	Emit     func(*wire.Result)
	Flush    func()
	Sync     func() bool                        // returns when the received results are recorded; if true, the host may then forget them
	Untold   func(*wire.Untold) (reported bool) // takes results that earlier runs could not report; nil if there can be none
	Output   func(*wire.Output)                 // receives the output of commands as it arrives; nil requests none
	// Ask prompts the operator before an entry with a semaphore makes its change; false means no, and then the run is
	// being stopped. Its context ends with the prompt. nil disables the prompt.
	Ask func(ctx context.Context, e *wire.Entry, would string) bool
	// Elsewhere runs an entry on another host, and returns the result there; nil if the run ends before the entry has
	// begun, or if it is to run here. refresh is set if something has changed that the entry subscribes to. The end of
	// ctx ends only the wait for that host.
	Elsewhere func(ctx context.Context, index int, refresh bool) (result *wire.Result, here bool)
	// Arm tries to log in to the host before an entry changes it for the first time, and returns an error if it cannot
	// be changed. Armed receives the time for which the host then waits for the confirmation, from the end of the
	// catalog on; 0 if it does not wait. Reverted receives the changes that the host has reverted without a
	// confirmation, in this run or in earlier ones; if it is nil, the host reports them again later.
	Arm      func(ctx context.Context, index int, why string) error
	ArmSet   func(index int, why string) // reports that the host has armed itself after Arm
	Armed    func(within time.Duration)
	Watchdog func(*wire.Watchdog) // reports that the watchdog has ended, from another goroutine and until the session ends
	Reverted func(*wire.Reverted)
	// Watched receives the events of a catalog with a Watch, from its end on until another one of the same play, by
	// [Session.Hear] or during other catalogs.
	Watched func(*wire.Watched)
	Locked  func(waits bool) // reports that the host waits for its lock, and later that it holds it; may be nil
	// Fetch returns the receiver of the file that an entry transfers. It is called again if the transfer restarts. nil
	// means that no file can be received.
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

// Apply sends a catalog and passes each result to Emit as it arrives. It calls Flush after results that arrived
// together. stop ends the catalog after the running resource; the end of ctx kills that resource too. whole is false if
// entries were skipped because of either. The error is a [Refused], a [Breach], a [Late], or the error of the
// connection or of the end of the host program.
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
