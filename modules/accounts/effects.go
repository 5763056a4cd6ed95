package accounts

import (
	"slices"
	"strconv"

	"github.com/ccm-push/ccm-push/modules"
)

// The kinds of effect that this package understands itself.
const (
	kindUser    modules.EffectKind = "accounts.user"     // key: name, state: PredictedUser
	kindGroup   modules.EffectKind = "accounts.group"    // key: name, state: predictedGroup
	kindUID     modules.EffectKind = "accounts.uid"      // key: uid, state: name of the user who will have it
	kindGID     modules.EffectKind = "accounts.gid"      // key: gid, state: name of the group that will have it
	kindPrimary modules.EffectKind = "accounts.primary"  // key: group, state: []string, users who will have it as their primary one
	kindComment modules.EffectKind = "accounts.comment." // with the name of a user, of a [modules.KindEffect]
)

// A PredictedUser is the predicted state of a user.
type PredictedUser struct {
	User
	Exists  bool
	Primary string   // name of the primary group
	Groups  []string // names of the others
	Shadow  *Shadow  // nil if unchanged
}

type predictedGroup struct {
	Group
	Exists bool
}

func (t *Tables) predictedUser(name string) (PredictedUser, bool) {
	state, ok := t.h.Forecast.Lookup(kindUser, name)
	f, _ := state.(PredictedUser)
	return f, ok
}

func (t *Tables) predictedGroup(name string) (predictedGroup, bool) {
	state, ok := t.h.Forecast.Lookup(kindGroup, name)
	f, _ := state.(predictedGroup)
	return f, ok
}

// UserEffects predict a user: for this package, and for resources that look up an owner.
func (t *Tables) UserEffects(f PredictedUser) []modules.Effect {
	effects := append([]modules.Effect{
		{Kind: kindUser, Key: f.Name, State: f},
		{Kind: modules.UserEffect, Key: f.Name, State: account(f.Exists, f.UID)},
	}, fileEffects(PasswdFile, ShadowFile, GroupFile, gshadowFile)...)
	if _, there := t.User(f.Name); there != f.Exists {
		effects = append(effects, fileEffects(subUIDFile, subGIDFile)...)
	}
	if !f.Exists {
		return effects
	}
	if f.UID != Unknown {
		effects = append(effects, modules.Effect{Kind: kindUID, Key: strconv.Itoa(f.UID), State: f.Name})
	}
	if f.Primary != "" {
		state, _ := t.h.Forecast.Lookup(kindPrimary, f.Primary)
		others, _ := state.([]string)
		effects = append(effects, modules.Effect{Kind: kindPrimary, Key: f.Primary, State: append(slices.Clone(others), f.Name)})
	}
	return effects
}

// CommentEffect is the effect of a plan that sets the comment of a user to a text that is not known.
func CommentEffect(user string) modules.Effect {
	return modules.Effect{Kind: modules.KindEffect, Key: string(kindComment) + user}
}

// GroupEffects predict a group.
func GroupEffects(g Group, exists bool) []modules.Effect {
	effects := append([]modules.Effect{
		{Kind: kindGroup, Key: g.Name, State: predictedGroup{g, exists}},
		{Kind: modules.GroupEffect, Key: g.Name, State: account(exists, g.GID)},
	}, fileEffects(GroupFile, gshadowFile)...)
	if exists && g.GID != Unknown {
		effects = append(effects, modules.Effect{Kind: kindGID, Key: strconv.Itoa(g.GID), State: g.Name})
	}
	return effects
}

// fileEffects are the files of accounts that a plan changes. The contents that [Tables] has read of them count as
// certain all the same.
func fileEffects(files ...string) []modules.Effect { return modules.Differ(kindUser, files...) }

func account(exists bool, id int) modules.AccountState {
	if !exists || id == Unknown {
		return modules.AccountState{Exists: exists}
	}
	return modules.AccountState{Exists: true, ID: &id}
}
