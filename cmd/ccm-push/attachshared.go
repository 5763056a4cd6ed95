package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/playbooks/workers"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

// attachShared follows a run that is coordinated elsewhere.
func attachShared(cmd *cobra.Command, f *fleet, p *printer, name string, fromNow bool) error {
	h, err := f.workers.handover(cmd.Context())
	if err != nil {
		return err
	}
	run, err := h.Find(cmd.Context(), name)
	if err != nil {
		return err
	}
	ctx, end := f.app.untilLeft(cmd.Context(), run.Run)
	defer end()
	watched, lost := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { watchCoordinator(watched, h, run, lost) })
	defer watching.Wait()
	defer lost(nil)
	err = p.printShared(watched, cmd, h, run, fromNow)
	switch cause := context.Cause(watched); {
	case ctx.Err() != nil:
		return exitStatus(interruptedStatus)
	case errors.Is(err, context.Canceled) && cause != nil:
		return unreported{cause}
	case errors.Is(err, queue.ErrGone):
		return unreported{fmt.Errorf("run %s has ended, and what it has told last was deleted before it was heard here; its record is with %s", run.Run, run.Holder)}
	}
	return err
}

// printShared prints what a run tells, up to its end.
func (p *printer) printShared(ctx context.Context, cmd *cobra.Command, h *workers.Handover, run *workers.Shared, fromNow bool) error {
	told := 0
	if fromNow {
		err := h.Read(ctx, run, false, func(part workers.Part) error {
			told += bytes.Count(part.Lines, []byte{'\n'})
			return nil
		})
		if err != nil {
			return err
		}
	}
	header, err := headerOf(ctx, h, run)
	if err != nil {
		return err
	}
	reporter, gate, err := p.follower(cmd, *header, told)
	if err != nil {
		return err
	}
	summary, err := gate.follow(header.Decode("what run "+run.Run+" tells", sharedLines(ctx, h, run)), reporter)
	switch {
	case err != nil:
		return err
	case summary == nil:
		return unreported{fmt.Errorf("run %s has an end and no totals", run.Run)}
	}
	return p.status(*summary)
}

// headerOf waits until a run has begun.
func headerOf(ctx context.Context, h *workers.Handover, run *workers.Shared) (header *record.Header, err error) {
	found := errors.New("the header is found")
	err = h.Read(ctx, run, true, func(part workers.Part) error {
		header = part.Header
		return found
	})
	if errors.Is(err, found) && header != nil {
		err = nil
	}
	return header, err
}

// sharedLines are the lines of events of a run, as they come.
func sharedLines(ctx context.Context, h *workers.Handover, run *workers.Shared) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		enough := errors.New("no more lines are wanted")
		err := h.Read(ctx, run, true, func(part workers.Part) error {
			for line := range bytes.Lines(part.Lines) {
				if !yield(line, nil) {
					return enough
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, enough) {
			yield(nil, err)
		}
	}
}

// watchTime is how often who follows a run looks whether somebody still coordinates it.
const watchTime = 5 * time.Second

// watchCoordinator tells lost why nothing more will be heard of a run.
func watchCoordinator(ctx context.Context, h *workers.Handover, run *workers.Shared, lost context.CancelCauseFunc) {
	ticks := time.NewTicker(watchTime)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		now, err := h.Find(ctx, run.Run)
		switch {
		case err != nil: // it has ended, or NATS is out of reach, which is told
		case !now.Since.Equal(run.Since):
			lost(fmt.Errorf("run %s is gone on with by %s since %s\n  hint: ccm-push attach follows that, with the same --workers", run.Run, now.Holder, now.Since.Local().Format("2006-01-02 15:04:05")))
			return
		case !now.Held && !now.Over:
			lost(fmt.Errorf("nothing has been heard of %s, who coordinates run %s, since %s\n  hint: ccm-push resume %s goes on with it, with the same --workers and in a folder with the same files",
				run.Holder, run.Run, now.Heard.Local().Format("2006-01-02 15:04:05"), run.Run))
			return
		}
	}
}
