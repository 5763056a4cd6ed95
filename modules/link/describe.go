package link

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

type state struct {
	Name     string `json:"name"`
	Target   string `json:"target,omitempty"`
	Provider string `json:"provider"`
}

const provider = "posix"

// Describe implements [modules.Describer]. A path that is not a link counts as absent.
func (l *Link) Describe(_ context.Context, h modules.Host) (modules.Description, error) {
	at, err := h.Files.Stat(l.Name)
	if err != nil && !modules.NotThere(err) {
		return modules.Description{}, err
	}
	d := modules.Description{Ensure: absent, Provider: provider}
	if err == nil && at.Kind == modules.Symlink {
		d.Ensure = present
	}
	d.State = state{Name: l.Name, Target: at.Target, Provider: provider}
	return d, nil
}
