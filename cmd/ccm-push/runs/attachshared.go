package runs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/playbooks/workers"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

// attachShared follows a run that is coordinated elsewhere.
func attachShared(cmd *cobra.Command, f *fleet.Fleet, p *output.Printer, name string, fromNow bool) error {
	h, err := f.Workers.Handover(cmd.Context())
	if err != nil {
		return err
	}
	run, err := h.Find(cmd.Context(), name)
	if err != nil {
		return err
	}
	ctx, end := untilLeft(cmd.Context(), f.App, run.Run)
	defer end()
	err = printShared(ctx, p, cmd, h, run, fromNow)
	lost, is := errors.AsType[*workers.LostError](err)
	switch {
	case ctx.Err() != nil:
		return exit.Status(exit.Interrupted)
	case is:
		return exit.Unwritten(lost)
	case errors.Is(err, queue.ErrGone):
		return exit.Unwritten(fmt.Errorf("run %s has ended, and its last events were deleted before they arrived; the complete record is on the machine of %s", run.Run, run.Holder))
	}
	return err
}

// printShared prints the events of a run, up to its end.
func printShared(ctx context.Context, p *output.Printer, cmd *cobra.Command, h *workers.Handover, run *workers.Shared, fromNow bool) error {
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
	reporter, gate, err := follower(p, cmd, *header, told)
	if err != nil {
		return err
	}
	gate.elsewhere = true
	summary, err := gate.follow(header.Decode("the events of run "+run.Run, sharedLines(ctx, h, run)), reporter)
	switch {
	case err != nil:
		return err
	case summary == nil:
		return exit.Unwritten(fmt.Errorf("run %s has an end and no totals", run.Run))
	}
	return p.Status(*summary)
}

// headerOf waits until a run has begun.
func headerOf(ctx context.Context, h *workers.Handover, run *workers.Shared) (header *record.Header, err error) {
	found := errors.New("the header is found")
	err = h.Follow(ctx, run, func(part workers.Part) error {
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
		err := h.Follow(ctx, run, func(part workers.Part) error {
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
