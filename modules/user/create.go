package user

import (
	"cmp"
	"context"
	"path"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
)

// create plans to make the user.
func (d *draft) create(ctx context.Context) (err error) {
	if err := d.findTools(); err != nil {
		return err
	}
	d.Action, d.isNew = "created the user", true
	d.differs("ensure", absent, present)
	group, err := d.primary(ctx)
	if err != nil {
		return err
	}
	groups, err := d.wantGroups(ctx, group.Name)
	if err != nil {
		return err
	}
	listed := without(d.tables.GroupsOf(d.Name), group.Name) // already, without the user
	re := newRegroup(listed, groups, d.Groups == nil || d.Append)
	d.after = accounts.PredictedUser{Exists: true, Primary: group.Name, Groups: re.all}
	d.after.User = accounts.User{Name: d.Name, UID: accounts.Unknown, GID: group.GID, Home: path.Join(d.defaults.Base, d.Name), Shell: d.defaults.Shell, Password: "x"}
	if err := d.give(ctx, listed, re); err != nil {
		return err
	}
	if err := d.homeOfNew(); err != nil {
		return err
	}
	if d.tools == accounts.Busybox {
		err = d.adduser(group, re.add)
	} else {
		d.useradd(group, re.add)
	}
	if err != nil {
		return err
	}
	re.add = nil // the new user has them
	if err := d.usermod(nil, re); err != nil {
		return err
	}
	d.Effects = append(d.Effects, d.tables.UserEffects(d.after)...)
	if d.defaults.MailDir != "" && d.tools != accounts.Busybox && !d.System {
		d.Effects = append(d.Effects, modules.Differ("", path.Join(d.defaults.MailDir, d.Name))...)
	}
	if d.newHome {
		d.predictHome()
	}
	return d.keys(ctx)
}

// give adds the properties of a new user, each as a change. listed are the groups that list its name already.
func (d *draft) give(ctx context.Context, listed []string, groups regroup) error {
	if d.UID != nil {
		if err := free(ctx, d.tables, d.Name, *d.UID); err != nil {
			return err
		}
		d.differs("uid", absent, strconv.Itoa(*d.UID))
		d.after.UID = *d.UID
	}
	if d.Group != "" {
		d.differs("group", absent, d.after.Primary)
	}
	switch {
	case !groups.isNeeded():
	case len(listed) > 0:
		d.differs("groups", list(listed), list(groups.all))
	default:
		d.differs("groups", absent, list(groups.all))
	}
	if d.Comment != nil && *d.Comment != "" {
		d.differs("comment", absent, *d.Comment)
		d.after.Comment = *d.Comment
	}
	if d.Home != "" {
		d.differs("home", absent, d.Home)
		d.after.Home = d.Home
	}
	if d.Shell != "" {
		d.differs("shell", absent, d.Shell)
		d.after.Shell = d.Shell
		warnOfShell(d.h, d.Shell)
	}
	return d.giveAccess()
}

// giveAccess is the part of give about shadow(5).
func (d *draft) giveAccess() error {
	const fresh = "!" // initial value of both tools
	shadow := accounts.Shadow{Name: d.Name, Hash: d.wantHash(fresh)}
	if d.Expires != "" {
		shadow.Expires, _ = parseExpiry(d.Expires)
		d.differs("expires", absent, d.Expires)
	}
	d.after.Shadow = &shadow
	if shadow.Hash == "" {
		return noPassword(d.Name)
	}
	if d.PasswordHash != "" {
		d.differs("password_hash", absent, describeHash(shadow.Hash))
	}
	if d.PasswordLock != nil {
		d.differs("password_lock", absent, strconv.FormatBool(*d.PasswordLock))
	}
	return nil
}

func noPassword(user string) error {
	return modules.Refuse(`password_lock: user %q has no password, so without the lock anyone could log in; set "password_hash"`, user)
}

// free refuses an id that another user has.
func free(ctx context.Context, tables *accounts.Tables, user string, uid int) error {
	if other, taken := tables.UIDHolder(ctx, uid); taken && other != user {
		return modules.Refuse("uid: %d is the id of user %q already", uid, other)
	}
	return nil
}

// useradd plans the commands of shadow-utils.
func (d *draft) useradd(group primary, groups []string) {
	argv := []string{"useradd"}
	switch {
	case group.isNew && group.GID == accounts.Unknown:
		argv = append(argv, "-U")
		d.Effects = append(d.Effects, accounts.GroupEffects(group.Group, true)...)
	case group.named:
		d.addPrimary(group)
		argv = append(argv, "-N", "-g", group.Name)
	default:
		argv = append(argv, "-N")
	}
	argv = option(argv, "-G", strings.Join(groups, ","))
	if d.Expires != "" { // in days: usermod and useradd read a date in the time zone of the host
		days, _ := parseExpiry(d.Expires)
		argv = append(argv, "-e", days)
	}
	argv = d.options(argv, "-r", "-c", "-d")
	d.run(append(argv, "-M", "--", d.Name)...)
	d.makeHome()
	if d.PasswordHash != "" {
		d.setHash(d.after.Shadow.Hash)
	}
}

// adduser plans the commands of BusyBox.
func (d *draft) adduser(group primary, groups []string) error {
	if d.Expires != "" && d.Expires != never {
		return needsUsermod(d.Name, "expires")
	}
	d.addPrimary(group)
	argv := []string{"adduser", "-D", "-G", group.Name}
	if d.Shell == "" {
		d.after.Shell = busyboxShell(d.tables, d.System)
		argv = append(argv, "-s", d.after.Shell)
	}
	argv = d.options(argv, "-S", "-g", "-h")
	d.run(append(argv, "-H", "--", d.Name)...)
	d.makeHome()
	for _, name := range groups {
		d.run("addgroup", d.Name, name)
	}
	if d.PasswordHash != "" {
		d.setHash(d.after.Shadow.Hash)
	}
	return nil
}

// busyboxShell is BusyBox's default for a new user: root's own shell, or none for system users. Its versions differ in
// this, so the shell is always passed as an option.
func busyboxShell(tables *accounts.Tables, system bool) string {
	if system {
		return "/bin/false"
	}
	root, _ := tables.User("root")
	return cmp.Or(root.Shell, "/bin/sh")
}

// addPrimary plans to make the group of a new user first.
func (d *draft) addPrimary(group primary) {
	if !group.isNew {
		return
	}
	d.run(accounts.AddGroup(d.tools, group.Group, d.System)...)
	d.Effects = append(d.Effects, accounts.GroupEffects(group.Group, true)...)
}

// options adds the options that both tools have.
func (u *User) options(argv []string, system, comment, home string) []string {
	if u.System {
		argv = append(argv, system)
	}
	if u.UID != nil {
		argv = append(argv, "-u", strconv.Itoa(*u.UID))
	}
	if u.Comment != nil {
		argv = append(argv, comment, *u.Comment)
	}
	argv = option(argv, "-s", u.Shell)
	return option(argv, home, u.Home)
}

// option adds an option unless its value is empty.
func option(argv []string, name, value string) []string {
	if value == "" {
		return argv
	}
	return append(argv, name, value)
}

func needsUsermod(user, property string) error {
	return modules.Refuse("%s: setting it for user %q needs usermod, which is missing here; install shadow", property, user)
}

// warnOfShell reports why the user may be unable to log in.
func warnOfShell(h modules.Host, shell string) {
	if base := path.Base(shell); base == "nologin" || base == "false" {
		return
	}
	h.Warn(func(h modules.Host) string {
		info, err := modules.Follow(h.Files, shell)
		if err != nil || info.Kind != modules.Regular || info.Mode&0o111 == 0 {
			return "shell: " + strconv.Quote(shell) + " is not a program on this host"
		}
		if shells, err := accounts.Shells(h.Files); err == nil && !shells[shell] {
			return "shell: " + strconv.Quote(shell) + " is not in /etc/shells"
		}
		return ""
	})
}
