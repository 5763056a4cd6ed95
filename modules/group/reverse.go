package group

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
)

// Subject implements [modules.Reverser].
func (g *Group) Subject() string { return "group " + g.Name }

// Reversal implements [modules.Reverser]: a new group can be removed. An id that has been changed cannot be restored,
// since other things on the host may use the old one.
func (g *Group) Reversal(_ context.Context, h modules.Host, kept modules.Resource) (map[string]any, error) {
	if kept != nil {
		return nil, nil
	}
	tables, err := accounts.Read(h)
	if err != nil {
		return nil, modules.PermissionRefusal(err)
	}
	if _, there := tables.Group(g.Name); there {
		return nil, modules.Refuse("group %q is there already, and only a new one can be undone", g.Name)
	}
	return map[string]any{"ensure": absent}, nil
}
