//go:build !host

package container

import (
	"embed"
	"io/fs"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related]: the package of its program comes first, and what is mounted in it.
func (c *Container) Related() (all []modules.Relation) {
	programs := []string{"podman", "docker"}
	if c.Provider != "" {
		programs = []string{c.Provider}
	}
	for _, program := range programs {
		all = append(all, modules.NeedsCommand(program, "", program)...)
	}
	for _, volume := range c.Volumes {
		if at, _, _ := strings.Cut(volume, ":"); strings.HasPrefix(at, "/") {
			all = append(all, modules.Relation{Verb: modules.Needs, Thing: modules.PathOf(at), Reach: modules.Within, Why: "what is mounted in it"})
		}
	}
	return all
}

//go:embed examples/*.yaml
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Container) Examples() fs.FS { return examples }
