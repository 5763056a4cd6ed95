//go:build !host

package archive

import (
	"errors"

	"github.com/ccm-push/ccm-push/modules"
)

// ValidateStrict implements [modules.Strict].
func (a *Archive) ValidateStrict() error {
	if a.Ensure == absent {
		return nil
	}
	return errors.Join(modules.NotEmpty("owner", a.Owner), modules.NotEmpty("group", a.Group))
}
