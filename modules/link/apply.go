package link

import (
	"context"
	"errors"

	"github.com/ccm-push/ccm-push/modules"
)

// Apply implements [modules.Resource].
func (l *Link) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	switch p.Steps {
	case remove:
		return h.Files.Remove(ctx, l.Name, false)
	case store:
		return h.Files.Symlink(ctx, l.Name, l.Target)
	case replaceDirectory:
		if err := h.Files.Remove(ctx, l.Name, false); err != nil {
			return err
		}
		// Once the directory is gone, the link is created even if the run ends.
		return h.Files.Symlink(context.WithoutCancel(ctx), l.Name, l.Target)
	}
	return errors.New("the plan is not one of a link")
}
