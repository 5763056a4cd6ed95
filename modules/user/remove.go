package user

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
)

// remove plans to remove the user.
func (d *draft) remove(ctx context.Context, have accounts.User) error {
	if err := d.findTools(); err != nil {
		return err
	}
	if err := idle(d.h.Files, have, ""); err != nil {
		return err
	}
	d.Action = "removed the user"
	d.differs("ensure", present, absent)
	if d.RemoveHome {
		if err := d.removeHome(ctx, have); err != nil {
			return err
		}
	}
	d.userdel(have)
	d.Effects = append(d.Effects, d.tables.UserEffects(accounts.PredictedUser{User: have})...)
	if g, ok := ownGroup(d.tables, d.defaults, d.tools, have); ok {
		d.Effects = append(d.Effects, accounts.GroupEffects(g, false)...)
	}
	return nil
}

func (d *draft) userdel(have accounts.User) {
	if d.tools != accounts.Busybox {
		d.run("userdel", "--", d.Name)
		return
	}
	d.account = true
	d.steps = append(d.steps, func(ctx context.Context, h modules.Host) error {
		err := accounts.Run(ctx, h, modules.Command{Argv: []string{"deluser", have.Name}})
		// The tool also fails when the user is gone and the group of the same name is needed.
		if tables, readErr := accounts.Read(h); readErr == nil {
			if _, there := tables.User(have.Name); !there {
				return nil
			}
		}
		return err
	})
}

// ownGroup finds the group that the tools remove together with the user: the group with the same name, unless another
// user needs it (userdel(8), USERGROUPS_ENAB).
func ownGroup(tables *accounts.Tables, defaults accounts.Defaults, tools accounts.Tools, have accounts.User) (accounts.Group, bool) {
	g, ok := tables.Group(have.Name)
	others := without(tables.PrimaryOf(g), have.Name)
	if !ok || len(others) > 0 {
		return g, false
	}
	if tools == accounts.Busybox {
		return g, true
	}
	own := slices.Contains(tables.PrimaryOf(g), have.Name)
	return g, defaults.PrivateGroups && own && len(without(g.Members, have.Name)) == 0
}

// removeHome plans to remove the home before the user: if this fails, the next run removes the rest.
func (d *draft) removeHome(ctx context.Context, have accounts.User) error {
	info, err := d.h.Files.Stat(path.Clean(have.Home))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	refuse := func(format string, args ...any) error {
		return modules.Refuse("remove_home: refusing to remove %q, which "+format, append([]any{have.Home}, args...)...)
	}
	switch {
	case !path.IsAbs(have.Home) || path.Clean(have.Home) != have.Home || strings.Count(have.Home, "/") < 2:
		return refuse("is not a path below a directory of homes")
	case info.Kind != modules.Directory:
		return refuse("is not a directory")
	case have.UID != accounts.Unknown && info.UID != have.UID:
		return refuse("belongs to user %d", info.UID)
	}
	if err := trusted(d.h.Files, path.Dir(have.Home), "remove_home"); err != nil {
		return err
	}
	home := modules.Canonical(d.h.Files, have.Home)
	for _, other := range d.tables.Users() {
		if other.Name == have.Name || !path.IsAbs(other.Home) {
			continue
		}
		at := path.Clean(other.Home)
		if strings.HasPrefix(at+"/", have.Home+"/") || strings.HasPrefix(modules.Canonical(d.h.Files, at)+"/", home+"/") {
			return refuse("is needed for the home of user %q", other.Name)
		}
	}
	if err := modules.MayRemoveTree(ctx, d.h.Files, have.Home); err != nil {
		return modules.Refuse("remove_home: %w", err)
	}
	d.differs("home", have.Home, absent)
	d.Effects = append(d.Effects, pathEffect(have.Home, modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Absent}}))
	d.steps = append(d.steps, func(ctx context.Context, h modules.Host) error { return h.Files.Remove(ctx, have.Home, true) })
	return nil
}

func pathEffect(name string, state modules.PathState) modules.Effect {
	return modules.Effect{Kind: modules.PathEffect, Key: name, State: state}
}

// trusted refuses a directory that a user other than root could exchange for another one meanwhile.
func trusted(files modules.FileReader, dir, property string) error {
	for ; ; dir = path.Dir(dir) {
		info, err := files.Stat(dir)
		if err != nil {
			return err
		}
		shared := info.Mode&0o022 != 0 && info.Mode&fs.ModeSticky == 0
		if info.Kind != modules.Directory || info.UID != 0 || shared {
			return modules.Refuse("%s: %q is not a directory that only root can change", property, dir)
		}
		if dir == "/" {
			return nil
		}
	}
}
