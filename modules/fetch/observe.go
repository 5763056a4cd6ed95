package fetch

import (
	"context"
	"fmt"

	"github.com/ccm-push/ccm-push/modules"
)

// Watch implements [modules.Watcher].
func (f *Fetch) Watch(context.Context, modules.Host) (modules.Sources, error) {
	return modules.Sources{Paths: []string{f.Name}}, nil
}

type state struct {
	Name string `json:"name"`
	Size int64  `json:"size,omitempty"`
	Mode string `json:"mode,omitempty"`
}

// Describe implements [modules.Describer].
func (f *Fetch) Describe(_ context.Context, h modules.Host) (modules.Description, error) {
	at, err := modules.Follow(h.Files, f.Name)
	switch {
	case modules.NotThere(err):
		return modules.Description{Ensure: "absent", Provider: "posix", State: state{Name: f.Name}}, nil
	case err != nil:
		return modules.Description{}, modules.PermissionRefusal(err)
	}
	return modules.Description{Ensure: "present", Provider: "posix", State: state{f.Name, at.Size, fmt.Sprintf("%04o", at.Mode.Perm())}}, nil
}
