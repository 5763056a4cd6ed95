package main

import (
	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push/fleet"
	"github.com/ccm-push/ccm-push/cmd/ccm-push/output"
)

// runCommands returns the commands about runs.
func runCommands(pl *fleet.Plays, s *sessions, p *output.Printer) []*cobra.Command {
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
