package workers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/record"
)

// A LostError is why nothing more will be heard of a run that is followed.
type LostError struct{ text string }

func (e *LostError) Error() string { return e.text }

// Follow reads the record of a run like [Handover.Read], up to its end, including later parts. The error is a
// [LostError] if no more will come: the coordinator or NATS is lost, another coordinator continues the run, or its end
// was not copied.
func (h *Handover) Follow(ctx context.Context, s *Shared, take func(Part) error) error {
	ctx, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	f := &following{}
	f.taken.Store(time.Now().UnixNano())
	var watching sync.WaitGroup
	watching.Go(func() {
		if lost := h.awaitLoss(ctx, s, f); lost != nil {
			lose(lost)
		}
	})
	err := h.Read(ctx, s, true, func(p Part) error {
		f.taking.Store(true)
		defer func() {
			f.taken.Store(time.Now().UnixNano())
			f.taking.Store(false)
		}()
		return take(p)
	})
	lose(nil)
	watching.Wait()
	if lost, is := errors.AsType[*LostError](context.Cause(ctx)); is && errors.Is(err, context.Canceled) {
		return lost
	}
	return err
}

// following is the progress of following a run.
type following struct {
	taking atomic.Bool  // something is being taken
	taken  atomic.Int64 // when something was last, in nanoseconds of the epoch
}

// rests reports whether nothing was taken for a while.
func (f *following) rests(while time.Duration) bool {
	return !f.taking.Load() && time.Since(time.Unix(0, f.taken.Load())) >= while
}

// awaitLoss waits until no more will come of a run, or returns nil at the end of ctx. It first waits until the existing
// record is read.
func (h *Handover) awaitLoss(ctx context.Context, s *Shared, f *following) *LostError {
	often := h.lasts() / 6
	ticks := time.NewTicker(often)
	defer ticks.Stop()
	heard, over := time.Now(), time.Time{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
		limited, cancel := context.WithTimeout(ctx, often)
		now, err := h.Find(limited, s.Run)
		cancel()
		switch {
		case errors.Is(err, record.ErrNone): // it has ended well, and was deleted: the reader finds that
			heard = time.Now()
		case err == nil && now.Held:
			heard, over = time.Now(), time.Time{}
		case err == nil && now.Over && over.IsZero():
			over = time.Now()
		}
		if !f.rests(often) {
			continue
		}
		at := func(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && time.Since(heard) >= h.lasts():
			return &LostError{fmt.Sprintf("no message from %s, the controller of run %s, since %s: NATS does not answer\n  hint: the run may continue; when NATS answers again, follow it with ccm-push attach %[2]s and the same --workers",
				s.Holder, s.Run, at(heard))}
		case err != nil:
		case !now.Since.Equal(s.Since):
			return &LostError{fmt.Sprintf("run %s was continued by %s at %s\n  hint: follow it with ccm-push attach and the same --workers", s.Run, now.Holder, at(now.Since))}
		case now.Over && time.Since(over) >= 2*often:
			return &LostError{fmt.Sprintf("run %s was released by %s before its end\n  hint: continue it with ccm-push resume %[1]s, the same --workers, and in a folder with the same files", s.Run, now.Holder)}
		case !now.Held && !now.Over:
			return &LostError{fmt.Sprintf("no message from %s, the controller of run %s, since %s\n  hint: continue it with ccm-push resume %[2]s, the same --workers, and in a folder with the same files", s.Holder, s.Run, at(now.Heard))}
		}
	}
}
