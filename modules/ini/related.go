//go:build !host

package ini

import (
	"embed"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related].
func (i *Ini) Related() []modules.Relation { return i.edited().Related(i.Ensure == absent) }

// ValidateStrict implements [modules.Strict].
func (i *Ini) ValidateStrict() error { return i.edited().ValidateStrict(i.Ensure == absent) }

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Ini) Examples() fs.FS { return examples }
