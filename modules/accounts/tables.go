package accounts

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// The files with the accounts of a host.
const (
	PasswdFile = "/etc/passwd"
	GroupFile  = "/etc/group"
	ShadowFile = "/etc/shadow"
)

// Elsewhere describes an account that is in none of these files; no event is sent when it changes.
const Elsewhere = "it is in a name service of the host"

// Tables are the local accounts of a host, in a check run as earlier plans would
// have made them.
type Tables struct {
	h      modules.Host
	users  []User
	groups []Group
}

// Read reads the local users and groups.
func Read(h modules.Host) (*Tables, error) {
	users, err := read(h.Files.Knowing(kindUser), PasswdFile)
	if err != nil {
		return nil, err
	}
	groups, err := read(h.Files.Knowing(kindUser), GroupFile)
	return &Tables{h, ParseUsers(users), ParseGroups(groups)}, err
}

// User finds a local user.
func (t *Tables) User(name string) (User, bool) {
	if f, ok := t.predictedUser(name); ok {
		return f.User, f.Exists
	}
	i := slices.IndexFunc(t.users, func(u User) bool { return u.Name == name })
	if i < 0 {
		return User{}, false
	}
	return t.users[i], true
}

// Comment returns the comment of a user. In a check run, the prediction is unknown if a pending package sets the comment.
func (t *Tables) Comment(u User) string {
	t.h.Forecast.Lookup(kindComment+modules.EffectKind(u.Name), "")
	return u.Comment
}

// Users lists the local users that the host has now, as they will be.
func (t *Tables) Users() []User {
	var users []User
	for _, u := range t.users {
		if now, ok := t.User(u.Name); ok {
			users = append(users, now)
		}
	}
	return users
}

// Group finds a local group.
func (t *Tables) Group(name string) (Group, bool) {
	if f, ok := t.predictedGroup(name); ok {
		return f.Group, f.Exists
	}
	i := slices.IndexFunc(t.groups, func(g Group) bool { return g.Name == name })
	if i < 0 {
		return Group{}, false
	}
	return t.groups[i], true
}

// UserWithID finds the local user with a uid.
func (t *Tables) UserWithID(uid int) (User, bool) {
	if name, ok := t.h.Forecast.Lookup(kindUID, strconv.Itoa(uid)); ok {
		if u, ok := t.User(name.(string)); ok && u.UID == uid {
			return u, true
		}
	}
	for _, u := range t.users {
		if u.UID != uid {
			continue
		}
		if now, ok := t.User(u.Name); ok && now.UID == uid {
			return now, true
		}
	}
	return User{}, false
}

// GroupWithID finds the local group with a gid.
func (t *Tables) GroupWithID(gid int) (Group, bool) {
	if name, ok := t.h.Forecast.Lookup(kindGID, strconv.Itoa(gid)); ok {
		if g, ok := t.Group(name.(string)); ok && g.GID == gid {
			return g, true
		}
	}
	for _, g := range t.groups {
		if g.GID != gid {
			continue
		}
		if now, ok := t.Group(g.Name); ok && now.GID == gid {
			return now, true
		}
	}
	return Group{}, false
}

// GroupsOf lists the local groups that name a user as a member, sorted.
func (t *Tables) GroupsOf(user string) []string {
	var names []string
	if f, ok := t.predictedUser(user); ok {
		names = slices.Clone(f.Groups)
	} else {
		for _, g := range t.groups {
			if slices.Contains(g.Members, user) {
				names = append(names, g.Name)
			}
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { _, ok := t.Group(name); return !ok })
	slices.Sort(names)
	return slices.Compact(names)
}

// PrimaryOf lists the local users whose primary group is g, sorted.
func (t *Tables) PrimaryOf(g Group) []string {
	var names []string
	for _, u := range t.Users() {
		names = append(names, u.Name)
	}
	if more, ok := t.h.Forecast.Lookup(kindPrimary, g.Name); ok {
		names = append(names, more.([]string)...)
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		u, ok := t.User(name)
		return !ok || !t.isPrimary(u, g)
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// isPrimary reports whether g is the primary group of u. If the host will choose the id of the group, the users that
// are predicted to have it identify it.
func (t *Tables) isPrimary(u User, g Group) bool {
	if u.GID != Unknown || g.GID != Unknown {
		return u.GID == g.GID
	}
	f, ok := t.predictedUser(u.Name)
	return ok && f.Primary == g.Name
}

// Primary names the primary group of a user, by its id if it has no name.
func (t *Tables) Primary(ctx context.Context, u User) string {
	if u.GID == Unknown {
		f, _ := t.predictedUser(u.Name)
		return f.Primary
	}
	if g, ok := t.GroupWithID(u.GID); ok {
		return g.Name
	}
	return t.h.Accounts.GroupName(ctx, u.GID)
}

// Shadow finds the entry of a local user in shadow(5), which only root may read.
func (t *Tables) Shadow(u User) (Shadow, error) {
	if f, ok := t.predictedUser(u.Name); ok && f.Shadow != nil {
		return *f.Shadow, nil
	}
	text, err := read(t.h.Files.Knowing(kindUser), ShadowFile)
	if err != nil {
		return Shadow{}, err
	}
	for _, s := range ParseShadows(text) {
		if s.Name == u.Name {
			return s, nil
		}
	}
	if u.Password == "x" {
		return Shadow{Name: u.Name, Missing: true}, nil
	}
	return Shadow{Name: u.Name, Hash: u.Password}, nil
}

// UIDHolder returns the name of the user with a uid, in the local files or in a name service.
func (t *Tables) UIDHolder(ctx context.Context, uid int) (name string, taken bool) {
	if u, ok := t.UserWithID(uid); ok {
		return u.Name, true
	}
	name = t.h.Accounts.UserName(ctx, uid)
	stale := slices.ContainsFunc(t.users, func(u User) bool { return u.Name == name }) // earlier plans free its id
	return name, name != strconv.Itoa(uid) && !stale
}

// GIDHolder returns the name of the group with a gid, in the local files or in a name service.
func (t *Tables) GIDHolder(ctx context.Context, gid int) (name string, taken bool) {
	if g, ok := t.GroupWithID(gid); ok {
		return g.Name, true
	}
	name = t.groupName(ctx, gid)
	stale := slices.ContainsFunc(t.groups, func(g Group) bool { return g.Name == name })
	return name, name != strconv.Itoa(gid) && !stale
}

// groupName returns the name for a gid. In a check run, the host likely chooses the next free ids for new groups (groupadd(8)).
func (t *Tables) groupName(ctx context.Context, gid int) string {
	last := 0
	for _, g := range t.groups {
		if g.GID < idsEnd {
			last = max(last, g.GID)
		}
	}
	if t.h.Aside == nil || gid > last && gid <= last+nextIDs {
		return t.h.Accounts.GroupName(ctx, gid)
	}
	aside, grade := t.h.Aside()
	name := aside.Accounts.GroupName(ctx, gid)
	if grade() != modules.Certain {
		t.h.Forecast.Lookup(modules.ProbeEffect, "")
	}
	return name
}

const (
	idsEnd  = 60_000 // first id of special groups, and of name services
	nextIDs = 100    // free ids that one run may use
)

// Find returns a user of the local files or of a name service. The error wraps [modules.ErrNoAccount] if the user does
// not exist.
func (t *Tables) Find(ctx context.Context, name string) (User, error) {
	if u, ok := t.User(name); ok {
		return u, nil
	}
	if elsewhere, err := t.UserElsewhere(ctx, name); err != nil || !elsewhere {
		return User{}, cmp.Or(err, modules.Refuse("user %q: %w", name, modules.ErrNoAccount))
	}
	return t.Directory(ctx, name)
}

// Directory queries the name services about a user who is not in the local files.
func (t *Tables) Directory(ctx context.Context, name string) (User, error) {
	exit, err := t.h.Commands.Probe(ctx, modules.Command{Argv: []string{"getent", "passwd", name}, Timeout: lookupTimeout, Reads: modules.UserEffect})
	if err != nil {
		return User{}, err
	}
	users := ParseUsers(exit.Stdout.Text)
	if exit.Code != 0 || len(users) != 1 || users[0].Name != name {
		return User{}, modules.Refuse("user %q is not in %s, and getent does not give its entry", name, PasswdFile)
	}
	return users[0], nil
}

// lookupTimeout bounds a question to a directory service.
const lookupTimeout = 10 * time.Second

// known reports whether an account exists anywhere, from the error of a look-up.
func known(err error) (bool, error) {
	if errors.Is(err, modules.ErrNoAccount) {
		return false, nil
	}
	return err == nil, err
}

// UserElsewhere reports whether a name service other than the local files knows
// a user.
func (t *Tables) UserElsewhere(ctx context.Context, name string) (bool, error) {
	if _, local := t.User(name); local {
		return false, nil
	}
	_, err := modules.ByName(t.h.Accounts).UserID(ctx, name)
	return known(err)
}

// GroupElsewhere reports whether a name service other than the local files knows
// a group.
func (t *Tables) GroupElsewhere(ctx context.Context, name string) (bool, error) {
	if _, local := t.Group(name); local {
		return false, nil
	}
	_, err := modules.ByName(t.h.Accounts).GroupID(ctx, name)
	return known(err)
}

// Table is the name under which users and groups lock the databases that they rewrite, one at a time: /etc/passwd,
// /etc/group and their shadows.
const Table = "accounts"
