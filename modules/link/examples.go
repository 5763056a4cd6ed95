//go:build !host

package link

import (
	"embed"
	"io/fs"
)

//go:embed examples/*.yaml
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Link) Examples() fs.FS { return examples }
