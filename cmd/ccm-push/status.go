package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
)

func (a *app) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status PATTERN TYPE NAME [PROPERTY=VALUE...]",
		Short: "print how a resource is on hosts, such as a file, a package or a service",
		Long: `status asks the hosts of a pattern how a resource is now, and changes nothing. The
answer of one host is printed as YAML; those of several are YAML documents, each
behind the hosts that gave it. With --output json the answer stands in the event
"result" of each host, as state.before.

The types that can be asked: ` + strings.Join(a.statusTypes(), ", ") + ".",
		Example: `  ccm-push status web1 file /etc/motd
  ccm-push status 'web*' package nginx
  ccm-push -b --output json status all service ssh`,
		Args:              atLeast(3),
		ValidArgsFunction: a.completeStatus,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.printStatus(cmd.Context(), args[0], args[1], args[2:])
		},
	}
}

// statusTypes names the types that can be asked.
func (a *app) statusTypes() []string {
	var names []string
	for _, t := range a.registry {
		if t.TellsStatus() {
			names = append(names, t.Name)
		}
	}
	return names
}

func (a *app) printStatus(ctx context.Context, pattern, kind string, words []string) error {
	if err := a.flags.wholly("status"); err != nil {
		return err
	}
	t, ok := a.registry.Lookup(kind)
	if !ok || !t.TellsStatus() {
		return a.noStatus(t, kind, pattern)
	}
	properties, err := t.StatusArguments(words)
	if err != nil {
		return err
	}
	play, err := load.AdHocQuery(pattern, t, modules.StatusQuery, []map[string]any{properties})
	if err != nil {
		return err
	}
	r, err := a.runner(ctx)
	if err != nil {
		return err
	}
	defer r.Dialer.Close()
	r.Plays = []*manifest.Play{play}
	r.Options.NoLock = true
	return a.report(ctx, r, a.answers()...)
}

// noStatus says what else there is for a type that cannot be asked.
func (a *app) noStatus(t modules.Type, kind, pattern string) error {
	if t.New == nil {
		return fmt.Errorf("there is no resource type %q; %s can be asked", kind, strings.Join(a.statusTypes(), ", "))
	}
	if asker, ok := t.New().(modules.Asker); ok {
		return fmt.Errorf("%s answers questions of its own: ccm-push %s %s %s …", kind, pattern, kind, asker.Queries()[0])
	}
	return fmt.Errorf("how a resource of type %s is depends on its properties; a check run compares them: ccm-push --check %s %s …", kind, pattern, kind)
}

// completeStatus completes the pattern and the type.
func (a *app) completeStatus(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 1 {
		return completions("", word, a.statusTypes()), cobra.ShellCompDirectiveNoFileComp
	}
	return a.completePattern(cmd, args, word)
}
