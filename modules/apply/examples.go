//go:build !host

package apply

import (
	"embed"
	"io/fs"
)

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Apply) Examples() fs.FS { return examples }
