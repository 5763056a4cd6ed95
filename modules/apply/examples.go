//go:build !host

package apply

import (
	"embed"
	"io/fs"
)

//go:embed examples/*.yaml
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Apply) Examples() fs.FS { return examples }
