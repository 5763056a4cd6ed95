package main

import "github.com/spf13/cobra"

func cleanCommand(f *fleet, p *printer) *cobra.Command {
	return &cobra.Command{
		Use:   "clean PATTERN",
		Short: "remove what ccm-push has left on hosts",
		Long: `clean removes everything that footprint lists, for the login user of the hosts, and
with -b for the user that it becomes as well. --check only says what it would remove.
Nothing is removed while a run that changes things is under way there.

With it goes the note of refreshes that an interrupted run still owes, and that of what
was there before resources with reverse: nothing of that is put back any more.`,
		Args:              onePattern,
		ValidArgsFunction: f.inventory.completePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			return printFootprints(cmd.Context(), f, p, args, true)
		},
	}
}
