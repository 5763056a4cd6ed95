//go:build !host

package line

import (
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/approval"
)

// Related implements [modules.Related].
func (l *Line) Related() []modules.Relation {
	all := []modules.Relation{{Verb: modules.Edits, Thing: modules.PathOf(l.file()), Why: "file that it edits"}}
	if l.Ensure == absent {
		return all
	}
	all = append(all, modules.NeedsParent(l.file()))
	if l.Create {
		all = append(all, modules.NeedsOwner(l.Owner, l.Group)...)
	}
	all = append(all, approval.Needs(l.Validation)...)
	return append(all, modules.NeedsPackageOf(l.file())...)
}
