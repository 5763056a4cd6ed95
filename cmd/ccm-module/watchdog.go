package main

import (
	"context"
	"os"

	"github.com/ccm-push/ccm-push/modules/system"
)

// starting is the word for a watchdog that is started as the host is.
const starting = "starting"

// watchdog reverts changes that were not confirmed in time. Its state is next to the notes of this program, so its
// arguments cannot be wrong and reveal nothing to others.
func watchdog(ctx context.Context, args []string) error {
	if len(args) > 1 || len(args) == 1 && args[0] != starting {
		return usageError("usage: ccm-module watchdog [starting]")
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	s, err := newSession()
	if err != nil {
		return err
	}
	return s.Watchdog(ctx, len(args) == 1)
}

// bootUnit returns the unit that starts this program when the host starts.
func bootUnit() system.BootUnit { return system.BootUnit{Args: []string{"watchdog", starting}} }
