//go:build !host

package swap

import (
	"embed"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related].
func (s *Swap) Related() []modules.Relation {
	all := s.files().Related(s.Ensure == absent)
	switch {
	case s.device():
		return append(all, modules.Relation{Verb: modules.Edits, Thing: modules.PathOf(s.Name)})
	case s.Ensure == absent:
		return append(all, modules.Relation{Verb: modules.Removes, Thing: modules.PathOf(s.Name)}, modules.LeavesParent(s.Name))
	}
	return append(all, modules.Relation{Verb: modules.Makes, Thing: modules.PathOf(s.Name)}, modules.NeedsParent(s.Name))
}

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Swap) Examples() fs.FS { return examples }
