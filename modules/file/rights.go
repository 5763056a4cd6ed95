package file

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/approval"
)

// mayWrite returns a plan to write the file if that is permitted.
func (c *comparison) mayWrite(ctx context.Context, plan modules.Plan) (modules.Plan, error) {
	plan, err := modules.PlanIfPermitted(plan, c.h.Files.MayReplace(c.Name), c.h.Files.MayCreate(c.want))
	if err != nil {
		return plan, err
	}
	request := approval.Request{Name: c.Name, Command: c.Validation, Want: c.want}
	if len(plan.Needs) > 0 {
		request.Content = plan.Needs[0]
	}
	return request.Required(ctx, c.h, plan)
}

// hides reports whether only root can read the file with the wanted mode, so that it is unknown whether its content can
// be verified.
func (c *comparison) hides() bool {
	const ownerMayRead = 0o400
	return c.hasContent() && c.want.Mode&ownerMayRead == 0
}
