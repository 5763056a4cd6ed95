//go:build !host

package file

import (
	"errors"

	"github.com/ccm-push/ccm-push/modules"
)

// ValidateStrict implements [modules.Strict].
func (f *File) ValidateStrict() error {
	if f.Ensure == absent {
		return nil
	}
	return errors.Join(modules.NotEmpty("owner", f.Owner), modules.NotEmpty("group", f.Group), modules.NotEmpty("mode", f.Mode))
}
