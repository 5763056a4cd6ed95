//go:build !host

package container

import (
	"embed"
	"io/fs"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related]: the package of its program comes first, as do mounted paths and the folder of a
// unit's files.
func (c *Container) Related() (all []modules.Relation) {
	for _, program := range c.programs() {
		all = append(all, modules.NeedsCommand(program, "", program)...)
	}
	if c.Pull == always {
		all = append(all, modules.NeedsCommand("skopeo", "", "skopeo")...)
	}
	if c.Provider == quadlet {
		s := &service{Container: c}
		for _, file := range []string{s.file(), s.variablesFile()} {
			all = append(all, modules.Relation{Verb: modules.Edits, Thing: modules.PathOf(file)}, modules.NeedsParent(file))
		}
	}
	for _, volume := range c.Volumes {
		if at, _, _ := strings.Cut(volume, ":"); strings.HasPrefix(at, "/") {
			all = append(all, modules.Relation{Verb: modules.Needs, Thing: modules.PathOf(at), Reach: modules.Within, Why: "mounted in the container"})
		}
	}
	return all
}

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Container) Examples() fs.FS { return examples }
