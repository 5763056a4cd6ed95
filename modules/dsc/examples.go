//go:build !host

package dsc

import (
	"embed"
	"io/fs"
)

//go:embed examples/*.yaml examples/details.md
var examples embed.FS

// Examples implements [modules.Exampled].
func (*DSC) Examples() fs.FS { return examples }
