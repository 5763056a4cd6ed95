//go:build !host

package user

import (
	"embed"
	"io/fs"
)

//go:embed examples/*.yaml
var examples embed.FS

// Examples implements [modules.Exampled].
func (*User) Examples() fs.FS { return examples }
