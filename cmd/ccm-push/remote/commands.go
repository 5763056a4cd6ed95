package remote

import (
	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
)

// Commands returns the commands about workers and data in NATS.
func Commands(f *fleet.Fleet, p *output.Printer) []*cobra.Command {
	return []*cobra.Command{
		registrationCommand(&f.NATS, p),
		workerCommand(f, p),
		workersCommand(f, p),
	}
}
