//go:build !host

package archive

import "github.com/ccm-push/ccm-push/modules"

// Related implements [modules.Related].
func (a *Archive) Related() []modules.Relation {
	if a.Ensure == absent {
		return []modules.Relation{
			{Verb: modules.Removes, Thing: modules.PathOf(a.Name)},
			modules.LeavesParent(a.Name),
		}
	}
	all := []modules.Relation{{Verb: modules.Makes, Thing: modules.PathOf(a.Name)}, modules.NeedsParent(a.Name)}
	all = append(all, modules.NeedsOwner(a.Owner, a.Group)...)
	if a.ExtractParent != "" {
		all = append(all,
			modules.Relation{Verb: modules.Needs, Thing: modules.PathOf(a.ExtractParent), Reach: modules.Nearest, Why: "directory to unpack into"},
			modules.Relation{Verb: modules.Makes, Thing: modules.PathOf(a.ExtractParent)})
	}
	if a.Creates != "" {
		all = append(all, modules.Relation{Verb: modules.Makes, Thing: modules.PathOf(a.Creates)})
	}
	return all
}
