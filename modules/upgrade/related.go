//go:build !host

package upgrade

import (
	"embed"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related]: the sources of packages come first.
func (u *Upgrade) Related() []modules.Relation { return modules.NeedsRepositories() }

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Upgrade) Examples() fs.FS { return examples }
