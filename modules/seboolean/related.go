//go:build !host

package seboolean

import (
	"embed"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/semanage"
)

// Related implements [modules.Related].
func (b *Seboolean) Related() []modules.Relation { return semanage.Relations() }

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Seboolean) Examples() fs.FS { return examples }
