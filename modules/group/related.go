//go:build !host

package group

import (
	"strconv"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
)

// Related implements [modules.Related].
func (g *Group) Related() []modules.Relation {
	verb := modules.Makes
	if g.Ensure == absent {
		verb = modules.Removes
	}
	all := []modules.Relation{
		{Verb: verb, Thing: modules.Thing{Kind: modules.ThingGroup, Key: g.Name}},
		modules.Rewrites(accounts.Table),
	}
	if g.GID != nil {
		all = append(all, modules.Relation{Verb: verb, Thing: modules.Thing{Kind: modules.ThingGroup, Key: strconv.Itoa(*g.GID)}})
	}
	return all
}
