package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/inventory/listing"
	"github.com/ccm-push/ccm-push/inventory/printable"
)

func (a *app) lintCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "lint",
		Short: "print what in the inventory is read in another way by other tools, or by people",
		Long: `lint reads the inventory and its group_vars and host_vars, and prints every plain
value that Ansible (YAML 1.1) and ccm-push (YAML 1.2) read in different ways, or
that both read as something else than it looks like: yes and on, octal numbers,
numbers in base 60, dates, numbers with _ or an exponent, and numbers that lose digits,
such as the version 1.10. It also names passwords that stand there in clear, variables
that Ansible sets itself, and what keeps hosts from being reached.

The exit status is 1 if there is anything to print.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.lint(cmd.Context()) },
	}
}

func (a *app) lint(ctx context.Context) error {
	inv, err := a.loadInventory(ctx)
	if err != nil {
		return err
	}
	found := listing.Lint(inv)
	if err := a.printFindings(found); err != nil || len(found) == 0 {
		return err
	}
	return exitStatus(usageStatus)
}

func (a *app) printFindings(found []listing.Finding) error {
	if a.flags.output == "json" {
		return printLines(a, found)
	}
	var b strings.Builder
	for _, f := range found {
		b.WriteString(printable.Block(f.String()) + "\n")
	}
	return a.print(b.String())
}
