package manifests

import (
	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
)

// Commands returns the commands that read or write manifests.
func Commands(pl *fleet.Plays, p *output.Printer) []*cobra.Command {
	f, types := pl.Fleet, pl.Fleet.App.Registry
	return []*cobra.Command{
		docCommand(types, p),
		explainResourceCommand(pl, p),
		fmtCommand(&f.Flags.Mode, p),
		fromAnsibleCommand(types, &f.Inventory, p),
		graphCommand(pl, p),
		hieraCommand(&f.Variables, p),
		newCommand(types, p),
		renderCommand(pl, p),
		schemaCommand(types, p),
		validateCommand(pl, p),
	}
}
