package file

import (
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/approval"
)

// mayWrite returns a plan to write the file if that is permitted.
func (f *File) mayWrite(files modules.Files, plan modules.Plan, want modules.Attributes) (modules.Plan, error) {
	plan, err := modules.PlanIfPermitted(plan, files.MayReplace(f.Name), files.MayCreate(want))
	if err != nil {
		return plan, err
	}
	return approval.Required(files, f.Name, f.Validation, plan)
}

// hides reports whether only root can read the file with the wanted mode, so that it is unknown whether its content can
// be verified.
func (f *File) hides(want modules.Attributes) bool {
	const ownerMayRead = 0o400
	return f.hasContent() && want.Mode&ownerMayRead == 0
}
