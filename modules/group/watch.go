package group

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
)

// Watch implements [modules.Watcher].
func (g *Group) Watch(ctx context.Context, h modules.Host) (from modules.Sources, err error) {
	from.Paths = []string{accounts.GroupFile, accounts.PasswdFile} // it may be a user's primary group
	tables, err := accounts.Read(h)
	if err != nil {
		return from, nil // Check reports the error
	}
	if elsewhere, err := tables.GroupElsewhere(ctx, g.Name); elsewhere || err != nil {
		from.Polled = accounts.Elsewhere
	}
	return from, nil
}
