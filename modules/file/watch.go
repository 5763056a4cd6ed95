package file

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// Watch implements [modules.Watcher]: a directory with ensure: absent is watched with its contents.
func (f *File) Watch(_ context.Context, h modules.Host) (from modules.Sources, err error) {
	from.Paths = []string{f.Name}
	if f.Recurse || f.Ensure == absent {
		from.AddBelow(h.Files, f.Name)
	}
	from.AddOwner(f.Owner, f.Group)
	return from, nil
}
