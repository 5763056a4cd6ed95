package runs

import (
	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
)

// Commands returns the commands about runs.
func Commands(pl *fleet.Plays, s *Sessions, p *output.Printer) []*cobra.Command {
	f := pl.Fleet
	return []*cobra.Command{
		attachCommand(f, p),
		checkHealthCommand(pl, p),
		resumeCommand(pl, p),
		rolloutCommand(pl, p),
		runsCommand(f.App, p),
		sessionCommand(s, p),
		undoCommand(f, p),
		watchCommand(pl, p),
	}
}
