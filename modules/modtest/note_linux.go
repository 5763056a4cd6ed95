package modtest

import (
	"context"
	"strconv"

	"github.com/ccm-push/ccm-push/modules"
)

// note is a resource that always reports an action, and does nothing.
type note struct{}

func noteType() modules.Type {
	return modules.Type{Name: "note", Doc: "Changes nothing.", New: func() modules.Resource { return new(note) }}
}

func (*note) Validate() error { return nil }

func (*note) Check(context.Context, modules.Host) (modules.Plan, error) {
	return modules.Plan{Action: "done", Changes: []modules.Change{{Property: "note"}}}, nil
}

func (*note) Apply(context.Context, modules.Host, modules.Plan) error { return nil }

func (*note) Verify(context.Context, modules.Host, modules.Plan) error { return nil }

func decimal(n uintptr) string { return strconv.FormatUint(uint64(n), 10) }
