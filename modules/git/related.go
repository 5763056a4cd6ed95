//go:build !host

package git

import (
	"embed"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related].
func (g *Git) Related() []modules.Relation {
	all := modules.NeedsCommand("git", "", "git")
	if g.Ensure == absent {
		return append(all, modules.Relation{Verb: modules.Removes, Thing: modules.PathOf(g.Name)}, modules.LeavesParent(g.Name))
	}
	all = append(all, modules.Relation{Verb: modules.Makes, Thing: modules.PathOf(g.Name)}, modules.NeedsParent(g.Name))
	all = append(all, modules.NeedsOwner(g.User, "")...)
	for why, file := range map[string]string{"key": g.Key, "allowed signers": g.Signers} {
		if file != "" {
			all = append(all, modules.Relation{Verb: modules.Needs, Thing: modules.PathOf(file), Reach: modules.Nearest, Why: why})
		}
	}
	return all
}

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Git) Examples() fs.FS { return examples }
