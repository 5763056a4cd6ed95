package archive

import (
	"context"
	"path"

	"github.com/ccm-push/ccm-push/modules"
)

// Watch implements [modules.Watcher]. Unpacked files are not watched, except creates.
func (a *Archive) Watch(context.Context, modules.Host) (from modules.Sources, err error) {
	from.Paths = []string{a.Name}
	if a.Ensure == absent {
		return from, nil
	}
	for _, place := range []string{a.Creates, a.ExtractParent} {
		if place != "" {
			from.Paths = append(from.Paths, path.Clean(place))
		}
	}
	from.AddOwner(a.Owner, a.Group)
	return from, nil
}
