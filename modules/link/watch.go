package link

import (
	"context"
	"path"

	"github.com/ccm-push/ccm-push/modules"
)

// Watch implements [modules.Watcher]: a directory in place of the link is watched with its contents.
func (l *Link) Watch(_ context.Context, h modules.Host) (from modules.Sources, err error) {
	target := l.Target
	if !path.IsAbs(target) {
		target = path.Join(path.Dir(l.Name), target)
	}
	from.Paths = []string{l.Name, target} // it may lead back to the link
	from.AddBelow(h.Files, l.Name)
	return from, nil
}
