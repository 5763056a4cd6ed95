package ral

import (
	"context"

	"github.com/ccm-push/ccm-push/modules"
)

// Watch implements [modules.Watcher].
func (r *Ral) Watch(context.Context, modules.Host) (modules.Sources, error) {
	return modules.Sources{Polled: "only the providers of libral know the state of their resources"}, nil
}
