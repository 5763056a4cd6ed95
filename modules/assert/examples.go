//go:build !host

package assert

import (
	"embed"
	"io/fs"
)

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Assert) Examples() fs.FS { return examples }
