package system

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"strconv"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
)

// accounts implements [modules.Accounts]. It remembers what it has found until
// something on the host is changed.
type accounts struct {
	// getent gives the entries of a database for a key, for accounts that are
	// not in local files (LDAP, SSSD); "" if there is none or no such program.
	getent   func(ctx context.Context, database, key string) string
	idGroups func(ctx context.Context, name string) string // the output of `id -G name`

	mu     sync.Mutex
	users  map[string]account // by name and by id in decimal
	groups map[string]account
}

// account is a user or a group.
type account struct {
	name   string
	id     int // uid of a user, gid of a group
	gid    int // of a user
	home   string
	groups []int // of a user who has been asked for as a person: all groups
}

// forget drops what is remembered, since an action may have made or changed an
// account.
func (a *accounts) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.users, a.groups = nil, nil
}

// UserID implements [modules.Accounts].
func (a *accounts) UserID(ctx context.Context, nameOrID string) (int, error) {
	if id, ok := decimal(nameOrID); ok {
		return id, nil
	}
	u, err := a.user(ctx, nameOrID)
	return u.id, err
}

// GroupID implements [modules.Accounts].
func (a *accounts) GroupID(ctx context.Context, nameOrID string) (int, error) {
	if id, ok := decimal(nameOrID); ok {
		return id, nil
	}
	g, err := a.group(ctx, nameOrID)
	return g.id, err
}

// UserName implements [modules.Accounts].
func (a *accounts) UserName(ctx context.Context, uid int) string {
	u, err := a.user(ctx, strconv.Itoa(uid))
	if err != nil {
		return strconv.Itoa(uid)
	}
	return u.name
}

// GroupName implements [modules.Accounts].
func (a *accounts) GroupName(ctx context.Context, gid int) string {
	g, err := a.group(ctx, strconv.Itoa(gid))
	if err != nil {
		return strconv.Itoa(gid)
	}
	return g.name
}

// maxID is the largest user or group id; the one above means "no id".
const maxID = 1<<32 - 2

// decimal reads an id. All-digit names are always ids.
func decimal(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, strconv.IntSize-1)
	return int(n), err == nil && n <= maxID
}

func (a *accounts) user(ctx context.Context, key string) (account, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if u, ok := a.users[key]; ok {
		return u, nil
	}
	u, err := a.findUser(ctx, key)
	if err != nil {
		return u, err
	}
	if a.users == nil {
		a.users = map[string]account{}
	}
	a.users[key] = u
	return u, nil
}

func (a *accounts) group(ctx context.Context, key string) (account, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if g, ok := a.groups[key]; ok {
		return g, nil
	}
	g, err := a.findGroup(ctx, key)
	if err != nil {
		return g, err
	}
	if a.groups == nil {
		a.groups = map[string]account{}
	}
	a.groups[key] = g
	return g, nil
}

func (a *accounts) findUser(ctx context.Context, key string) (account, error) {
	lookup := user.Lookup
	if _, ok := decimal(key); ok {
		lookup = user.LookupId
	}
	u, err := lookup(key)
	if err != nil {
		if entry, ok := parseEntry(a.getent(ctx, "passwd", key)); ok {
			return entry.user()
		}
		return account{}, noAccount("user", key, err)
	}
	ids := append([]string{u.Uid, u.Gid}, groupIDs(u)...)
	numbers, err := parseIDs(ids)
	if err != nil {
		return account{}, fmt.Errorf("user %q: %w", key, err)
	}
	return account{name: u.Username, id: numbers[0], gid: numbers[1], home: u.HomeDir, groups: numbers[1:]}, nil
}

// groupIDs lists the groups of a local user; one whose groups cannot be read
// has the primary group only.
func groupIDs(u *user.User) []string {
	ids, err := u.GroupIds()
	if err != nil {
		return nil
	}
	return ids
}

func (a *accounts) findGroup(ctx context.Context, key string) (account, error) {
	lookup := user.LookupGroup
	if _, ok := decimal(key); ok {
		lookup = user.LookupGroupId
	}
	g, err := lookup(key)
	if err == nil {
		id, err := strconv.Atoi(g.Gid)
		return account{name: g.Name, id: id}, err
	}
	if entry, ok := parseEntry(a.getent(ctx, "group", key)); ok {
		return entry.group()
	}
	return account{}, noAccount("group", key, err)
}

// noAccount tells an account that is not there from one that could not be
// looked for.
func noAccount(what, key string, err error) error {
	var (
		noUser    user.UnknownUserError
		noUserID  user.UnknownUserIdError
		noGroup   user.UnknownGroupError
		noGroupID user.UnknownGroupIdError
	)
	if errors.As(err, &noUser) || errors.As(err, &noUserID) || errors.As(err, &noGroup) || errors.As(err, &noGroupID) {
		return fmt.Errorf("%s %q: %w", what, key, modules.ErrNoAccount)
	}
	return fmt.Errorf("looking up %s %q: %w", what, key, err)
}

// entry is a line of passwd(5) or group(5), split at its colons.
type entry []string

// parseEntry reads the first line that getent printed.
func parseEntry(out string) (entry, bool) {
	line, _, _ := strings.Cut(out, "\n")
	e := entry(strings.Split(line, ":"))
	return e, len(e) >= 3 && e[0] != ""
}

func (e entry) user() (account, error) {
	if len(e) < 6 {
		return account{}, fmt.Errorf("user %q: the entry has %d fields instead of 7", e[0], len(e))
	}
	ids, err := parseIDs(e[2:4])
	if err != nil {
		return account{}, fmt.Errorf("user %q: %w", e[0], err)
	}
	return account{name: e[0], id: ids[0], gid: ids[1], home: e[5]}, nil
}

func (e entry) group() (account, error) {
	ids, err := parseIDs(e[2:3])
	if err != nil {
		return account{}, fmt.Errorf("group %q: %w", e[0], err)
	}
	return account{name: e[0], id: ids[0]}, nil
}

func parseIDs(texts []string) ([]int, error) {
	ids := make([]int, len(texts))
	for i, text := range texts {
		id, ok := decimal(text)
		if !ok {
			return nil, fmt.Errorf("%q is no id", text)
		}
		ids[i] = id
	}
	return ids, nil
}

// person gives a user with home and all groups.
func (a *accounts) person(ctx context.Context, nameOrID string) (account, error) {
	u, err := a.user(ctx, nameOrID)
	if err != nil {
		return u, err
	}
	if u.groups == nil {
		u.groups, err = parseIDs(strings.Fields(a.idGroups(ctx, u.name)))
	}
	return u, err
}
