package main

import "github.com/spf13/cobra"

func cleanCommand(f *fleet, p *printer) *cobra.Command {
	return &cobra.Command{
		Use:   "clean PATTERN",
		Short: "remove the files of ccm-push from hosts",
		Long: `clean removes the files that footprint lists, for the login user, and with -b also for the user
of --become. --check prints the files and removes nothing. clean refuses a host on which a run
is changing something.

clean also removes two notes from the hosts: the list of pending refreshes, and the state that
resources with the property "reverse" had before. Without this note a later run cannot restore these
resources when you remove them from the manifest.`,
		Example: `  ccm-push clean all --check
  ccm-push -b clean 'web*'`,
		Args:              onePattern,
		ValidArgsFunction: f.inventory.completePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			return printFootprints(cmd.Context(), f, p, args, true)
		},
	}
}
