//go:build !host

package timezone

import (
	"embed"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related].
func (z *Timezone) Related() []modules.Relation {
	return append(z.named().Related(false),
		modules.Relation{Verb: modules.Edits, Thing: modules.PathOf("/etc/localtime")},
		modules.Relation{Verb: modules.Needs, Thing: modules.Thing{Kind: modules.ThingPackage, Key: "tzdata"}, Weak: true, Why: "package of the time zones"})
}

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Timezone) Examples() fs.FS { return examples }
