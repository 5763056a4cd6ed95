package dsc

import (
	"cmp"
	"context"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/dsc/manifest"
)

// whatIf lets a resource predict the result of its set or delete. It is called only if the resource declares that it
// can predict: any other could make the change.
func (in *instance) whatIf(ctx context.Context, c call, v verdict, plan *modules.Plan) error {
	c.changes, c.whatIf = false, true
	switch {
	case c.operation.Has(manifest.WhatIf):
	case c.name == "set" && in.resource.operation("whatIf") != nil:
		c.name, c.operation = "whatIf", in.resource.operation("whatIf")
	default:
		return nil
	}
	exit, err := in.resource.call(ctx, c)
	if err != nil {
		return err
	}
	returns := cmp.Or(c.operation.WhatIfReturns, c.operation.Return)
	if returns == "" && c.name != "delete" || strings.Trim(exit.Stdout.Text, "\ufeff \t\r\n") == "" {
		return nil
	}
	r, err := in.resource.read(c, exit, returns == manifest.ReturnStateAndDiff)
	if err != nil {
		return err
	}
	in.resource.reportWhatIf(r)
	if c.name == "delete" || v.state == nil || len(r.state) == 0 {
		return nil
	}
	names := r.differ
	if returns != manifest.ReturnStateAndDiff {
		names = changed(v.state, r.state)
	}
	if len(names) == 0 {
		return nil
	}
	plan.Changes = nil
	for _, name := range names {
		have, had := v.state[name]
		will, has := r.state[name]
		plan.Changes = append(plan.Changes, modules.Change{
			Property: in.resource.secrets.Hide(name), Have: in.resource.shown(have, had), Want: in.resource.shown(will, has),
		})
	}
	return nil
}

// reportWhatIf reports the resource's own prediction.
func (rs *resource) reportWhatIf(r reading) {
	var lines []any
	switch said := r.meta["whatIf"].(type) {
	case string:
		lines = []any{said}
	case []any:
		lines = said
	}
	for _, line := range lines {
		if text, ok := line.(string); ok {
			rs.tell(info, text)
		}
	}
}
