//go:build !host

package line

import (
	"errors"

	"github.com/ccm-push/ccm-push/modules"
)

// ValidateStrict implements [modules.Strict].
func (l *Line) ValidateStrict() error {
	if !l.Create || l.Ensure == absent {
		return nil
	}
	return errors.Join(modules.NotEmpty("owner", l.Owner), modules.NotEmpty("group", l.Group), modules.NotEmpty("mode", l.Mode))
}
