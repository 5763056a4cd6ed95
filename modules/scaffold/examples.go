//go:build !host

package scaffold

import (
	"embed"
	"io/fs"
)

//go:embed examples/*.yaml
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Scaffold) Examples() fs.FS { return examples }
