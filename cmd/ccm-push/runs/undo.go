package runs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/record"
)

func undoCommand(f *fleet.Fleet, p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "undo [RUN] [TYPE#NAME...]",
		Short: "restore the state before a run",
		Long: `ccm-push undo restores the state before a recorded run: files, links, directories, owners, modes,
lines, cron entries, services, archives and scaffolds. Users and groups that the run created are
removed. Each host saved the old state before its first change. ccm-push undoes resources in reverse
order, and restarts each service that the run restarted. If you resumed the run, ccm-push also
undoes the changes after the resume.

Without RUN, or with the word last, ccm-push undoes the last run that changed something. If the last
run was an undo that failed or was interrupted, ccm-push continues the undo. On a terminal, ccm-push
prints its plan and prompts, unless you pass --yes. Without a terminal, name the RUN. With
TYPE#NAME, ccm-push undoes only this resource; with --limit, only these hosts.

If a resource has changed since the run, ccm-push does not undo it, and the host counts as failed.
Packages and commands (exec) are not undone; ccm-push only lists them. ccm-push undo uses the
inventory and the connection settings of the run, unless you pass other options. --check prints the
plan. An undo is a recorded run, too. To reverse an undo, pass its id to ccm-push undo.`,
		Example: `  ccm-push undo --check --diff
  ccm-push undo
  ccm-push undo last --yes
  ccm-push undo 7k2m --limit 'web*'
  ccm-push undo 7k2m file#/etc/motd`,
		ValidArgsFunction: arguments.CompleteRun(f.App, 1, func(r *record.Run) bool { return !r.Check && !r.AdHoc }),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(f.Flags.RefuseSelection("undo"), f.Flags.RefuseRollout("undo")); err != nil {
				return err
			}
			if f.Flags.Mode.Step {
				return errors.New("--step is for runs of manifests and ad-hoc calls; ccm-push undo --check prints the plan of undo")
			}
			run := ""
			if len(args) > 0 && !strings.Contains(args[0], "#") {
				run, args = args[0], args[1:]
			}
			u := &undoCall{fleet: f, printer: p, set: cmd.Flags(), name: run, only: args}
			return u.run(cmd.Context())
		},
	}
}

// An undoCall is a call of ccm-push undo.
type undoCall struct {
	fleet   *fleet.Fleet
	printer *output.Printer
	set     *pflag.FlagSet // which the options of the run are added to
	name    string         // name of the run; empty means the last one
	only    []string       // resources, given or of the undo that continues; empty means all
}

// run undoes a run, or the named resources of it.
func (u *undoCall) run(ctx context.Context) error {
	f := u.fleet
	for _, ref := range u.only {
		typ, of, _ := strings.Cut(ref, "#")
		if _, known := f.App.Registry.Lookup(typ); !known || of == "" {
			return fmt.Errorf("%q is not a reference to a resource: write TYPE#NAME, such as file#/etc/motd", ref)
		}
	}
	store, err := f.App.Records()
	if err != nil {
		return err
	}
	run, part, err := u.find(store)
	if err != nil {
		return err
	}
	if len(u.only) == 0 {
		u.only = part
	}
	list, runs, err := store.Undo(run, u.only)
	if err != nil {
		return err
	}
	for _, one := range runs {
		if err := ended(one); err != nil {
			return err
		}
	}
	run = runs[0]
	elsewhere := asGiven(append([]string{"undo", run.Run}, u.only...), f.Flags.Given(), run, "inventory", "-i", "hosts.yaml")
	if err := u.returnTo(run, elsewhere); err != nil {
		return err
	}
	var manifests []string // paths; variables of hosts may be next to them
	for _, m := range run.Manifests {
		if !m.Withheld {
			manifests = append(manifests, m.Path)
		}
	}
	r, err := f.Runner(ctx, fleet.Purpose{Manifests: manifests, AdHoc: true})
	if err != nil {
		return err
	}
	defer r.Dialer.Close()
	var hosts []string
	for _, play := range list {
		hosts = append(hosts, play.Undo.Hosts...)
	}
	if err := lookFor(r.Inventory, run, hosts, "undo", elsewhere, f.App.Warn); err != nil {
		return err
	}
	r.Plays = list
	h := record.Header{Command: "undo", What: "undo of " + run.What, Undoes: run.Run, UndoesOnly: u.only}
	for _, one := range runs[1:] {
		h.UndoesToo = append(h.UndoesToo, one.Run)
	}
	h.Flags = f.Record.Given()
	words := continuing(store, h)
	f.App.Say(fmt.Sprintf("undoing run %s of %s: %s%s", run.Run, run.Started.Local().Format("2006-01-02 15:04:05"), events.Line(run.What), resumedBy(runs[1:])))
	if !f.Flags.Mode.Check && !f.Flags.Inventory.ListHosts {
		if err := u.confirm(ctx, runs, arguments.Pasted(words)); err != nil {
			return err
		}
	}
	to := []events.Reporter{u.printer.Reporter(r, events.TextOptions{Trust: f.TrustCommand, Recorded: !f.Flags.Record.None, Again: fleet.Withheld(ownFlags(store, h)), Resume: arguments.Pasted(words)})}
	return f.Run(ctx, r, u.printer, h, append(to, f.Record.Reporters(r, h)...)...)
}

// lookFor warns of hosts of a run that the inventory no longer has. If it has none of them, it is most likely the wrong
// inventory: that is an error. what is the name of the command, and elsewhere the whole command with another inventory.
func lookFor(inv *inventory.Inventory, run *record.Run, hosts []string, what, elsewhere string, warn func(string)) error {
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
		return fmt.Errorf("the inventory has none of the hosts of run %s: %s\n  hint: pass the inventory that contains these hosts: %s", run.Run, names, elsewhere)
	}
	warn(fmt.Sprintf("the inventory no longer contains some hosts of run %s; %s skips these hosts: %s", run.Run, what, names))
	return nil
}

// resumedBy is ", resumed by run X".
func resumedBy(runs []*record.Run) string {
	if len(runs) == 0 {
		return ""
	}
	var ids []string
	for _, r := range runs {
		ids = append(ids, r.Run)
	}
	return ", resumed by " + strings.Join(ids, ", ")
}

// previewed is the maximum number of resources that are listed before an undo.
const previewed = 20

// confirm prints on a terminal the changes of an undo, and prompts for confirmation. Without a terminal the run must be
// named, as in command.
func (u *undoCall) confirm(ctx context.Context, runs []*record.Run, command string) error {
	f := u.fleet
	switch {
	case f.Flags.Rollout.Yes:
		return nil
	case !f.App.CanAsk() && u.name != "":
		return nil
	case !f.App.CanAsk():
		return fmt.Errorf("undo without RUN prompts for confirmation, and standard input is not a terminal\n  hint: %s", command)
	}
	hosts := map[string][]string{}
	var refs []string
	for _, run := range slices.Backward(runs) {
		err := run.Changed(u.only, func(ref, host string) {
			if hosts[ref] == nil {
				refs = append(refs, ref)
			}
			if !slices.Contains(hosts[ref], host) {
				hosts[ref] = append(hosts[ref], host)
			}
		})
		if err != nil {
			return err
		}
	}
	var b strings.Builder
	for i, ref := range refs {
		if i == previewed {
			fmt.Fprintf(&b, "  … %d more (all: ccm-push runs show %s)\n", len(refs)-i, runs[0].Run)
			break
		}
		names, more := events.Fold(hosts[ref], 60)
		if more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		stays := ""
		if !restorable(f.App.Registry, ref) {
			stays = "  (cannot be undone, stays)"
		}
		fmt.Fprintf(&b, "  %s  %s%s\n", events.Line(names), app.ShortWhat(ref), stays)
	}
	if f.Flags.Inventory.Limit != "" {
		fmt.Fprintf(&b, "  only on hosts of --limit %s\n", events.Line(f.Flags.Inventory.Limit))
	}
	answer, err := f.App.AskLine(ctx, "this restores the state before these changes:\n"+b.String()+"undo them? (yes/no) ")
	if err != nil {
		return err
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("nothing was undone: the answer was not yes")
	}
	return nil
}

// restorable reports whether changes of a resource can be undone, as far as its type declares it.
func restorable(types modules.Registry, ref string) bool {
	name, _, _ := strings.Cut(ref, "#")
	typ, known := types.Lookup(name)
	if !known {
		return false
	}
	of := typ.New()
	_, reverses := of.(modules.Reverser)
	_, lasts := of.(modules.Lasting)
	return reverses && !lasts
}

// find returns the run with the name of the call. Without one, and for last, it is the last run that changed
// something; if that was an undo which did not come through, or was limited, it is the run that this was undoing.
// part names the resources of an undo that failed and was limited to them.
func (u *undoCall) find(store record.Store) (run *record.Run, part []string, err error) {
	f, name := u.fleet, u.name
	if name != "" && name != "last" {
		run, err := store.Find(name)
		if err != nil {
			return nil, nil, err
		}
		return run, nil, ended(run)
	}
	whole := map[string]bool{} // runs with an undo, later than those looked at, that came through
	run, err = store.Last(func(r *record.Run) bool {
		if r.Check {
			return false
		}
		_, err := r.Undo(nil)
		whole[r.Undoes] = whole[r.Undoes] || r.Outcome() == record.OK && !r.Partial()
		return err == nil
	})
	switch {
	case errors.Is(err, record.ErrNone):
		return nil, nil, fmt.Errorf("nothing to undo: no recorded run has changed anything")
	case err != nil:
		return nil, nil, err
	case run.Undoes == "":
		return run, nil, ended(run)
	case whole[run.Undoes]:
		return nil, nil, fmt.Errorf("the last run that changed something was an undo of run %s\n  hint: to revert the undo: ccm-push undo %s; to list all runs: ccm-push runs", run.Undoes, run.Run)
	}
	if err := ended(run); err != nil {
		return nil, nil, err
	}
	switch only := events.Line(strings.Join(run.UndoesOnly, " ")); {
	case only == "":
		f.App.Say(fmt.Sprintf("continuing undo %s (%s)", run.Run, run.Outcome()))
	case run.Outcome() == record.OK:
		f.App.Say(fmt.Sprintf("undo %s of run %s was limited to %s", run.Run, run.Undoes, only))
	default:
		f.App.Say(fmt.Sprintf("continuing undo %s (%s) of %s", run.Run, run.Outcome(), only))
		part = run.UndoesOnly
	}
	run, err = store.Find(run.Undoes)
	return run, part, err
}

// notForUndo are flags of a run that say nothing of how its hosts are reached.
var notForUndo = []string{
	"limit", "check", "diff", "strict", "tags", "skip-tags", "extra-vars", "facts", "fact", "hiera", "parameters",
	"list-hosts", "list-resources", "start-at", "compile-first", "resources", "no-record", "no-read-env",
	"output", "color", "verbose", "quiet", "fold", "detailed-exitcode", "timing", "follow", "stream", "progress", "metrics", "trace", "step",
	"rollout", "canary", "include-broken", "yes", "hold", "session", "require", "subscribe", "alias",
}

// returnTo sets the folder of the program to the folder of a run, and the options that select and reach hosts.
// elsewhere is the command with another inventory.
func (u *undoCall) returnTo(run *record.Run, elsewhere string) error {
	switch err := flags.ChangeTo(run, u.set); {
	case errors.Is(err, fs.ErrNotExist) && u.set.Changed("inventory"): // nothing else is needed of it
		u.fleet.App.Warn(err.Error())
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w\n  hint: pass the new place of the inventory: %s", err, elsewhere)
	case err != nil:
		return err
	}
	recorded := slices.DeleteFunc(slices.Clone(run.Flags), func(f record.Flag) bool { return slices.Contains(notForUndo, f.Name) })
	if err := givenAgain(run, recorded, u.set); err != nil {
		return err
	}
	return flags.Apply(u.set, recorded)
}
