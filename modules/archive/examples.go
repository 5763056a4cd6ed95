//go:build !host

package archive

import (
	"embed"
	"io/fs"
)

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Archive) Examples() fs.FS { return examples }
