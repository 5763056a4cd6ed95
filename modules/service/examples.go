//go:build !host

package service

import (
	"embed"
	"io/fs"
)

//go:embed examples/*.yaml
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Service) Examples() fs.FS { return examples }
