package forecast

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"

	"github.com/ccm-push/ccm-push/modules"
)

type predictedAccounts struct {
	modules.Accounts
	h predictedHost
}

// placeholderID returns the id of an account for which the host will choose one: an id that is rarely used
// (https://systemd.io/UIDS-GIDS), and that accounts of other names do not share.
func placeholderID(name string) int {
	hash := fnv.New32a()
	hash.Write([]byte(name))
	return 0x7fff_0000 + int(hash.Sum32()&0xffff)
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
		a.h.p.Doubt(a.h.other[kind][name].ref)
		return placeholderID(name), nil
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
	return cmp.Or(a.name(modules.UserEffect, uid), a.Accounts.UserName(ctx, uid))
}

// GroupName implements [modules.Accounts].
func (a predictedAccounts) GroupName(ctx context.Context, gid int) string {
	return cmp.Or(a.name(modules.GroupEffect, gid), a.Accounts.GroupName(ctx, gid))
}

// name finds the account that is predicted to have an id, or nothing.
func (a predictedAccounts) name(kind modules.EffectKind, id int) string {
	a.h.p.Reads.thing(kind, withID(id))
	for name, s := range a.h.other[kind] {
		account, ok := s.state.(modules.AccountState)
		if !ok || !account.Exists {
			continue
		}
		if account.ID == nil && id == placeholderID(name) || account.ID != nil && id == *account.ID {
			a.h.weighKind(kind, s.origin)
			return name
		}
	}
	return ""
}
