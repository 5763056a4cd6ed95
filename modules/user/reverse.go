package user

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
)

// Subject implements [modules.Reverser].
func (u *User) Subject() string { return "user " + u.Name }

// Reversal implements [modules.Reverser]: what was not there can be removed, but for its
// home, where somebody may have worked since. Of a user who was there too much is not
// read, or not possible to give back: who used an id, a password that was never seen.
func (u *User) Reversal(ctx context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	if kept != nil {
		return nil, nil
	}
	tables, err := accounts.Read(h)
	if err != nil {
		return nil, modules.PermissionRefusal(err)
	}
	_, there := tables.User(u.Name)
	if !there {
		there, err = tables.UserElsewhere(ctx, u.Name)
	}
	switch {
	case err != nil:
		return nil, err
	case there:
		return nil, modules.Refuse("user %q is there already, and only a new one can be undone", u.Name)
	}
	return map[string]any{"ensure": absent}, nil
}
