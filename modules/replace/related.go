//go:build !host

package replace

import (
	"embed"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related].
func (r *Replace) Related() []modules.Relation { return r.edited().Related(false) }

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Replace) Examples() fs.FS { return examples }
