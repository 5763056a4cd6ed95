package edit

import (
	"errors"
	"path"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/approval"
)

// ValidatePath reports errors in the path of the file, which is the property "path" or, without that, the name of the
// resource.
func ValidatePath(name, file string) error {
	switch {
	case file != "":
		return modules.ValidatePath("path", file)
	case path.IsAbs(name):
		return modules.ValidatePath("name", name)
	case name != "":
		return &modules.PropertyError{Path: "path", Msg: `"path" is missing, and the name of the resource is not the path of a file`, Hint: "write the path of the file, such as path: /etc/hosts"}
	}
	return nil
}

// Validate reports errors in the properties "owner", "group", "mode" and "validate"; it refuses attributes without
// create.
func (f *File) Validate() error {
	var errs []error
	for _, p := range []struct{ property, value string }{{"owner", f.Owner}, {"group", f.Group}, {"mode", f.Mode}} {
		if !f.Create && p.value != "" {
			errs = append(errs, &modules.PropertyError{
				Path: p.property,
				Msg:  p.property + " is only valid with 'create: true'",
				Hint: "a file that is there keeps its own; a file resource changes it",
			})
		}
	}
	if f.Mode != "" {
		_, err := modules.ParseMode(f.Mode)
		errs = append(errs, err)
	}
	return errors.Join(append(errs, approval.Validate("validate", f.Validation))...)
}
