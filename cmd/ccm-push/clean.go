package main

import "github.com/spf13/cobra"

func cleanCommand(f *fleet, p *printer) *cobra.Command {
	return &cobra.Command{
		Use:   "clean PATTERN",
		Short: "remove the files of ccm-push from hosts",
		Long: `clean removes the files that footprint lists, for the login user, and with -b also for the user
of --become. --check prints the files and removes nothing. clean refuses a host on which a run
is changing something.

This also removes the list of pending refreshes, and the saved state of resources with reverse:
after clean, they are not restored.`,
		Example: `  ccm-push clean all --check
  ccm-push -b clean 'web*'`,
		Args:              onePattern,
		ValidArgsFunction: f.inventory.completePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			return printFootprints(cmd.Context(), f, p, args, true)
		},
	}
}
