//go:build !host

package seport

import (
	"embed"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/semanage"
)

// Related implements [modules.Related].
func (p *Seport) Related() []modules.Relation { return semanage.Relations() }

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Seport) Examples() fs.FS { return examples }
