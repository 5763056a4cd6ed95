package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/record"
)

func undoCommand(f *fleet, chosen *selectionFlags, p *printer) *cobra.Command {
	return &cobra.Command{
		Use:   "undo [RUN] [TYPE#NAME...]",
		Short: "take back what a run has changed, as far as nobody has changed it since",
		Long: `undo puts back what was there before a recorded run: files, links, directories, their
owners and modes, lines, cron entries, services, archives and scaffolds; users and groups
that the run has made are removed. Each host has kept that before its first change. It goes
backwards, and refreshes again what the run had refreshed. Without RUN it is the last run
that has changed something; with TYPE#NAME it is about those resources alone, and with
--limit about some of the hosts.

What is not as the run left it is left as it is, and named; its host has failed then.
Packages are neither downgraded nor removed, and commands are not undone: they are named.
Inventory and connection are those of that run; options that are given count over them.
--check tells what would be done.

An undo is a run, too: it can be taken back by its own id.`,
		Example: `  ccm-push undo --check --diff
  ccm-push undo last
  ccm-push undo 7k2m --limit 'web*'
  ccm-push undo 7k2m file#/etc/motd`,
		ValidArgsFunction: completeRun(f.app, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(chosen.refuse("undo"), f.rollout.refuse("undo")); err != nil {
				return err
			}
			if f.mode.step {
				return errors.New("--step is for runs of manifests and ad-hoc calls; ccm-push undo --check says what undo would do")
			}
			run := ""
			if len(args) > 0 && !strings.Contains(args[0], "#") {
				run, args = args[0], args[1:]
			}
			return f.undo(cmd.Context(), p, cmd.Flags(), run, args)
		},
	}
}

// undo takes a run back, or the resources of it that are named.
func (f *fleet) undo(ctx context.Context, p *printer, set *pflag.FlagSet, name string, only []string) error {
	for _, ref := range only {
		typ, of, _ := strings.Cut(ref, "#")
		if _, known := f.app.registry.Lookup(typ); !known || of == "" {
			return fmt.Errorf("%q names no resource: write TYPE#NAME, such as file#/etc/motd", ref)
		}
	}
	store, err := f.app.records()
	if err != nil {
		return err
	}
	run, err := findUndoable(store, name)
	if err != nil {
		return err
	}
	list, err := run.Undo(only)
	if err != nil {
		return err
	}
	if err := f.returnTo(run, set); err != nil {
		return err
	}
	var manifests []string // beside which variables of hosts may stand
	for _, m := range run.Manifests {
		if !m.Withheld {
			manifests = append(manifests, m.Path)
		}
	}
	r, err := f.runner(ctx, purpose{manifests: manifests, adHoc: true})
	if err != nil {
		return err
	}
	defer r.Dialer.Close()
	var hosts []string
	for _, play := range list {
		hosts = append(hosts, play.Undo.Hosts...)
	}
	if err := f.lookFor(r.Inventory, run, hosts, "undo"); err != nil {
		return err
	}
	r.Plays = list
	h := record.Header{Command: "undo", What: "undo of " + run.What, Undoes: run.Run}
	f.app.say(fmt.Sprintf("undoing run %s of %s: %s", run.Run, run.Started.Local().Format("2006-01-02 15:04:05"), events.Line(run.What)))
	to := []events.Reporter{p.reporter(r, events.TextOptions{Trust: f.trustCommand})}
	return f.run(ctx, r, p, h, append(to, f.recorder(r, h)...)...)
}

// lookFor warns of hosts of a run that the inventory has no more. That it has none of them is an
// error: it is the wrong one, most likely. what is the command that needs them.
func (f *fleet) lookFor(inv *inventory.Inventory, run *record.Run, hosts []string, what string) error {
	var gone []string
	there := false
	for _, h := range hosts {
		if inv.Host(h) != nil {
			there = true
		} else if !slices.Contains(gone, h) {
			gone = append(gone, h)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	names, more := events.Fold(gone, 200)
	if more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	if names = events.Line(names); !there {
		return fmt.Errorf("the inventory has none of the hosts of run %s: %s\n  hint: say which inventory has them: ccm-push %s %s -i hosts.yaml", run.Run, names, what, run.Run)
	}
	f.app.warn(fmt.Sprintf("the inventory has these hosts of run %s no more, and %s leaves them out: %s", run.Run, what, names))
	return nil
}

// findUndoable gives the run with a name, or the last one that has changed something.
func findUndoable(store record.Store, name string) (*record.Run, error) {
	if name != "" {
		run, err := store.Find(name)
		if err != nil {
			return nil, err
		}
		return run, ended(run)
	}
	run, err := store.Last(func(r *record.Run) bool {
		_, err := r.Undo(nil)
		return err == nil
	})
	switch {
	case errors.Is(err, record.ErrNone):
		return nil, fmt.Errorf("there is nothing to undo: no recorded run has changed anything")
	case err == nil && run.Undoes != "":
		return nil, fmt.Errorf("the last run that has changed something has undone run %s; to take that back: ccm-push undo %s\n  hint: ccm-push runs lists all, for another one", run.Undoes, run.Run)
	}
	return run, err
}

// notForUndo are flags of a run that say nothing of how its hosts are reached.
var notForUndo = []string{
	"limit", "check", "diff", "strict", "tags", "skip-tags", "extra-vars", "facts", "fact", "hiera", "parameters",
	"list-hosts", "list-resources", "start-at", "compile-first", "resources", "no-record", "no-read-env",
	"output", "color", "verbose", "quiet", "fold", "detailed-exitcode", "timing", "follow", "stream", "progress", "metrics", "trace", "step",
	"rollout", "canary", "include-broken", "yes", "hold",
}

// returnTo gives the program the folder of a run, and its options that say which hosts there
// are and how they are reached.
func (f *fleet) returnTo(run *record.Run, set *pflag.FlagSet) error {
	switch err := changeTo(run, set); {
	case errors.Is(err, fs.ErrNotExist) && set.Changed("inventory"): // nothing else is needed of it
		f.app.warn(err.Error())
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w\n  hint: say where the inventory is now: ccm-push undo %s -i hosts.yaml", err, run.Run)
	case err != nil:
		return err
	}
	flags := slices.DeleteFunc(slices.Clone(run.Flags), func(f record.Flag) bool { return slices.Contains(notForUndo, f.Name) })
	if err := givenAgain(run, flags, set); err != nil {
		return err
	}
	return applyFlags(set, flags)
}
