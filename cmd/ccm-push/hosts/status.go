package hosts

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/playbooks/workers/parcel"
)

func statusCommand(f *fleet.Fleet, p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "status PATTERN TYPE NAME [PROPERTY=VALUE...]",
		Short: "print the current state of a resource on hosts: a file, a package, a service",
		Long: `ccm-push status queries hosts for the current state of a resource, and changes nothing. If hosts
have the same state, ccm-push prints their names and then the state once, as YAML. With --output
json, it prints an event "result" for each host, with the state in state.before. Some types, such as
exec, have no state: use a check run (--check) for resources of these types.`,
		Example: `  ccm-push status web1 file /etc/motd
  ccm-push status 'web*' package nginx
  ccm-push -b --output json status all service ssh`,
		Args: arguments.AtLeast(3),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return arguments.Completions("", word, statusTypes(f.App.Registry)), cobra.ShellCompDirectiveNoFileComp
			}
			return f.Inventory.CompletePattern(cmd, args, word)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.Flags.RefuseSelection("status"); err != nil {
				return err
			}
			return printStatus(cmd.Context(), f, p, args[0], args[1], args[2:])
		},
	}
}

// statusTypes returns the names of the types whose status can be queried.
func statusTypes(registry modules.Registry) []string {
	var names []string
	for _, t := range registry {
		if t.TellsStatus() {
			names = append(names, t.Name)
		}
	}
	return names
}

func printStatus(ctx context.Context, f *fleet.Fleet, p *output.Printer, pattern, kind string, words []string) error {
	t, ok := f.App.Registry.Lookup(kind)
	if !ok || !t.TellsStatus() {
		return noStatus(t, kind, pattern, statusTypes(f.App.Registry))
	}
	properties, err := t.StatusArguments(words)
	if err != nil {
		return err
	}
	play, err := load.AdHoc(pattern, t, modules.StatusQuery, properties)
	if err := errors.Join(err, f.Workers.AdHoc(parcel.NewAdHoc(pattern, t.Name, modules.StatusQuery, properties))); err != nil {
		return err
	}
	r, err := f.Runner(ctx, fleet.Purpose{})
	if err != nil {
		return err
	}
	defer r.Dialer.Close()
	r.Plays = []*manifest.Play{play}
	r.Options.NoLock = true
	return f.Run(ctx, r, p, record.Header{}, p.Answers(r, f.TrustCommand)...)
}

// noStatus returns the error with the alternatives for a type whose status cannot be queried.
func noStatus(t modules.Type, kind, pattern string, types []string) error {
	if t.New == nil {
		return fmt.Errorf("unknown resource type %q; use one of %s", kind, strings.Join(types, ", "))
	}
	if queries := t.Queries(); len(queries) > 0 {
		return fmt.Errorf("type %s has its own queries: ccm-push %s %s %s …", kind, pattern, kind, queries[0])
	}
	return fmt.Errorf("the state of a resource of type %s depends on its properties; a check run compares them: ccm-push --check %s %s …", kind, pattern, kind)
}
