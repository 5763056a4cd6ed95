//go:build !host

package alternatives

import (
	"embed"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related].
func (a *Alternatives) Related() []modules.Relation {
	all := []modules.Relation{{Verb: modules.Edits, Thing: modules.PathOf(a.chosen())}}
	if a.Link != "" {
		all = append(all, modules.Relation{Verb: modules.Edits, Thing: modules.PathOf(a.Link)})
	}
	switch {
	case a.Path == "":
		return all
	case a.Ensure == absent:
		return append(all, modules.Relation{Verb: modules.Leaves, Thing: modules.PathOf(a.Path), Reach: modules.Nearest, Why: "alternative"})
	}
	return append(all, modules.NeedsCommand(a.Path, "", "alternative")...)
}

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Alternatives) Examples() fs.FS { return examples }
