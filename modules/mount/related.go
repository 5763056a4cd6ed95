//go:build !host

package mount

import (
	"embed"
	"io/fs"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related]: resources below the path come after it.
func (m *Mount) Related() []modules.Relation {
	all := []modules.Relation{{Verb: modules.Edits, Thing: modules.PathOf(m.edited().Path), Why: "file that it edits"}}
	if m.Ensure == absent || m.Ensure == unmounted {
		return append(all, modules.Relation{Verb: modules.Leaves, Thing: modules.PathOf(m.Name), Why: "mount point"})
	}
	all = append(all,
		modules.Relation{Verb: modules.Edits, Thing: modules.PathOf(m.Name), Why: "mount point"},
		modules.NeedsParent(m.Name))
	if m.bind() && strings.HasPrefix(m.Device, "/") {
		all = append(all, modules.Relation{Verb: modules.Needs, Thing: modules.PathOf(m.Device), Reach: modules.Nearest, Why: "directory that is mounted"})
	}
	for _, name := range map[string][]string{"nfs": {"nfs-common", "nfs-utils"}, "nfs4": {"nfs-common", "nfs-utils"}, "cifs": {"cifs-utils"}, "xfs": {"xfsprogs"}}[m.Fstype] {
		all = append(all, modules.Relation{Verb: modules.Needs, Thing: modules.Thing{Kind: modules.ThingPackage, Key: name}, Weak: true, Why: "package of its file system"})
	}
	return all
}

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Mount) Examples() fs.FS { return examples }
