// Package builtin has the one registry of resource types.
package builtin

import (
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/exec"
	"github.com/ccm-push/ccm-push/modules/file"
)

// Types lists the resource types, in the order of the documentation.
func Types() modules.Registry {
	return modules.Registry{
		file.Type(),
		exec.Type(),
	}
}
