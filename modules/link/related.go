//go:build !host

package link

import (
	"path"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related].
func (l *Link) Related() []modules.Relation {
	if l.Ensure == absent {
		return []modules.Relation{
			{Verb: modules.Removes, Thing: modules.PathOf(l.Name)},
			modules.LeavesParent(l.Name),
		}
	}
	all := []modules.Relation{{Verb: modules.Makes, Thing: modules.PathOf(l.Name)}, modules.NeedsParent(l.Name)}
	if l.Target != "" { // it may be received
		target := l.Target
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(l.Name), target)
		}
		all = append(all, modules.Relation{Verb: modules.Needs, Thing: modules.PathOf(target), Reach: modules.Nearest, Why: "target"})
	}
	return append(all, modules.NeedsPackageOf(l.Name)...)
}
