package hosts

import (
	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
)

// Commands returns the commands about hosts and the inventory.
func Commands(f *fleet.Fleet, p *output.Printer) []*cobra.Command {
	return []*cobra.Command{
		cleanCommand(f, p),
		explainConnectionCommand(f, p),
		factsCommand(f, p),
		footprintCommand(f, p),
		inventoryCommand(&f.Inventory, p),
		statusCommand(f, p),
		sudoersCommand(f, p),
		trustCommand(f, p),
	}
}
