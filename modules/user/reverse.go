package user

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
)

// Subject implements [modules.Reverser].
func (u *User) Subject() string { return "user " + u.Name }

// Reversal implements [modules.Reverser]: a new user can be removed, but not its home, because the home may contain
// newer work. An earlier user cannot be restored: too much of its state is not read or cannot be restored, for example
// the owner of an id, or a password that was never read.
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
