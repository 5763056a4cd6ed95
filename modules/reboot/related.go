//go:build !host

package reboot

import (
	"embed"
	"io/fs"
)

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Reboot) Examples() fs.FS { return examples }
