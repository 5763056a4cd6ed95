//go:build !host

package tlskey

import (
	"embed"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related].
func (k *TLSKey) Related() []modules.Relation { return k.output().Related() }

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*TLSKey) Examples() fs.FS { return examples }
