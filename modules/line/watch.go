package line

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// Watch implements [modules.Watcher].
func (l *Line) Watch(context.Context, modules.Host) (from modules.Sources, err error) {
	from.Paths = []string{l.file()}
	if l.Create {
		from.AddOwner(l.Owner, l.Group)
	}
	return from, nil
}
