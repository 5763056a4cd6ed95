package cron

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// Watch implements [modules.Watcher].
func (c *Cron) Watch(ctx context.Context, h modules.Host) (from modules.Sources, err error) {
	from.AddProgram("crontab")
	from.AddOwner(c.User, "")
	t, err := c.crontab(ctx, h.Accounts)
	if err != nil {
		return from, nil // Check reports the error
	}
	from.Paths = append(from.Paths, t.paths(ctx, h.Accounts)...)
	return from, nil
}
