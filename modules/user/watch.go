package user

import (
	"cmp"
	"context"
	"path"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
)

// Watch implements [modules.Watcher].
func (u *User) Watch(ctx context.Context, h modules.Host) (from modules.Sources, err error) {
	from.Paths = []string{accounts.PasswdFile, accounts.GroupFile}
	if u.PasswordHash != "" || u.PasswordLock != nil || u.Expires != "" {
		from.Paths = append(from.Paths, accounts.ShadowFile)
	}
	tables, err := accounts.Read(h)
	if err != nil {
		return from, nil // Check reports the error
	}
	have, local := tables.User(u.Name)
	if !local {
		if elsewhere, err := tables.UserElsewhere(ctx, u.Name); elsewhere || err != nil {
			from.Polled = accounts.Elsewhere
		}
	}
	home := cmp.Or(u.Home, have.Home)
	switch {
	case !path.IsAbs(home):
	case u.SSHKeys != nil:
		from.Paths = append(from.Paths, path.Join(home, ".ssh/authorized_keys"))
	case u.CreateHome != nil:
		from.Paths = append(from.Paths, path.Clean(home))
	}
	return from, nil
}
