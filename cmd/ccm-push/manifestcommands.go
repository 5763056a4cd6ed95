package main

import (
	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
)

// manifestCommands returns the commands that read or write manifests.
func manifestCommands(pl *plays, p *output.Printer) []*cobra.Command {
	f, types := pl.fleet, pl.fleet.app.Registry
	return []*cobra.Command{
		docCommand(types, p),
		explainResourceCommand(pl, p),
		fmtCommand(&f.flags.Mode, p),
		fromAnsibleCommand(types, &f.inventory, p),
		graphCommand(pl, p),
		hieraCommand(&f.variables, p),
		newCommand(types, p),
		renderCommand(pl, p),
		schemaCommand(types, p),
		validateCommand(pl, p),
	}
}
