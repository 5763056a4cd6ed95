package hosts

import (
	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/arguments"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
)

func cleanCommand(f *fleet.Fleet, p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "clean PATTERN",
		Short: "remove the files of ccm-push from hosts",
		Long: `ccm-push clean removes the files that ccm-push footprint lists: files of the login user, and with -b
also files of the user of --become. With --check it prints the files and removes nothing. If a run
is changing a host, the command fails on this host.

The command also removes the list of pending refreshes (restarts of services), and the former states
of resources with the property "reverse". If you later remove one of these resources from the
manifest, ccm-push cannot restore its former state.`,
		Example: `  ccm-push clean all --check
  ccm-push -b clean 'web*'`,
		Args:              arguments.OnePattern,
		ValidArgsFunction: f.Inventory.CompletePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			return printFootprints(cmd.Context(), f, p, args, true)
		},
	}
}
