//go:build !host

package user

import (
	"path"
	"strconv"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
)

// Related implements [modules.Related].
func (u *User) Related() []modules.Relation {
	group := u.Group
	if group == "" {
		group = u.Name // the group that is created with the user, if the host does so
	}
	if u.Ensure == absent {
		return []modules.Relation{
			{Verb: modules.Removes, Thing: modules.Thing{Kind: modules.ThingUser, Key: u.Name}},
			{Verb: modules.Leaves, Thing: modules.Thing{Kind: modules.ThingGroup, Key: group}, Why: "primary group"},
			modules.Rewrites(accounts.Table),
		}
	}
	all := []modules.Relation{
		{Verb: modules.Makes, Thing: modules.Thing{Kind: modules.ThingUser, Key: u.Name}},
		{Verb: modules.Needs, Thing: modules.Thing{Kind: modules.ThingGroup, Key: group}, Why: "primary group"},
		modules.Rewrites(accounts.Table),
	}
	if u.UID != nil {
		all = append(all, modules.Relation{Verb: modules.Makes, Thing: modules.Thing{Kind: modules.ThingUser, Key: strconv.Itoa(*u.UID)}})
	}
	if u.Group == "" {
		all = append(all, modules.Relation{Verb: modules.Makes, Thing: modules.Thing{Kind: modules.ThingGroup, Key: u.Name}})
	}
	for _, name := range u.Groups {
		all = append(all, modules.Relation{Verb: modules.Needs, Thing: modules.Thing{Kind: modules.ThingGroup, Key: name}, Why: "group"})
	}
	return append(all, u.pathRelations()...)
}

// pathRelations are the relations of the home and the shell.
func (u *User) pathRelations() []modules.Relation {
	var all []modules.Relation
	if u.Home != "" {
		all = append(all, modules.NeedsParent(u.Home))
		if u.CreateHome == nil || *u.CreateHome {
			all = append(all, modules.Relation{Verb: modules.Makes, Thing: modules.PathOf(u.Home)})
		}
	}
	if u.Shell != "" {
		all = append(all,
			modules.Relation{Verb: modules.Needs, Thing: modules.PathOf(u.Shell), Why: "shell"},
			modules.Relation{Verb: modules.Needs, Thing: modules.Thing{Kind: modules.ThingPackage, Key: path.Base(u.Shell)}, Weak: true, Why: "package of its shell"})
	}
	return all
}
