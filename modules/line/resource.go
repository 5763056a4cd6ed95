package line

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// Check implements [modules.Resource].
func (l *Line) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	return l.edited().Check(ctx, h)
}

// Apply implements [modules.Resource].
func (l *Line) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	return l.edited().Apply(ctx, h, p)
}
