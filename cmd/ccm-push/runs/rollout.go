package runs

import (
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
	"github.com/ccm-push/ccm-push/playbooks/rollout/control"
)

// steeringHelp is the long help of the commands that steer a rollout.
var steeringHelp = map[rollout.Verb]string{
	rollout.Ask: `ccm-push rollout status prints the progress of a rollout: hosts in progress, failed hosts, and hosts
that count as unavailable. If the rollout has stopped, the command also prints the reason, for
example 3 failed hosts and a limit of 2. At the end, it prints the commands that you can use next.`,
	rollout.Go: `ccm-push rollout go continues a rollout after a stop or a pause. Earlier failures still count. So if
the rollout stopped at the limit of failures, one more failure stops it again. If the process of the
run has ended, this command resumes the run, like ccm-push resume RUN.`,
	rollout.HoldNow: `ccm-push rollout hold pauses a rollout: hosts in progress finish, and no more hosts start. Then the
rollout waits for ccm-push rollout go, end or undo.`,
	rollout.EndNow: `ccm-push rollout end ends a run: hosts in progress finish, and no more hosts start. ccm-push resume
continues the run later.`,
	rollout.UndoNow: `ccm-push rollout undo ends a run: hosts in progress finish, and no more hosts start. Then the
command undoes the changes of the run on all hosts, like ccm-push undo. The limit of unavailable
hosts (max_unavailable) of the rollout also applies to the undo.`,
}

func rolloutCommand(pl *fleet.Plays, p *output.Printer) *cobra.Command {
	c := &cobra.Command{
		Use:   "rollout",
		Short: "show and control a rollout that is in progress or held",
		Long: `ccm-push rollout controls a run from another terminal of the same machine. Only root and the user
who started the run can use the command. Without RUN, it controls the newest rollout in progress. If
no rollout is in progress, it uses the newest run of manifests. RUN is the id of a run (see ccm-push
runs).

If the process of the run has ended, ccm-push rollout status prints the recorded state, and ccm-push
rollout go resumes the run with the same batches and failure counts.`,
		Example: `  ccm-push rollout status
  ccm-push rollout go
  ccm-push rollout hold 7k2m
  ccm-push rollout release 7k2m web3`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	s := &steer{plays: pl, printer: p}
	for _, one := range []struct {
		verb           rollout.Verb
		short          string
		withoutAnybody func(cmd *cobra.Command, run *record.Run) error
	}{
		{rollout.Ask, "print the progress of a rollout, and why it has stopped",
			func(_ *cobra.Command, run *record.Run) error { return s.recorded(run) }},
		{rollout.Go, "continue a rollout that is held or paused",
			func(cmd *cobra.Command, run *record.Run) error {
				return resume(cmd.Context(), pl, p, cmd.Flags(), run.Run, false)
			}},
		{rollout.HoldNow, "start no more hosts until ccm-push rollout go",
			func(_ *cobra.Command, run *record.Run) error { return s.notRunning(run, "the run is not in progress") }},
		{rollout.EndNow, "start no more hosts, and end the run",
			func(_ *cobra.Command, run *record.Run) error {
				return s.notRunning(run, fmt.Sprintf("it has ended; ccm-push resume %[1]s continues it, ccm-push undo %[1]s undoes it", run.Run))
			}},
		{rollout.UndoNow, "end the run, and undo its changes",
			func(_ *cobra.Command, run *record.Run) error {
				return s.notRunning(run, fmt.Sprintf("to undo its changes run ccm-push undo %s", run.Run))
			}},
	} {
		c.AddCommand(&cobra.Command{
			Use: string(one.verb) + " [RUN]", Short: one.short, Long: steeringHelp[one.verb],
			Example: fmt.Sprintf("  ccm-push rollout %[1]s\n  ccm-push rollout %[1]s 7k2m", one.verb),
			Args:    cobra.MaximumNArgs(1), ValidArgsFunction: arguments.CompleteRun(pl.Fleet.App, 1),
			RunE: func(cmd *cobra.Command, args []string) error {
				name := ""
				if len(args) > 0 {
					name = args[0]
				}
				return s.say(cmd, name, rollout.Command{Verb: one.verb}, one.withoutAnybody)
			},
		})
	}
	c.AddCommand(&cobra.Command{
		Use: "release [RUN] HOST", Short: "stop counting a host as unavailable",
		Long: `ccm-push rollout release makes a host count as available again. A host counts as unavailable
(max_unavailable) if it was lost, has failed, or was unhealthy before the rollout. Repair the host
first. If the host has failed, the failure still counts for the failure limits.`,
		Example: "  ccm-push rollout release web3\n  ccm-push rollout release 7k2m web3",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 2 {
				return fmt.Errorf("release takes a RUN and a HOST, but got %d arguments", len(args))
			}
			return arguments.AtLeast(1)(cmd, args)
		},
		ValidArgsFunction: completeRelease(pl.Fleet.App),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, host := "", args[len(args)-1]
			if len(args) > 1 {
				name = args[0]
			}
			return s.say(cmd, name, rollout.Command{Verb: rollout.ReleaseHost, Host: host}, func(_ *cobra.Command, run *record.Run) error {
				return s.notRunning(run, "no host counts as unavailable; ccm-push resume queries each host again")
			})
		},
	})
	return c
}

// completeRelease completes a run, and then one of its hosts.
func completeRelease(a *app.App) arguments.Completer {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) != 1 {
			return arguments.CompleteRun(a, 1)(cmd, args, word)
		}
		var hosts []string
		if run, err := a.RecordedRun(args[0]); err == nil {
			for _, play := range run.Plays {
				hosts = append(hosts, play.Hosts...)
			}
		}
		slices.Sort(hosts)
		return arguments.Completions("", word, slices.Compact(hosts)), cobra.ShellCompDirectiveNoFileComp
	}
}

// A steer sends commands to rollouts.
type steer struct {
	plays   *fleet.Plays
	printer *output.Printer
}

// say sends a command to a rollout and prints its status afterwards. If no process runs the rollout, it calls
// withoutAnybody.
func (s *steer) say(cmd *cobra.Command, name string, c rollout.Command, withoutAnybody func(*cobra.Command, *record.Run) error) error {
	store, err := s.plays.Fleet.App.Records()
	if err != nil {
		return err
	}
	run, err := findRollout(store, name)
	if err != nil {
		return err
	}
	if c.By, err = whoSays(); err != nil {
		return err
	}
	reply, err := control.Send(cmd.Context(), store.FolderOf(run.Run), c)
	switch {
	case errors.Is(err, control.ErrNobody):
		return withoutAnybody(cmd, run)
	case err != nil:
		return fmt.Errorf("speaking to run %s: %w", run.Run, err)
	case reply.Error != "":
		return fmt.Errorf("run %s: %s", run.Run, events.Line(reply.Error))
	case reply.Status == nil:
		return fmt.Errorf("run %s has not answered", run.Run)
	}
	return s.print(run, reply.Status)
}

// findRollout returns the run with a name. Without a name it returns the newest run that listens, or else the newest
// run of manifests that was not a check run.
func findRollout(store record.Store, name string) (*record.Run, error) {
	if name != "" {
		return store.Find(name)
	}
	listens := func(r *record.Run) bool {
		return control.Listens(store.FolderOf(r.Run)) && r.Outcome() == record.Running
	}
	run, err := store.Last(listens)
	if errors.Is(err, record.ErrNone) {
		run, err = store.Last(func(r *record.Run) bool { return len(r.Manifests) > 0 && !r.Check && r.Undoes == "" })
		if err != nil {
			return nil, err
		}
		undo, err := store.UndoneBy(run)
		if undo != nil {
			err = fmt.Errorf("run %s was undone by run %s\n  hint: pass the id of a run; ccm-push runs lists all ids", run.Run, undo.Run)
		}
		return run, err
	}
	if err != nil {
		return nil, err
	}
	other, otherErr := store.Last(func(r *record.Run) bool { return r.Run != run.Run && listens(r) })
	if otherErr == nil {
		return nil, fmt.Errorf("more than one rollout is in progress: %s (%s) and %s (%s)\n  hint: pass the id of one run", run.Run, run.What, other.Run, other.What)
	}
	return run, nil
}

// whoSays returns the sender of commands: USER@MACHINE.
func whoSays() (string, error) {
	account, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("finding out who runs this: %w", err)
	}
	who, _, _ := strings.Cut(app.Holder(account), " ")
	return who, nil
}

// recorded prints the recorded status of a rollout.
func (s *steer) recorded(run *record.Run) error {
	if err := ended(run); err != nil {
		return fmt.Errorf("%w; it has no rollout, or does not listen yet", err)
	}
	status, err := run.Rollout()
	if err != nil {
		return err
	}
	return s.print(run, status)
}

// notRunning returns the error for a command to a rollout that no program runs, with a hint.
func (s *steer) notRunning(run *record.Run, instead string) error {
	if err := ended(run); err != nil {
		return fmt.Errorf("%w; it has no rollout, or does not listen yet", err)
	}
	return fmt.Errorf("run %s: %w (%s)\n  hint: %s", run.Run, control.ErrNobody, run.Outcome(), instead)
}

func (s *steer) print(run *record.Run, status *rollout.Status) error {
	if s.printer.JSON() {
		return output.PrintJSON(s.printer, status)
	}
	return s.printer.Print(statusText(run, status))
}

// statusText returns the status of a rollout for people.
func statusText(run *record.Run, s *rollout.Status) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	state := string(s.State)
	if s.State == rollout.Ended {
		state += " (" + string(run.Outcome()) + ")"
	}
	if !s.Since.IsZero() {
		state += " since " + s.Since.Local().Format("2006-01-02 15:04:05")
	}
	line("run %s of %s: %s", run.Run, events.Line(run.What), state)
	if s.State == rollout.Predicting {
		line("rollout of %s: checking which hosts will change", events.Line(s.Play))
	} else {
		line("rollout of %s: batch %d of %d; of %d hosts that change: %d finished, %d in progress, %d not started; %d stable",
			events.Line(s.Play), s.Batch, s.Batches, s.ToChange, s.Done, len(s.AtWork), s.Waiting, s.Stable)
	}
	for _, one := range []struct {
		what  string
		hosts []string
	}{{"in progress", s.AtWork}, {"failed", s.Failed}, {"could not be reached, or lost", s.Unreachable}} {
		if len(one.hosts) > 0 {
			names, more := events.Fold(one.hosts, 200)
			if names = events.Line(names); more > 0 {
				names += fmt.Sprintf(" and %d more", more)
			}
			line("  %s: %s", one.what, names)
		}
	}
	for _, h := range s.Held {
		line("  counts as out: %s %s", events.Line(h.Host), events.Line(h.Why))
	}
	if s.Stop != nil {
		at := ""
		if s.Stop.Batch > 0 {
			at = fmt.Sprintf(" in batch %d", s.Stop.Batch)
		}
		line("stopped%s by %s", at, events.Line(s.Stop.String()))
	}
	if next := whatNext(s); next != "" {
		line("next: %s", next)
	}
	return b.String()
}

// whatNext returns the commands that apply to a rollout now.
func whatNext(s *rollout.Status) string {
	release := ""
	if len(s.Held) > 0 {
		release = ", release " + s.Run + " HOST"
	}
	switch {
	case s.State == rollout.Ended && s.Waiting+len(s.AtWork)+len(s.Failed)+len(s.Unreachable) == 0:
		return ""
	case s.State == rollout.Ended:
		return fmt.Sprintf("ccm-push resume %[1]s, or undo %[1]s", s.Run)
	case s.State == rollout.HeldState, s.State == rollout.Paused, s.Stop != nil:
		return fmt.Sprintf("ccm-push rollout go %s, or end, undo%s", s.Run, release)
	}
	return fmt.Sprintf("ccm-push rollout hold %s, or end, undo%s", s.Run, release)
}
