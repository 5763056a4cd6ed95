package dsc

import (
	"os"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/dsc/manifest"
)

// rightUser reports an instance whose document wants another user.
func (d *DSC) rightUser() error {
	switch root := os.Geteuid() == 0; {
	case d.Security == string(manifest.SecurityElevated) && !root:
		text := "the document says that " + d.TypeName + " needs root; use become"
		return &failure{text: text, safe: text, kind: modules.ErrorForbidden}
	case d.Security == string(manifest.SecurityRestricted) && root:
		return failed("", "the document says that %s must not run as root", d.TypeName)
	}
	return nil
}
