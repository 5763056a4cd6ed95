//go:build !host

package file

import (
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/approval"
)

// Related implements [modules.Related].
func (f *File) Related() []modules.Relation {
	if f.Ensure == absent {
		return []modules.Relation{
			{Verb: modules.Removes, Thing: modules.PathOf(f.Name)},
			modules.LeavesParent(f.Name),
		}
	}
	all := []modules.Relation{{Verb: modules.Makes, Thing: modules.PathOf(f.Name)}, modules.NeedsParent(f.Name)}
	all = append(all, modules.NeedsOwner(f.Owner, f.Group)...)
	all = append(all, approval.Needs(f.Validation)...)
	return append(all, modules.NeedsPackageOf(f.Name)...)
}
