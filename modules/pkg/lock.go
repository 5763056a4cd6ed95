package pkg

import (
	"context"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// patiently runs a package manager that another process may have locked out, once
// a second, until it gets its locks or the time for that is up. lockedOut says
// whether that is why it has ended, and who holds the lock.
func (a *access) patiently(
	ctx context.Context,
	run func() (modules.Exit, error),
	lockedOut func(modules.Exit) (holder string, locked bool),
) (modules.Exit, error) {
	patience, cancel := context.WithTimeout(ctx, a.lockWait)
	defer cancel()
	for {
		exit, err := run()
		if err != nil || exit.Code == 0 {
			return exit, err
		}
		holder, locked := lockedOut(exit)
		if !locked {
			return exit, nil
		}
		select {
		case <-patience.Done():
			if ctx.Err() != nil {
				return exit, context.Cause(ctx)
			}
			return exit, modules.Refuse("the package database is in use by %s, and was not free within %v", holder, a.lockWait)
		case <-time.After(time.Second):
		}
	}
}
