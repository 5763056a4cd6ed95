package user

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
)

// update plans the changes of an existing user.
func (d *draft) update(ctx context.Context, have accounts.User) (err error) {
	d.after = accounts.PredictedUser{User: have, Exists: true, Primary: d.tables.Primary(ctx, have), Groups: d.tables.GroupsOf(have.Name)}
	ids, err := d.updateIDs(ctx, have)
	if err != nil {
		return err
	}
	groups, err := d.updateGroups(ctx)
	if err != nil {
		return err
	}
	texts, err := d.updateTexts(have)
	if err != nil {
		return err
	}
	access, hash, err := d.updateAccess(have)
	if err != nil {
		return err
	}
	if err := d.usermod(slices.Concat(ids, texts, access), groups); err != nil {
		return err
	}
	if hash != "" {
		d.setHash(hash)
	}
	if d.account {
		d.Effects = append(d.Effects, d.tables.UserEffects(d.after)...)
	}
	if err := d.homeOfOld(); err != nil {
		return err
	}
	if err := d.keys(ctx); err != nil {
		return err
	}
	if len(d.Changes) > 0 {
		d.Action = "updated the user"
	}
	return nil
}

// updateIDs compares uid and primary group. mods are options of usermod.
func (d *draft) updateIDs(ctx context.Context, have accounts.User) (mods []string, err error) {
	if d.UID != nil && *d.UID != have.UID {
		if err := free(ctx, d.tables, d.Name, *d.UID); err != nil {
			return nil, err
		}
		if err := idle(d.h.Files, have, "uid: "); err != nil {
			return nil, err
		}
		d.differs("uid", id(have.UID), strconv.Itoa(*d.UID))
		mods = append(mods, "-u", strconv.Itoa(*d.UID))
		d.after.UID = *d.UID
	}
	if d.Group != "" {
		g, _, err := findGroup(ctx, d.h, d.tables, "group", d.Group)
		if err != nil {
			return nil, err
		}
		if g.Name != d.after.Primary {
			d.differs("group", d.after.Primary, g.Name)
			mods = append(mods, "-g", g.Name)
			d.after.GID, d.after.Primary = g.GID, g.Name
		}
	}
	if len(mods) > 0 { // the files in the home get the new ids
		d.Effects = append(d.Effects, modules.Anything)
	}
	return mods, nil
}

// id writes an id for people.
func id(n int) string {
	if n == accounts.Unknown {
		return "unknown"
	}
	return strconv.Itoa(n)
}

// idle refuses changes that are impossible while a user has processes.
func idle(files modules.FileReader, have accounts.User, property string) error {
	if have.UID == accounts.Unknown {
		return nil
	}
	if pid, busy := accounts.Process(files, have.UID); busy {
		return modules.Refuse("%suser %q is logged in or has running processes, such as process %s; end its processes first", property, have.Name, pid)
	}
	return nil
}

func (d *draft) updateGroups(ctx context.Context) (r regroup, err error) {
	if d.Groups == nil {
		return r, nil
	}
	have := without(d.after.Groups, d.after.Primary)
	want, err := d.wantGroups(ctx, d.after.Primary)
	if err != nil {
		return r, err
	}
	if r = newRegroup(have, want, d.Append); r.isNeeded() {
		d.differs("groups", list(have), list(r.all))
		d.after.Groups = r.all
	}
	return r, nil
}

// updateTexts compares the text fields.
func (d *draft) updateTexts(have accounts.User) (mods []string, err error) {
	if d.Comment != nil && *d.Comment != d.tables.Comment(have) {
		d.differs("comment", have.Comment, *d.Comment)
		mods = append(mods, "-c", *d.Comment)
		d.after.Comment = *d.Comment
	}
	if d.Home != "" && d.Home != have.Home {
		if err := idle(d.h.Files, have, "home: "); err != nil {
			return nil, err
		}
		d.differs("home", have.Home, d.Home)
		mods = append(mods, "-d", d.Home)
		d.after.Home = d.Home
	}
	if d.Shell != "" && d.Shell != have.Shell {
		d.differs("shell", have.Shell, d.Shell)
		mods = append(mods, "-s", d.Shell)
		d.after.Shell = d.Shell
		warnOfShell(d.h, d.Shell)
	}
	return mods, nil
}

// updateAccess compares the fields of shadow(5). hash is the new field, unless only the lock changes.
func (d *draft) updateAccess(user accounts.User) (mods []string, hash string, err error) {
	if d.PasswordHash == "" && d.PasswordLock == nil && d.Expires == "" {
		return nil, "", nil
	}
	have, err := d.tables.Shadow(user)
	if err != nil {
		return nil, "", modules.PermissionRefusal(err)
	}
	if days, _ := parseExpiry(d.Expires); d.Expires != "" && describeExpiry(days) != describeExpiry(have.Expires) {
		d.differs("expires", describeExpiry(have.Expires), d.Expires)
		mods = append(mods, "-e", days)
		have.Expires = days
		d.after.Shadow = &have
	}
	want := d.wantHash(have.Hash)
	if want == have.Hash {
		return mods, "", nil
	}
	if want == "" {
		return nil, "", noPassword(d.Name)
	}
	if err := d.findTools(); err != nil {
		return nil, "", err
	}
	mods, hash = d.changeHash(mods, have, want)
	have.Hash, have.Missing = want, false
	d.after.Shadow = &have
	return mods, hash, nil
}

func (d *draft) changeHash(mods []string, is accounts.Shadow, want string) ([]string, string) {
	have := is.Hash
	if d.PasswordHash != "" && (unlocked(have) != unlocked(want) || d.PasswordLock == nil) {
		d.differs("password_hash", describeHash(have), describeHash(want))
	}
	if d.PasswordLock != nil && locked(have) != locked(want) {
		d.differs("password_lock", strconv.FormatBool(locked(have)), strconv.FormatBool(locked(want)))
	}
	// The lock alone is set without chpasswd, which would also set the day of the
	// last change. usermod would not make a missing entry.
	switch {
	case is.Missing:
		return mods, want
	case want == "!"+have && d.tools != accounts.Busybox:
		return append(mods, "-L"), ""
	case have == "!"+want && d.tools != accounts.Busybox:
		return append(mods, "-U"), ""
	}
	return mods, want
}

// usermod plans the commands.
func (d *draft) usermod(mods []string, groups regroup) error {
	if len(mods) == 0 && !groups.isNeeded() {
		return nil
	}
	if err := d.findTools(); err != nil {
		return err
	}
	if d.tools == accounts.Busybox {
		return d.busybox(mods, groups)
	}
	if groups.isNeeded() {
		mods = append(mods, "-G", strings.Join(groups.all, ","))
	}
	d.run(slices.Concat([]string{"usermod"}, mods, []string{"--", d.Name})...)
	return nil
}

// busybox changes memberships; BusyBox can change nothing else.
func (d *draft) busybox(mods []string, groups regroup) error {
	if len(mods) > 0 {
		return needsUsermod(d.Name, d.Changes[0].Property)
	}
	for _, name := range groups.add {
		d.run("addgroup", d.Name, name)
	}
	for _, name := range groups.remove {
		d.run("delgroup", d.Name, name)
	}
	return nil
}
