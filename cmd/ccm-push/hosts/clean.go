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
		Long: `ccm-push clean removes the files that ccm-push footprint lists. These are the files of the login
user, and with -b also the files of root, or of --become-user. With --check, the command prints the
files and removes nothing. If a run is changing a host, the command fails on this host.

ccm-push keeps notes for later runs in these files. After ccm-push clean:

- The next run does not restart services that an interrupted run should have restarted.
- ccm-push undo cannot undo earlier runs.
- For a resource with "reverse: true" that you later remove from the manifest, the host cannot
  restore the state before the resource.`,
		Example: `  ccm-push clean all --check
  ccm-push -b clean 'web*'`,
		Args:              arguments.OnePattern,
		ValidArgsFunction: f.Inventory.CompletePattern,
		RunE: func(cmd *cobra.Command, args []string) error {
			return printFootprints(cmd.Context(), f, p, args, true)
		},
	}
}
