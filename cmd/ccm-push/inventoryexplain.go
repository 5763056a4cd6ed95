package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/inventory/listing"
)

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain HOST [KEY]",
		Short: "print every place that sets a variable of a host, and which of them wins",
		Long: `explain prints each variable of a host, or the one that is named, with every place
that sets it, lowest first; * marks the one that counts. What the inventory says
about the connection comes last, under the names of connect:. A manifest's data
stands below all of these, and -e above: ccm-push render --explain shows both.`,
		Args: cobra.MatchAll(atLeast(1), cobra.MaximumNArgs(2)),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			return a.completeNth(cmd, 0, args, word, a.completeHost)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.explain(cmd.Context(), args[0], strings.Join(args[1:], ""))
		},
	}
}

func (a *app) explain(ctx context.Context, name, key string) error {
	inv, err := a.loadInventory(ctx)
	if err != nil {
		return err
	}
	host, err := oneHost(inv.Hosts(), name)
	if g := inv.Group(name); err != nil && g != nil {
		return fmt.Errorf("%q is a group, and explain is about one host; ccm-push --list-hosts %s lists those in it", name, name)
	}
	if err != nil {
		return err
	}
	found, err := listing.Explain(host, key)
	if err != nil {
		return err
	}
	if a.flags.output == "json" {
		return printLines(a, found)
	}
	return a.print(listing.ExplanationText(found))
}
