package ral

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// Watch implements [modules.Watcher].
func (r *Ral) Watch(context.Context, modules.Host) (modules.Sources, error) {
	return modules.Sources{Polled: "what resources of libral are about only their providers know"}, nil
}
