package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/exit"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/inputs"
	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
	"github.com/ccm-push/ccm-push/playbooks/rollout/control"
)

// A watchCall is a call of ccm-push watch.
type watchCall struct {
	plays   *fleet.Plays
	printer *output.Printer
	options playbooks.Watch
	tell    watchTellFlags
	failOn  []string
	follows bool // --follow-manifests
}

func watchCommand(pl *fleet.Plays, p *output.Printer) *cobra.Command {
	w := &watchCall{plays: pl, printer: p}
	c := &cobra.Command{
		Use:   "watch MANIFEST...",
		Short: "apply manifests, then report drift as it happens",
		Long: `ccm-push watch applies manifests like any run, and then keeps a connection to each host open. The
host listens for changes, checks the resources that may have changed, and reports drift (a
difference from the desired state). With --check, the command applies nothing at the start.

With --repair, ccm-push also repairs drift: it gathers facts and applies the drifted resources
again. Within ten minutes, it repairs a resource at most three times. In the same time, it repairs
at most 2 % of all hosts, or three hosts if 2 % is less. If another program changes a resource back,
ccm-push stops repairing the resource.

Ctrl-C ends ccm-push watch. After that, no program of ccm-push runs on the hosts.`,
		Example: `  ccm-push watch -i hosts.yaml site.yaml
  ccm-push watch -i hosts.yaml --check -l 'web*' site.yaml`,
		Args: arguments.AtLeast(1),
		RunE: func(cmd *cobra.Command, args []string) error { return w.run(cmd.Context(), args) },
	}
	c.Flags().BoolVar(&w.options.Once, "once", false, "check for drift once, apply nothing, and exit with status 8 if a resource has drifted")
	c.Flags().Var(flags.Seconds{Duration: &w.options.Converged}, "converged-timeout", "exit after this time without a change")
	c.Flags().StringSliceVar(&w.failOn, "fail-on", nil, "conditions that change the exit status, separated by commas: unwatched (a host is not watched: adds 4), drift (adds 8), fighting (another program changes a resource back: adds 2)")
	c.Flags().BoolVar(&w.options.Repair, "repair", false, "repair drift, unless the manifest sets another policy")
	c.Flags().BoolVar(&w.follows, "follow-manifests", false, "if manifests, data or the inventory change, apply them again; invalid changes are not applied")
	w.tell.register(c.Flags())
	c.AddCommand(w.release())
	return c
}

func (w *watchCall) release() *cobra.Command {
	return &cobra.Command{
		Use: "release RUN HOST [TYPE#NAME]", Short: "repair resources again that watch has stopped repairing",
		Long: `ccm-push watch stops repairing a resource if another program changes the resource back, or if the
limit of repairs is reached. Remove the cause. Then run ccm-push watch release in another terminal,
and ccm-push watch repairs the resource again. RUN is the id of the run of ccm-push watch (see
ccm-push runs).`,
		Example: `  ccm-push watch release last web1
  ccm-push watch release last web1 file#/etc/motd`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 3 {
				return fmt.Errorf("release takes a RUN, a HOST and a resource, but got %d arguments", len(args))
			}
			return arguments.AtLeast(2)(cmd, args)
		},
		ValidArgsFunction: completeRelease(w.plays.Fleet.App),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := w.plays.Fleet.App.Records()
			if err != nil {
				return err
			}
			run, err := store.Find(args[0])
			if err != nil {
				return err
			}
			c := rollout.Command{Verb: rollout.ReleaseHost, Host: args[1]}
			if len(args) > 2 {
				c.Resource = args[2]
			}
			if c.By, err = whoSays(); err != nil {
				return err
			}
			reply, err := control.Send(cmd.Context(), store.FolderOf(run.Run), c)
			switch {
			case err != nil:
				return fmt.Errorf("speaking to run %s: %w", run.Run, err)
			case reply.Error != "":
				return fmt.Errorf("run %s: %s", run.Run, events.Line(reply.Error))
			}
			return nil
		},
	}
}

func (w *watchCall) run(ctx context.Context, paths []string) error {
	pl := w.plays
	switch {
	case pl.Fleet.Flags.Mode.Step:
		return errors.New("--step prompts before changes, and watch runs without prompts")
	case w.options.Repair && (pl.Fleet.Flags.Mode.Check || w.options.Once):
		return errors.New("--check and --once change nothing, and --repair does: remove one of them")
	case w.follows && w.options.Once:
		return errors.New("--once ends before manifests can change: remove it or --follow-manifests")
	case pl.Fleet.Flags.Selection.List, pl.Fleet.Flags.Inventory.ListHosts:
		return pl.Apply(ctx, w.printer, paths)
	}
	for _, word := range w.failOn {
		on := playbooks.FailOn(word)
		if !slices.Contains([]playbooks.FailOn{playbooks.FailOnUnwatched, playbooks.FailOnDrift, playbooks.FailOnFighting}, on) {
			return fmt.Errorf("--fail-on %s: use unwatched, drift or fighting", word)
		}
		w.options.FailOn = append(w.options.FailOn, on)
	}
	if w.options.Once {
		pl.Fleet.Flags.Mode.Check = true
		w.options.FailOn = append(w.options.FailOn, playbooks.FailOnDrift)
	}
	pl.Fleet.App.Files = &inputs.Files{}
	r, err := pl.Runner(ctx, paths)
	if err != nil {
		return err
	}
	to, end, err := w.tell.reporters(ctx, pl.Fleet.App)
	if err != nil {
		return errors.Join(err, r.Dialer.Close())
	}
	defer end()
	return w.runs(ctx, r, paths, to)
}

// runs watches hosts with the run of r, and then with the runs that follow it. The exit status combines the state of the
// hosts at the end with the last run of plays.
func (w *watchCall) runs(ctx context.Context, r *playbooks.Runner, paths []string, to []events.Reporter) error {
	valid := r // last runner that was not refused
	defer func() {
		r.Dialer.Close()
		valid.Dialer.Close()
	}()
	var played error
	for first, only := true, false; ; first = false {
		one := &watchedRun{call: w, runner: r, paths: paths, watches: make(chan struct{}), until: make(chan struct{})}
		options := w.options
		options.Only, options.Until = only, one.until
		r.Options.Watch = &options
		err := one.run(ctx, to)
		a := w.plays.Fleet.App
		if one.begun && valid != r {
			valid.Dialer.Close()
			valid = r
		}
		switch {
		case ctx.Err() != nil, a.Stopped(), first && !one.watched(), only && !one.begun, one.watched() && one.next == nil:
			return exit.Join(played, err)
		case one.next != nil:
			r, only, played = one.next, false, nil
		case one.begun: // it was stopped before its end, as a rollout may be
			r, only, played = again(r), true, err
		default:
			a.Warn("the changed files cannot be applied; watch continues with the old version: " + err.Error())
			r.Dialer.Close()
			r, only = again(valid), true
		}
	}
}

// again is the runner of another run of the same plays.
func again(r *playbooks.Runner) *playbooks.Runner {
	other := *r
	other.Options.Run = record.NewID(time.Now())
	other.Steer = nil
	return &other
}
