//go:build !host

package line

import (
	"embed"
	"io/fs"
)

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Line) Examples() fs.FS { return examples }
