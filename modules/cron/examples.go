//go:build !host

package cron

import (
	"embed"
	"io/fs"
)

//go:embed examples/*.yaml
var examples embed.FS

// Examples implements [modules.Exampled].
func (*Cron) Examples() fs.FS { return examples }
