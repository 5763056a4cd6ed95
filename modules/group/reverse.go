package group

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
)

// Subject implements [modules.Reverser].
func (g *Group) Subject() string { return "group " + g.Name }

// Reversal implements [modules.Reverser]: what was not there can be removed. Nobody can
// say what else on the host goes by an id that has been given away.
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
