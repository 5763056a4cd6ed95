package dsc

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// Watch implements [modules.Watcher].
func (r *DSC) Watch(context.Context, modules.Host) (modules.Sources, error) {
	return modules.Sources{Polled: "only the programs of DSC resources know their state"}, nil
}
