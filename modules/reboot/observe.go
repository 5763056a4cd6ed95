package reboot

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// Watch implements [modules.Watcher]: the host requests a restart by files, or a program must be run to find out.
func (r *Reboot) Watch(_ context.Context, h modules.Host) (modules.Sources, error) {
	if r.When != pending {
		return modules.Sources{}, nil
	}
	sources := modules.Sources{Paths: asking}
	if modules.HasProgram(h.Files, "", "rpm") {
		sources.Polled = "the output of needs-restarting"
	}
	return sources, nil
}

type state struct {
	Boot  string `json:"boot"`            // the id of this boot
	Asked string `json:"asked,omitempty"` // how it requests a restart
}

// Describe implements [modules.Describer].
func (r *Reboot) Describe(ctx context.Context, h modules.Host) (modules.Description, error) {
	boot, err := bootID(h.Files)
	if err != nil {
		return modules.Description{}, err
	}
	why, err := asked(ctx, h)
	d := modules.Description{Ensure: "running", Provider: "linux", State: state{boot, why}}
	if why != "" {
		d.Ensure = pending
	}
	return d, err
}
