package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/record"
)

func attachCommand(f *fleet.Fleet, p *output.Printer) *cobra.Command {
	var fromNow bool
	c := &cobra.Command{
		Use:   "attach [RUN]",
		Short: "follow a run that another terminal or machine started",
		Long: `ccm-push attach prints the output of a run from its beginning and follows the run to its end. Its
exit status is the exit status of the run. Without RUN, the command follows the newest run in
progress. Ctrl-C ends only the output; the run continues.

You can also follow a run of another machine, if this run uses workers. Pass --workers with the NATS
URL of the run. The file operators.keys on the other machine must contain the public key of this
machine.`,
		Example: `  ccm-push attach
  ccm-push attach 7k2m --from-now
  ccm-push attach --workers tls://nats.example.com:4222`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: arguments.CompleteRun(f.App, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			if err := canFollow(p); err != nil {
				return err
			}
			run, err := findAttachable(f.App, name)
			if errors.Is(err, record.ErrNone) && f.Flags.Workers.URL != "" {
				return attachShared(cmd, f, p, name, fromNow)
			}
			if err != nil {
				return err
			}
			return attach(cmd, f.App, p, run, fromNow)
		},
	}
	c.Flags().BoolVar(&fromNow, "from-now", false, "skip the output before now")
	return c
}

// canFollow reports an --output that is not for runs that are followed.
func canFollow(p *output.Printer) error {
	if p.Flags.Output.Format == "dsc-json" {
		return errors.New("--output dsc-json is for runs; attach prints text or events")
	}
	return nil
}

// attach follows the record of a run.
func attach(cmd *cobra.Command, a *app.App, p *output.Printer, run *record.Run, fromNow bool) error {
	var err error
	told := 0
	if fromNow {
		if told, err = count(run.Lines()); err != nil {
			return err
		}
	}
	reporter, gate, err := follower(p, cmd, run.Header, told)
	if err != nil {
		return err
	}
	ctx, end := untilLeft(cmd.Context(), a, run.Run)
	defer end()
	heard := hear(run, a.Err)
	summary, err := gate.follow(run.Follow(ctx), reporter)
	heard()
	switch {
	case errors.Is(err, context.Canceled):
		return exit.Status(exit.Interrupted)
	case err != nil:
		return err
	case summary == nil:
		return exit.Unwritten(fmt.Errorf("run %s did not end: its ccm-push was killed\n  hint: %s", run.Run, continuingHint(a, run.Header)))
	}
	return p.Status(*summary)
}

// untilLeft returns a context that ends with the first Ctrl-C, which detaches from a run.
func untilLeft(ctx context.Context, a *app.App, run string) (context.Context, func()) {
	return a.UntilStopSaying(ctx, fmt.Sprintf("detached from run %[1]s, which continues; ccm-push attach %[1]s follows it again", run))
}

// findAttachable returns the run with a name, or the newest run in progress.
func findAttachable(a *app.App, name string) (*record.Run, error) {
	store, err := a.Records()
	if err != nil {
		return nil, err
	}
	if name != "" {
		return store.Find(name)
	}
	run, err := store.Last(func(r *record.Run) bool { return r.Outcome() == record.Running })
	if errors.Is(err, record.ErrNone) {
		return nil, noneUnderWay{err}
	}
	return run, err
}

// noneUnderWay is the error if no run is in progress.
type noneUnderWay struct{ error }

func (noneUnderWay) Error() string {
	return "no run is in progress; ccm-push runs lists finished runs, and ccm-push runs show RUN prints one"
}

func (e noneUnderWay) Unwrap() error { return e.error }

func count(lines iter.Seq2[[]byte, error]) (n int, err error) {
	for _, err := range lines {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// hear prints the messages of a run's program that has left its terminal. When end returns, all of them are printed.
func hear(run *record.Run, to io.Writer) (end func()) {
	said, err := run.Said()
	if err != nil { // it has its terminal
		return func() {}
	}
	over := make(chan struct{})
	var hearing sync.WaitGroup
	hearing.Go(func() {
		defer said.Close()
		ticks := time.NewTicker(hearTime)
		defer ticks.Stop()
		for last := false; ; {
			if _, err := io.Copy(to, said); err != nil || last {
				return
			}
			select {
			case <-ticks.C:
			case <-over:
				last = true
			}
		}
	})
	return func() {
		close(over)
		hearing.Wait()
	}
}

const hearTime = 100 * time.Millisecond

// A gate drops the output of a run until its first events have passed.
type gate struct {
	out   io.Writer
	first int // so many events are not printed
	seen  int
	warn  func(string)
	// elsewhere is set for a run of another machine: its warnings about sites are printed here.
	elsewhere bool
}

// Write implements io.Writer.
func (g *gate) Write(text []byte) (int, error) {
	if g.seen <= g.first {
		return len(text), nil
	}
	return g.out.Write(text)
}

// follower is a reporter for a run that is under way, of whose events the first ones are not printed.
func follower(p *output.Printer, cmd *cobra.Command, h record.Header, first int) (events.Reporter, *gate, error) {
	if err := flags.Apply(cmd.Flags(), h.Flags, "verbose", "timing", "diff"); err != nil {
		return nil, nil, err
	}
	g := &gate{out: p.App.Out, first: first, warn: p.App.Warn}
	again := h.Flags
	store, err := p.App.Records()
	if err != nil {
		return nil, nil, err
	}
	if h.Undoes != "" {
		again = ownFlags(store, h)
	}
	options := events.TextOptions{AdHoc: h.AdHoc, Recorded: true, Again: fleet.Withheld(again), Diff: cmd.Flag("diff").Value.String() != "false"}
	if words := continuing(store, h); words != nil {
		options.Resume = arguments.Pasted(words)
	}
	return p.Replayer(g, options), g, nil
}

// follow reports the events of a run up to its summary, and returns that; nil if the run has none.
func (g *gate) follow(all iter.Seq2[events.Event, error], to events.Reporter) (*events.Summary, error) {
	var end *events.Summary
	for e, err := range all {
		g.seen++
		if line, ok := errors.AsType[*record.LineError](err); ok {
			g.warn(fmt.Sprintf("skipped an unreadable line: %v", line))
			continue
		}
		if err != nil {
			return nil, err
		}
		to.Report(e)
		if s, ok := e.(events.SiteWaits); ok && g.elsewhere && g.seen > g.first {
			g.warn(s.Text)
		}
		if s, ok := e.(events.Summary); ok {
			end = &s
		}
	}
	return end, nil
}
