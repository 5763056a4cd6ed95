package playbooks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
)

// apply sends a catalog and gives emit each result as it comes; after those that
// have come together it calls flush. stop ends the catalog after the resource that
// is running, the end of ctx kills that too. whole is false if entries were left
// out because of either.
func (s *session) apply(ctx context.Context, stop <-chan struct{}, c *catalog.Compiled, emit func(*modules.Result), flush func()) (whole bool, err error) {
	packet, err := c.Packet()
	if err != nil {
		return false, err
	}
	if err := s.queue(func() error { return s.conn.SendPacket(packet) }); err != nil {
		return false, err
	}
	a := answers{session: s, compiled: c, seen: make([]bool, len(c.Catalog.Entries)), emit: emit, flush: flush, turns: map[int]*turn{}, needs: map[int]bool{}, ended: make(chan struct{})}
	defer close(a.ended)
	defer a.giveAllBack()
	incoming := s.incoming
	if early := s.early; len(early) > 0 {
		s.early = nil
		incoming = make(chan []*modules.Message, 1)
		incoming <- early
	}
	watch := s.watch(c.Catalog.Lock)
	defer watch.stop()
	ofHost := watchHost(s.hostTime, &s.waits)
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
				a.overdue.answered = true
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
				a.overdue = s.hostTime.late()
				kill()
			}
		case <-stop:
			stop, a.halted = nil, true
			s.urge(&modules.Message{Stop: &modules.Empty{}})
		case <-killed:
			a.overdue = overdue(ctx)
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
	*session
	compiled *catalog.Compiled
	seen     []bool
	told     int  // results
	left     bool // it has said what has left the manifest
	halted   bool // the host was told to stop
	overdue  *deadlineError
	ended    chan struct{} // closed at the end of the catalog
	turns    map[int]*turn // by the index of the entry that has asked for it
	needs    map[int]bool  // by the index of the entry that has asked for values of other hosts
	emit     func(*modules.Result)
	flush    func()
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

// A refusedError is why the host program will not work on a catalog.
type refusedError struct {
	phase, reason string
	locked        bool // by a run
	own           bool // which is this one, under another name of the host
}

func (e refusedError) Error() string { return e.reason }

// takeAll handles messages up to the end of the catalog. done is set when it is over.
func (a *answers) takeAll(ctx context.Context, all []*modules.Message) (done bool, err error) {
	defer a.flush()
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
		return false, refused(m.Refused, a.compiled.Catalog.Lock)
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

// refused is the error of a host that wants no catalog. lock is what was asked for.
func refused(r *modules.Refused, lock *modules.Lock) error {
	switch r.Phase {
	case "lock", "protocol", "facts":
		locked := r.Locked && r.Phase == "lock"
		// The id of a run is in no other text; it decides only about the hint.
		return refusedError{r.Phase, r.Error, locked, locked && lock != nil && strings.Contains(r.Error, "run "+lock.Run+",")}
	}
	return breach("the host refuses the catalog in the phase %.64q", r.Phase)
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
	case len(r.Changes) > modules.MaxParts, len(r.Messages) > modules.MaxParts:
		return breach("the host reports more than %d changes or notes of one resource", modules.MaxParts)
	}
	if err := errors.Join(a.health(r), checkState(r, a.compiled.Catalog.Entries[r.Index].Query != "")); err != nil {
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
		r.Error = a.overdue.Error() + strings.TrimSuffix(": "+r.Error, ": "+modules.RunInterrupted)
	}
	a.emit(r)
	return nil
}

// health checks the verdicts of a result against the health checks that were
// asked for.
func (a *answers) health(r *modules.Result) error {
	asked := len(a.compiled.Catalog.Entries[r.Index].Health)
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

// want queues contents for sending, if all of them are the host's own and it
// asks for the first time: it keeps what it gets as long as the session lasts.
func (a *answers) want(ctx context.Context, digests []string) error {
	contents := a.compiled.Contents
	if len(digests) == 0 {
		return breach("the host asks for nothing")
	}
	for _, digest := range digests {
		switch {
		case !contents.Has(digest):
			return breach("the host asks for a content that is not its own: %.64q", digest)
		case a.asked[digest]:
			return breach("the host asks for the content %s twice", digest)
		}
		a.asked[digest] = true
	}
	var ready []string
	for _, digest := range digests {
		if contents.Promised(digest) {
			a.later(ctx, contents, digest)
		} else {
			ready = append(ready, digest)
		}
	}
	if len(ready) == 0 {
		return nil
	}
	return a.queue(func() error {
		for _, digest := range ready {
			if err := a.stream(contents, digest); err != nil {
				return err
			}
		}
		return nil
	})
}

// later sends a promised content when it is there. Until then the sender is free,
// to ping and to send others.
func (s *session) later(ctx context.Context, contents catalog.Contents, digest string) {
	ctx, cancel := context.WithCancel(ctx)
	s.work.Go(func() {
		defer cancel()
		contents.Await(ctx, digest)
		select {
		case s.outgoing <- func() error { return s.stream(contents, digest) }:
		case <-s.over:
		}
	})
	s.work.Go(func() {
		select {
		case <-s.over:
			cancel()
		case <-ctx.Done():
		}
	})
}

// stream sends a content in chunks. One that cannot be read any more is the
// host's to know: it fails the resource, not the session.
func (s *session) stream(contents catalog.Contents, digest string) error {
	r, size, err := contents.Open(digest)
	if err != nil {
		return s.conn.Send(gone(digest, err))
	}
	defer r.Close()
	buf := make([]byte, modules.MaxChunk)
	pinged := time.Now()
	for offset := int64(0); ; {
		// A content that takes minutes is no reason for the host to say anything.
		if time.Since(pinged) >= modules.PingInterval {
			pinged = time.Now()
			if err := s.ping(); err != nil {
				return err
			}
		}
		n, err := io.ReadFull(r, buf[:min(int64(len(buf)), size-offset)])
		if err != nil {
			return s.conn.Send(gone(digest, fmt.Errorf("the file changed during the run: %w", err)))
		}
		blob := &modules.Blob{SHA256: digest, Size: size, Offset: offset, Data: buf[:n]}
		if err := s.conn.Send(&modules.Message{Blob: blob}); err != nil {
			return err
		}
		s.sent.Store(time.Now().UnixNano())
		if offset += int64(n); offset == size {
			return nil
		}
	}
}

func gone(digest string, err error) *modules.Message {
	return &modules.Message{Blob: &modules.Blob{SHA256: digest, Gone: err.Error()}}
}
