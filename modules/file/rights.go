package file

import (
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/approval"
)

// mayWrite gives a plan of writing the file if that is allowed.
func (f *File) mayWrite(files modules.Files, plan modules.Plan, want modules.Attributes) (modules.Plan, error) {
	plan, err := modules.PlanIfPermitted(plan, files.MayReplace(f.Name), files.MayCreate(want))
	if err != nil {
		return plan, err
	}
	return approval.Required(files, f.Name, f.Validation, plan)
}

// hides reports whether the wanted mode keeps anybody but root from reading the
// file again, so that it cannot be said whether its content will be verified.
func (f *File) hides(want modules.Attributes) bool {
	const ownerMayRead = 0o400
	return f.hasContent() && want.Mode&ownerMayRead == 0
}
