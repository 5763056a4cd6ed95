//go:build !host

package fetch

import (
	"embed"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related].
func (f *Fetch) Related() []modules.Relation {
	return []modules.Relation{{Verb: modules.Needs, Thing: modules.PathOf(f.Name), Reach: modules.Nearest, Why: "file that is fetched"}}
}

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Fetch) Examples() fs.FS { return examples }
