package forecast

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ccm-push/ccm-push/modules"
)

type predictedAccounts struct {
	modules.Accounts
	h      predictedHost
	byName bool // see [modules.ByName]
}

// ByName returns the accounts for a reader that shows no ids.
func (a predictedAccounts) ByName() modules.Accounts {
	a.byName = true
	return a
}

// account answers for an account that the host itself does not have, and notes
// that one may come into being before it is needed.
func (a predictedAccounts) account(kind modules.EffectKind, name string, id int, err error) (int, error) {
	state, predicted := a.h.Lookup(kind, name)
	account, _ := state.(modules.AccountState)
	switch {
	case !predicted:
		return id, err
	case !account.Exists:
		return 0, fmt.Errorf("%s %q: %w", kind, name, modules.ErrNoAccount)
	case account.ID == nil:
		if !a.byName {
			a.h.p.Doubt(a.h.other[kind][name].ref)
		}
		return modules.PlaceholderID(name), nil
	}
	return *account.ID, nil
}

// UserID implements [modules.Accounts].
func (a predictedAccounts) UserID(ctx context.Context, name string) (int, error) {
	id, err := a.Accounts.UserID(ctx, name)
	return a.account(modules.UserEffect, name, id, err)
}

// GroupID implements [modules.Accounts].
func (a predictedAccounts) GroupID(ctx context.Context, name string) (int, error) {
	id, err := a.Accounts.GroupID(ctx, name)
	return a.account(modules.GroupEffect, name, id, err)
}

// UserName implements [modules.Accounts].
func (a predictedAccounts) UserName(ctx context.Context, uid int) string {
	if name := a.name(modules.UserEffect, uid); name != "" {
		return name
	}
	return a.free(modules.UserEffect, uid, a.Accounts.UserName(ctx, uid))
}

// GroupName implements [modules.Accounts].
func (a predictedAccounts) GroupName(ctx context.Context, gid int) string {
	if name := a.name(modules.GroupEffect, gid); name != "" {
		return name
	}
	return a.free(modules.GroupEffect, gid, a.Accounts.GroupName(ctx, gid))
}

// name finds the account that is predicted to have an id, or nothing.
func (a predictedAccounts) name(kind modules.EffectKind, id int) string {
	a.h.p.Reads.thing(kind, withID(id))
	for name, s := range a.h.other[kind] {
		account, ok := s.state.(modules.AccountState)
		if !ok || !account.Exists {
			continue
		}
		if account.ID == nil && id == modules.PlaceholderID(name) || account.ID != nil && id == *account.ID {
			a.h.weighKind(kind, s.origin)
			return name
		}
	}
	return ""
}

// free returns the current name of an id. If no account will have the id, it adds a doubt about an account whose id the
// host will choose: the host may choose this id.
func (a predictedAccounts) free(kind modules.EffectKind, id int, name string) string {
	if now, ok := a.h.other[kind][name].state.(modules.AccountState); name != strconv.Itoa(id) && (!ok || now.Exists) {
		return name
	}
	a.h.p.Reads.thing(kind, "")
	first := a.h.firstOf(kind, func(state any) bool {
		account, ok := state.(modules.AccountState)
		return ok && account.Exists && account.ID == nil
	})
	if first.ref != "" {
		a.h.p.Doubt(first.ref)
	}
	return name
}
