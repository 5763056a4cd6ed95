package file

import (
	"cmp"
	"context"
	"path/filepath"

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

// mayRemoveTree asks for every name in a tree whether it may be removed, since a
// removal that is denied half-way has done its harm.
func mayRemoveTree(ctx context.Context, files modules.Files, name string) error {
	if err := cmp.Or(ctx.Err(), files.MayReplace(name)); err != nil {
		return err
	}
	info, err := files.Stat(name)
	if err != nil || info.Kind != modules.Directory {
		return err
	}
	names, err := files.List(name)
	if err != nil {
		return err
	}
	for _, below := range names {
		if err := mayRemoveTree(ctx, files, filepath.Join(name, below)); err != nil {
			return err
		}
	}
	return nil
}

// hides reports whether the wanted mode keeps anybody but root from reading the
// file again, so that it cannot be said whether its content will be verified.
func (f *File) hides(want modules.Attributes) bool {
	const ownerMayRead = 0o400
	return f.hasContent() && want.Mode&ownerMayRead == 0
}
