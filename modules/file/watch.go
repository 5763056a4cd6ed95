package file

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// Watch implements [modules.Watcher].
func (f *File) Watch(context.Context, modules.Host) (from modules.Sources, err error) {
	if f.Recurse || f.Ensure == absent { // a directory that is in the way may hold something
		from.Trees = []string{f.Name}
	} else {
		from.Paths = []string{f.Name}
	}
	from.AddOwner(f.Owner, f.Group)
	return from, nil
}
