//go:build !host

package selinux

import (
	"embed"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/semanage"
)

// Related implements [modules.Related].
func (s *Selinux) Related() []modules.Relation {
	all := []modules.Relation{modules.Rewrites("selinux"), {Verb: modules.Edits, Thing: modules.PathOf(semanage.Config), Why: "file that it edits"}}
	for _, name := range []string{"selinux-policy", "selinux-policy-" + s.Policy, "selinux-utils", "libselinux-utils"} {
		all = append(all, modules.Relation{Verb: modules.Needs, Thing: modules.Thing{Kind: modules.ThingPackage, Key: name}, Weak: true, Why: "package of SELinux"})
	}
	return all
}

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Selinux) Examples() fs.FS { return examples }
