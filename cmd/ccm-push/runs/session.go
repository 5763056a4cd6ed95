package runs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/app"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/flags"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/reference"
	"github.com/ccm-push/ccm-push/playbooks/record"
)

// Sessions finds the earlier calls of the session of an ad-hoc call.
type Sessions struct {
	App   *app.App
	Flags *flags.All
}

// Check checks the flags for an ad-hoc call of a resource of a type.
func (f *Sessions) Check(t modules.Type, query string) error {
	switch {
	case query != "" && (f.Flags.Session.Relates() || f.Flags.Session.Alias != ""):
		return fmt.Errorf("%s %s only queries hosts: remove --require, --subscribe and --alias", t.Name, query)
	case f.Flags.Session.Name == "" && f.Flags.Session.Relates():
		return errors.New("--require and --subscribe need a session\n  hint: eval \"$(ccm-push session new)\" starts a session, or pass --session NAME")
	case f.Flags.Session.Name != "" && f.Flags.Record.None:
		return fmt.Errorf("%s: a session is made of recorded calls: remove --no-record", f.Flags.SessionFrom())
	case f.Flags.Session.Name != "" && f.Flags.Detach.Asked:
		return fmt.Errorf("%s: later calls of a session need the result of this one: remove --detach", f.Flags.SessionFrom())
	}
	if _, ok := t.New().(modules.Refresher); !ok && len(f.Flags.Session.Subscribe) > 0 {
		return fmt.Errorf("a resource of type %s cannot be refreshed, so --subscribe has no effect\n  hint: pass --require instead of --subscribe", t.Name)
	}
	var errs yamlpos.Errors
	for _, flag := range []struct {
		name string
		refs []string
	}{{"--require", f.Flags.Session.Require}, {"--subscribe", f.Flags.Session.Subscribe}} {
		for _, ref := range flag.refs {
			n := yamlpos.From(&yamlpos.Node{File: flag.name}, ref)
			typeName, _, err := reference.Parse(n)
			if _, known := f.App.Registry.Lookup(typeName); err == nil && !known {
				err = reference.UnknownType(f.App.Registry, n, typeName)
			}
			errs.Add(err)
		}
	}
	return errs.Err()
}

// Earlier returns the effects of the earlier calls on this one, by host. It refuses resources that no earlier call has.
func (f *Sessions) Earlier(r *playbooks.Runner, pattern string) (map[string]manifest.Earlier, error) {
	if !f.Flags.Session.Relates() {
		return nil, nil
	}
	store, err := f.App.Records()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Flags.SessionFrom(), err)
	}
	session, err := store.Session(f.Flags.Session.Name)
	if err != nil {
		return nil, err
	}
	results, err := session.Results(r.Options.Check)
	if err != nil {
		return nil, err
	}
	for _, ref := range slices.Concat(f.Flags.Session.Require, f.Flags.Session.Subscribe) {
		if results[ref] == nil {
			return nil, f.unknown(ref, results)
		}
	}
	hosts, err := playbooks.SelectHosts(r.Inventory, pattern, r.Options.Limit, func(string) {}) // the run prints the warnings
	if err != nil {
		return nil, err
	}
	all := map[string]manifest.Earlier{}
	for _, h := range hosts {
		all[h.Name] = results.Earlier(h.Name, f.Flags.Session.Require, f.Flags.Session.Subscribe)
	}
	return all, nil
}

// unknown returns the error of a resource that no earlier call of the session has.
func (f *Sessions) unknown(ref string, results record.SessionResults) error {
	known := slices.Sorted(maps.Keys(results))
	hint := "this session has no results yet; results of check runs count only in other check runs"
	if near := yamlpos.Suggest(ref, known); near != "" {
		hint = "did you mean " + near + "?"
	} else if len(known) > 0 {
		const most = 5
		hint = "it has " + events.Line(strings.Join(known[:min(most, len(known))], ", "))
		if len(known) > most {
			hint += ", …"
		}
	}
	return fmt.Errorf("no earlier call of session %s has %s\n  hint: %s", f.Flags.Session.Name, events.Line(ref), hint)
}

// Complete completes the name of a session, or with results the resources of the current one.
func (f *Sessions) Complete(results bool) arguments.Completer {
	return func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		var names []string
		store, err := record.In(f.App.Getenv)
		runs, listErr := store.List()
		switch name := cmp.Or(f.Flags.Session.Name, f.App.Getenv(flags.SessionVariable)); {
		case err != nil || listErr != nil: // unreadable records have no completions
		case results:
			session, _ := store.Session(name)
			last, _ := session.Results(true)
			names = slices.Sorted(maps.Keys(last))
		default:
			for _, r := range runs {
				names = append(names, r.Session)
			}
			names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
		}
		return arguments.Completions("", word, names), cobra.ShellCompDirectiveNoFileComp
	}
}

func sessionCommand(f *Sessions, p *output.Printer) *cobra.Command {
	c := &cobra.Command{
		Use:   "session",
		Short: "make calls without a manifest depend on results of earlier calls",
		Long: `A session connects the ad-hoc calls of a script (calls without a manifest), so that later calls can
depend on the results of earlier calls. The name of the session is $CCM_PUSH_SESSION, or the value
of --session.

With --require TYPE#NAME, a call skips the hosts where this resource failed in an earlier call. With
--subscribe TYPE#NAME, a call restarts its service, or runs its command (exec), on the hosts where
this resource changed in an earlier call.`,
		Example: `  eval "$(ccm-push session new)"
  ccm-push web package nginx
  ccm-push --require package#nginx web file /etc/nginx/nginx.conf source=nginx.conf
  ccm-push --subscribe file#/etc/nginx/nginx.conf web service nginx
  ccm-push session report`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(sessionNewCommand(f, p), sessionReportCommand(f, p))
	return c
}

func sessionNewCommand(f *Sessions, p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "new [NAME]",
		Short: "start a session: run the printed line (export CCM_PUSH_SESSION=NAME) with eval",
		Long: `A session connects the ad-hoc commands of one script, so that later commands can depend on the
results of earlier ones. ccm-push session new prints "export CCM_PUSH_SESSION=NAME"; run it with
eval, as in the examples. Without NAME, it creates a unique name. If a session with this name
already exists, the command fails.`,
		Example: `  eval "$(ccm-push session new)"
  eval "$(ccm-push session new release-42)"`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			name := record.NewID(time.Now())
			if len(args) > 0 {
				name = args[0]
			}
			store, err := f.App.Records()
			if err := errors.Join(p.TextOnly("session new"), record.CheckSession(name), err); err != nil {
				return err
			}
			if session, err := store.Session(name); err != nil {
				return err
			} else if n := len(session.Runs); n > 0 {
				return fmt.Errorf("session %s exists and has %d calls\n  hint: export %s=%s continues it", name, n, flags.SessionVariable, name)
			}
			return p.Print(fmt.Sprintf("export %s=%s\n", flags.SessionVariable, name))
		},
	}
}

func sessionReportCommand(f *Sessions, p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "report",
		Short: "print the results of all calls of a session, with a summary",
		Long: `A session contains the ad-hoc commands (calls) of one script. ccm-push session report prints the
results of all calls in the form of one run. It omits check runs (--check) if the session also has
other calls.`,
		Example: `  ccm-push session report
  ccm-push session report --session release-42
  ccm-push -q session report`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			store, err := f.App.Records()
			if err != nil {
				return err
			}
			if f.Flags.Session.Name == "" {
				return errors.New("no session given: set $" + flags.SessionVariable + ", or pass --session NAME")
			}
			session, err := store.Session(f.Flags.Session.Name)
			if err != nil {
				return err
			}
			if len(session.Runs) == 0 {
				return fmt.Errorf("session %s has no recorded calls", f.Flags.Session.Name)
			}
			reporter := p.Replayer(p.App.Out, events.TextOptions{Diff: p.Flags.Mode.Diff != ""})
			for e, err := range session.Events() {
				if err != nil {
					return err
				}
				reporter.Report(e)
			}
			return nil
		},
	}
}
