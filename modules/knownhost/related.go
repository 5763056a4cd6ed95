//go:build !host

package knownhost

import (
	"embed"
	"io/fs"

	"github.com/ccm-push/ccm-push/modules"
)

// Related implements [modules.Related].
func (k *KnownHost) Related() []modules.Relation { return k.edited().Related(k.Ensure == absent) }

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*KnownHost) Examples() fs.FS { return examples }
