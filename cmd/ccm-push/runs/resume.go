package runs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/inputs"
	"github.com/ccm-push/ccm-push/playbooks/record"
)

func resumeCommand(pl *fleet.Plays, p *output.Printer) *cobra.Command {
	var replan bool
	c := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "continue a run that was interrupted or in which hosts failed",
		Long: `ccm-push resume runs the manifests of a recorded run again, on the hosts that have failed or have
not finished. It does not contact hosts that finished without a failure. It uses the options and the
folder of the recorded run. If the run uses batches (serial), it continues with the batch in which
it ended. If a host fails again, the next resume runs the host again, in the same batch.

Without RUN, or with the word last, ccm-push resumes the last run that applied manifests. To resume
a check run, a run of health checks or an undone run, pass the id of the run. On hosts that
ccm-push undo restored, ccm-push resume runs the manifests again. If the undo could not reverse a
command (exec), ccm-push resume does not repeat this command.

Values of -e are not recorded, so pass them again. Options that you pass override the recorded
options. If a manifest or one of its files has changed, ccm-push prints the name of the file and
ends. To use the new version, pass --replan.`,
		Example: `  ccm-push resume
  ccm-push resume --replan
  ccm-push resume 7k2m -e version=1.2.3`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: arguments.CompleteRun(pl.Fleet.App, 1, func(r *record.Run) bool { return len(r.Manifests) > 0 }),
		RunE: func(cmd *cobra.Command, args []string) error {
			if pl.Fleet.Flags.Mode.Step {
				return errors.New("--step is for whole runs: resume does not prompt")
			}
			run := ""
			if len(args) > 0 {
				run = args[0]
			}
			return resume(cmd.Context(), pl, p, cmd.Flags(), run, replan)
		},
	}
	c.Flags().BoolVar(&replan, "replan", false, "continue with the changed manifests")
	return c
}

// resume resumes a run.
func resume(ctx context.Context, p *fleet.Plays, out *output.Printer, set *pflag.FlagSet, name string, replan bool) error {
	store, err := p.Fleet.App.Records()
	if err != nil {
		return err
	}
	run, err := findResumable(store, name)
	if errors.Is(err, record.ErrNone) && p.Fleet.Flags.Workers.URL != "" {
		var fetched string
		if fetched, err = p.Fleet.Workers.Fetch(ctx, store, name); err == nil {
			run, err = findResumable(store, fetched)
		}
	}
	if err != nil {
		return err
	}
	progress, err := run.Progress(store)
	if err != nil {
		return err
	}
	if progress.Complete() {
		return fmt.Errorf("nothing to resume: every host of run %s (%s) has finished", run.Run, run.What)
	}
	given := p.Fleet.Flags.Given()
	command := []string{"resume", run.Run}
	replanned := asGiven(append(slices.Clone(command), "--replan"), given, run, "")
	if replan {
		command = append(command, "--replan")
	}
	elsewhere := asGiven(command, given, run, "inventory", "-i", "hosts.yaml")
	if err := returnTo(run, set); err != nil {
		return err
	}
	changed, err := changedManifests(run)
	if err != nil {
		return err
	}
	if len(changed) > 0 && !replan {
		return fmt.Errorf("files have changed since run %s: %s\n  hint: check the change, then resume with the new version: %s",
			run.Run, strings.Join(changed, ", "), replanned)
	}
	if err := p.Fleet.Workers.Take(ctx, run); err != nil {
		return err
	}
	var paths []string
	for _, m := range run.Manifests {
		paths = append(paths, m.Path)
	}
	r, err := p.Runner(ctx, paths)
	if err != nil {
		return err
	}
	defer r.Dialer.Close()
	var hosts []string
	for _, play := range run.Plays {
		hosts = append(hosts, play.Hosts...)
	}
	if err := lookFor(r.Inventory, run, hosts, "resume", elsewhere, p.Fleet.App.Warn); err != nil {
		return err
	}
	var names []string
	for _, play := range r.Plays {
		names = append(names, play.Name)
	}
	r.Options.Progress = progress.For(names)
	if r.Options.Origin, err = store.Next(run); err != nil {
		return err
	}
	r.Options.Monitor = run.Command == "check-health"
	h := fleet.Header(run.Command, paths, r.Plays)
	h.Resumes, h.Origin = run.Run, r.Options.Origin
	p.Fleet.App.Say(fmt.Sprintf("resuming run %s of %s: %s", run.Run, run.Started.Local().Format("2006-01-02 15:04:05"), events.Line(run.What)))
	return p.Run(ctx, r, out, h)
}

// findResumable returns the run with a name, or the last one that applied manifests: after a --check run, the operator
// still means the failed run before it.
func findResumable(store record.Store, name string) (*record.Run, error) {
	ofManifests := func(r *record.Run) bool { return len(r.Manifests) > 0 }
	if name == "" || name == "last" {
		run, err := store.Last(func(r *record.Run) bool { return r.Applied() })
		if err != nil {
			return nil, err
		}
		if err := ended(run); err != nil {
			return nil, err
		}
		undo, err := store.UndoneBy(run)
		if undo == nil || err != nil {
			return run, err
		}
		hint := "ccm-push resume " + run.Run + " applies it again"
		if undo.Outcome() != record.OK {
			hint = arguments.Pasted(continuing(store, undo.Header)) + " continues the undo, which ended as " + string(undo.Outcome()) + "; " + hint
		}
		undone := "was undone"
		if undo.Partial() {
			undone = "was undone in part"
		}
		return nil, fmt.Errorf("run %s (%s) %s by run %s; without RUN, resume does not apply an undone run again\n  hint: %s", run.Run, run.What, undone, undo.Run, hint)
	}
	run, err := store.Find(name)
	switch {
	case err != nil:
		return nil, err
	case run.Undoes != "":
		return nil, fmt.Errorf("run %s is an undo, which resume does not continue\n  hint: %s", run.Run, arguments.Pasted(continuing(store, run.Header)))
	case !ofManifests(run):
		return nil, fmt.Errorf("run %s was an ad-hoc call, which cannot be resumed: run the same command again with --limit @%s:failed", run.Run, run.Run)
	}
	return run, ended(run)
}

// ended reports a run that is still under way.
func ended(run *record.Run) error {
	if run.Outcome() == record.Running {
		return fmt.Errorf("run %s is still in progress: %s@%s, pid %d", run.Run, run.User, run.Host, run.PID)
	}
	return nil
}

// returnTo sets the folder and the options of the program to the values of a run.
func returnTo(run *record.Run, set *pflag.FlagSet) error {
	// The hosts that the limit selected are recorded one by one; and there are no prompts again.
	recorded := slices.DeleteFunc(slices.Clone(run.Flags), func(f record.Flag) bool { return slices.Contains([]string{"limit", "step", "detach"}, f.Name) })
	if err := givenAgain(run, recorded, set); err != nil {
		return err
	}
	for _, m := range run.Manifests {
		if m.Withheld {
			return fmt.Errorf("run %s applied the URL %s, but the record has only a part of the URL: run the command again, for example with --limit @%s:notstarted", run.Run, m.Path, run.Run)
		}
	}
	if err := flags.ChangeTo(run, set); err != nil {
		return err
	}
	return flags.Apply(set, recorded)
}

// givenAgain reports flags of a run that had values which are not recorded, and that are not
// given now.
func givenAgain(run *record.Run, flags []record.Flag, set *pflag.FlagSet) error {
	given := func(f record.Flag) bool { return set.Changed(f.Name) }
	if missing := fleet.Withheld(slices.DeleteFunc(slices.Clone(flags), given)); len(missing) > 0 {
		return fmt.Errorf("run %s got values with %s, which are not recorded: pass them again", run.Run, strings.Join(missing, ", "))
	}
	return nil
}

// changedManifests returns the files that the run has read and that have changed since: manifests, and what
// these have read.
func changedManifests(run *record.Run) ([]string, error) {
	var changed []string
	named := map[string]bool{}
	for _, m := range slices.Concat(run.Manifests, run.Files) {
		if m.SHA256 != "" && fleet.HashOf(m.Path) != m.SHA256 {
			changed = append(changed, strconv.Quote(m.Path))
		}
		if path, err := filepath.Abs(m.Path); err == nil {
			named[path] = true
		}
	}
	read, err := run.Inputs()
	for _, path := range slices.Sorted(maps.Keys(read)) {
		if !named[path] && inputs.Hash(path) != read[path] {
			if short, err := filepath.Rel(run.Directory, path); err == nil && filepath.IsLocal(short) {
				path = short
			}
			changed = append(changed, strconv.Quote(path))
		}
	}
	return changed, err
}
