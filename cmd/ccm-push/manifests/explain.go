package manifests

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/listing"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/explain"
	"github.com/ccm-push/ccm-push/playbooks/record"
)

func explainResourceCommand(p *fleet.Plays, out *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "explain MANIFEST... HOST TYPE#NAME",
		Short: "print why a host has a resource, the sources of its properties, and its results",
		Long: `ccm-push explain describes one resource on one host: the place in the manifest, the conditions, the
source of each property, the resources before and after, and the results in recorded runs.

The command queries the host for the facts (data about the host) that the manifests use. With
--facts FILE, it reads the facts from the file and contacts no host. It does not print properties of
sensitive resources, or values with names such as db_password.`,
		Example: `  ccm-push explain site.yaml web1 file#/etc/motd
  ccm-push explain site.yaml web1 service#nginx --facts facts.yaml -o json`,
		Args:              arguments.AtLeast(3),
		ValidArgsFunction: completeExplained(p),
		RunE: func(cmd *cobra.Command, args []string) error {
			n := len(args)
			return printExplained(cmd.Context(), p, out, args[:n-2], args[n-2], args[n-1])
		},
	}
}

func printExplained(ctx context.Context, p *fleet.Plays, out *output.Printer, paths []string, name, ref string) error {
	if err := checkRef(p.Fleet.App.Registry, ref); err != nil {
		return err
	}
	var all []*explain.Explanation
	err := p.OnHost(ctx, out, paths, name, func(ctx context.Context, r *playbooks.Runner, host *inventory.Host, contact bool) (err error) {
		if host == nil {
			_, err = listing.FindHost(r.Inventory.Hosts(), name)
			return fmt.Errorf("%w; write explain MANIFEST... HOST TYPE#NAME", err)
		}
		all, err = r.Explain(ctx, host, ref, contact)
		return err
	})
	if err != nil {
		return err
	}
	store, storeErr := p.Fleet.App.Records()
	for _, e := range all {
		if storeErr == nil {
			addPast(e, store, p.Fleet.App.Warn)
		}
	}
	if out.JSON() {
		return output.PrintJSON(out, all...)
	}
	for i, e := range all {
		text := e.Text()
		if i > 0 {
			text = "\n" + text
		}
		if err := out.Print(text); err != nil {
			return err
		}
	}
	return nil
}

// addPast adds the changes of a resource by recorded runs.
func addPast(e *explain.Explanation, store record.Store, warn func(string)) {
	typeName, name, _ := strings.Cut(e.Resource, "#")
	last, change, err := store.Past(e.Host, typeName, name)
	if err != nil {
		warn("not all recorded runs can be read: " + err.Error())
	}
	e.LastRun, e.LastChange = pastOf(last), pastOf(change)
}

func pastOf(p *record.PastResult) *explain.Past {
	if p == nil {
		return nil
	}
	r := &p.Result
	return &explain.Past{Run: p.Run, Started: p.Started, Play: r.Play, Status: r.Status, Cause: r.Cause, Error: r.Error, Changes: r.Changes}
}

// checkRef refuses what cannot be the name of a resource.
func checkRef(types modules.Registry, ref string) error {
	typeName, name, ok := strings.Cut(ref, "#")
	if !ok || name == "" || typeName == "" {
		return fmt.Errorf("%q is not a resource; write explain MANIFEST... HOST TYPE#NAME, as in file#/etc/motd", ref)
	}
	if _, known := types.Lookup(typeName); known {
		return nil
	}
	hint := "use one of " + strings.Join(types.Names(), ", ")
	if meant := yamlpos.Suggest(typeName, types.Names()); meant != "" {
		hint = "did you mean " + strconv.Quote(meant) + "?"
	}
	return fmt.Errorf("unknown resource type %q; %s", typeName, events.Line(hint))
}

// completeExplained completes manifests, a host, and after it one of their resources.
func completeExplained(p *fleet.Plays) arguments.Completer {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 1 {
			inv := p.Fleet.Inventory.CompletionInventory(cmd.Context())
			if last := len(args) - 1; inv != nil && inv.Host(args[last]) != nil {
				return arguments.CompleteResource(p.Fleet.App.Registry)(cmd, args[:last], word)
			}
		}
		return p.Fleet.Inventory.CompleteLastHost(cmd, args, word)
	}
}
