//go:build full || !host

package builtin

import (
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/dsc"
	"github.com/ccm-push/ccm-push/modules/ral"
)

// foreign are the types whose resources are programs of others. The lean host
// program is without them: both always need the full one.
func foreign() modules.Registry {
	return modules.Registry{dsc.Type(), ral.Type()}
}
