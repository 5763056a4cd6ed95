package user

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
)

// findGroup resolves a group that a property names.
func findGroup(ctx context.Context, h modules.Host, tables *accounts.Tables, property, nameOrID string) (g accounts.Group, local bool, err error) {
	missing := modules.Refuse("%s: group %q does not exist; create the group with an earlier group resource", property, nameOrID)
	if gid, isID := accounts.ID(nameOrID); isID {
		if g, ok := tables.GroupWithID(gid); ok {
			return g, true, nil
		}
		name := h.Accounts.GroupName(ctx, gid)
		if name == strconv.Itoa(gid) {
			return g, false, missing
		}
		return accounts.Group{Name: name, GID: gid}, false, nil
	}
	if g, ok := tables.Group(nameOrID); ok {
		return g, true, nil
	}
	elsewhere, err := tables.GroupElsewhere(ctx, nameOrID)
	if err != nil {
		return g, false, err
	}
	if !elsewhere {
		return g, false, missing
	}
	gid, err := h.Accounts.GroupID(ctx, nameOrID)
	return accounts.Group{Name: nameOrID, GID: gid}, false, err
}

// wantGroups resolves the supplementary groups, sorted. It omits the primary group, even if it is listed: the user is a
// member anyway.
func (d *draft) wantGroups(ctx context.Context, primary string) ([]string, error) {
	var names []string
	for i, name := range d.Groups {
		g, local, err := findGroup(ctx, d.h, d.tables, element("groups", i), name)
		if err != nil {
			return nil, err
		}
		if !local {
			return nil, modules.Refuse("%s: group %q is not in %s but in a name service of the host; add members in the name service",
				element("groups", i), name, accounts.GroupFile)
		}
		names = append(names, g.Name)
	}
	return without(names, primary), nil
}

// A regroup holds the supplementary groups that a user has after a change, and the groups that the change adds and
// removes. All are sorted.
type regroup struct{ all, add, remove []string }

// newRegroup returns the change from groups to others; keep adds, and removes none. have and want are sorted.
func newRegroup(have, want []string, keep bool) regroup {
	if keep {
		want = without(append(want, have...), "")
	}
	in := func(names []string) func(string) bool {
		return func(name string) bool { return slices.Contains(names, name) }
	}
	return regroup{all: want, add: slices.DeleteFunc(slices.Clone(want), in(have)), remove: slices.DeleteFunc(slices.Clone(have), in(want))}
}

// isNeeded reports whether the change adds or removes a group.
func (r regroup) isNeeded() bool { return len(r.add)+len(r.remove) > 0 }

// without is a sorted set of names without one of them.
func without(names []string, name string) []string {
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
	slices.Sort(names)
	return slices.Compact(names)
}

// list writes names for people.
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ",")
}

// A primary is the group that a new user gets.
type primary struct {
	accounts.Group
	isNew bool // created together with the user
	named bool // its name is known here; otherwise the host chooses the group
}

func (d *draft) primary(ctx context.Context) (primary, error) {
	if d.Group != "" {
		g, _, err := findGroup(ctx, d.h, d.tables, "group", d.Group)
		return primary{Group: g, named: true}, err
	}
	elsewhere, err := d.tables.GroupElsewhere(ctx, d.Name)
	if err != nil {
		return primary{}, err
	}
	if g, ok := d.tables.Group(d.Name); ok || elsewhere {
		if !ok {
			g = accounts.Group{Name: d.Name, GID: accounts.Unknown}
		}
		return primary{Group: g, named: true}, nil
	}
	if !d.defaults.PrivateGroups && d.tools == accounts.ShadowUtils {
		return primary{Group: accounts.Group{GID: accounts.Unknown}}, nil
	}
	p := primary{Group: accounts.Group{Name: d.Name, GID: accounts.Unknown}, isNew: true, named: true}
	if d.UID != nil {
		if _, taken := d.tables.GIDHolder(ctx, *d.UID); !taken {
			p.GID = *d.UID
		}
	}
	return p, nil
}
