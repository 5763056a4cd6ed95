//go:build !host

package scaffold

import (
	"embed"
	"io/fs"
)

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Scaffold) Examples() fs.FS { return examples }
