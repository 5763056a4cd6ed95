// Package builtin has the one registry of resource types.
package builtin

import (
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/apply"
	"github.com/ccm-push/ccm-push/modules/archive"
	"github.com/ccm-push/ccm-push/modules/assert"
	"github.com/ccm-push/ccm-push/modules/cron"
	"github.com/ccm-push/ccm-push/modules/exec"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/group"
	"github.com/ccm-push/ccm-push/modules/line"
	"github.com/ccm-push/ccm-push/modules/link"
	"github.com/ccm-push/ccm-push/modules/pkg"
	"github.com/ccm-push/ccm-push/modules/scaffold"
	"github.com/ccm-push/ccm-push/modules/service"
	"github.com/ccm-push/ccm-push/modules/set"
	"github.com/ccm-push/ccm-push/modules/user"
)

// Types lists the resource types, in the order of the documentation.
func Types() modules.Registry {
	return append(modules.Registry{
		file.Type(),
		exec.Type(),
		group.Type(),
		user.Type(),
		service.Type(),
		pkg.Type(),
		archive.Type(),
		link.Type(),
		line.Type(),
		cron.Type(),
		assert.Type(),
		set.Type(),
		scaffold.Type(),
		apply.Type(),
	}, foreign()...)
}
