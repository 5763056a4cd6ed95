package system

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
)

// accounts implements [modules.Accounts]. It caches accounts until an action
// changes the host.
type accounts struct {
	// getent returns the entries of a database for a key, for accounts outside of local files (LDAP, SSSD); "" if there
	// are no entries, or if the program is missing.
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
	gid    int // primary group of a user
	home   string
	shell  string
	groups []int // all groups of a user whose groups were looked up
}

// forget empties the cache, since an action may have made or changed an
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
	e, local, err := a.find(ctx, "passwd", key)
	if err != nil {
		return account{}, noAccount("user", key, err)
	}
	u, err := e.user()
	if err == nil && local {
		u.groups = append([]int{u.gid}, localGroups(u.name)...)
	}
	return u, err
}

func (a *accounts) findGroup(ctx context.Context, key string) (account, error) {
	e, _, err := a.find(ctx, "group", key)
	if err != nil {
		return account{}, noAccount("group", key, err)
	}
	return e.group()
}

// find returns the line of an account by name or id: of a local file, else of the host's name
// services. local reports which.
func (a *accounts) find(ctx context.Context, database, key string) (e entry, local bool, err error) {
	id, byID := decimal(key)
	for e, failed := range localEntries(database) {
		if failed != nil {
			err = failed
			break
		}
		if has, ok := decimal(e[2]); ok && (byID && has == id || !byID && e[0] == key) {
			return e, true, nil
		}
	}
	if e, ok := parseEntry(a.getent(ctx, database, key)); ok {
		return e, false, nil
	}
	return nil, false, cmp.Or(err, modules.ErrNoAccount)
}

// localEntries yields the lines of a file below /etc that describe accounts. A missing file has none.
func localEntries(database string) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		f, err := os.Open("/etc/" + database)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20) // bytes: a group with tens of thousands of members
		for lines.Scan() {
			e, ok := parseEntry(lines.Text())
			if ok && !strings.ContainsAny(e[0][:1], "#+-") && !yield(e, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// localGroups lists the ids of the local groups that have a user as a member.
func localGroups(name string) []int {
	var ids []int
	for e, err := range localEntries("group") {
		if err != nil || len(e) < 4 || !slices.Contains(strings.Split(e[3], ","), name) {
			continue
		}
		if id, ok := decimal(e[2]); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// noAccount names the account in an error, and whether it is missing or could not be looked up.
func noAccount(what, key string, err error) error {
	if errors.Is(err, modules.ErrNoAccount) {
		return fmt.Errorf("%s %q: %w", what, key, err)
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
	a := account{name: e[0], id: ids[0], gid: ids[1], home: e[5]}
	if len(e) > 6 {
		a.shell = e[6]
	}
	return a, nil
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
			return nil, fmt.Errorf("%q is not a numeric id", text)
		}
		ids[i] = id
	}
	return ids, nil
}

// person returns a user with home and all groups.
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

// self returns the user that this program runs as. A user without an entry has the values that
// sudo uses then: the id as its name, and / as its home.
func (a *accounts) self(ctx context.Context) account {
	id := os.Geteuid()
	u, err := a.user(ctx, strconv.Itoa(id))
	if err != nil {
		return account{name: strconv.Itoa(id), id: id, home: "/"}
	}
	return u
}

// environment returns the variables that a login of the user sets.
func (u account) environment() []string {
	return []string{"HOME=" + cmp.Or(u.home, "/"), "USER=" + u.name, "LOGNAME=" + u.name, "SHELL=" + cmp.Or(u.shell, "/bin/sh")}
}
