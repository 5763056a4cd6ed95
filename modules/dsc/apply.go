package dsc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/dsc/manifest"
	"github.com/ccm-push/ccm-push/modules/process"
)

// Apply implements [modules.Resource].
func (d *DSC) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	in, ok := p.Steps.(*instance)
	if !ok {
		return errors.New("the plan is not one of a DSC resource")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	in.resource.h, in.setPrinted = h, nil // the host reports to this phase
	if in.resource.own != nil {
		state, err := in.resource.own.set(ctx, in)
		in.report(reading{state: state})
		return err
	}
	if in.how == actDelete {
		_, err := in.resource.call(ctx, call{name: "delete", operation: in.resource.operation("delete"), properties: in.wanted, changes: true})
		return err
	}
	return in.set(ctx)
}

// set runs the set of the resource, and reports the state that it prints.
func (in *instance) set(ctx context.Context) error {
	c := call{name: "set", operation: in.resource.operation("set"), properties: in.wanted, changes: true}
	exit, err := in.resource.call(ctx, c)
	if err != nil || c.operation.Return == "" {
		return err
	}
	r, err := in.resource.read(c, exit, c.operation.Return == manifest.ReturnStateAndDiff)
	if err != nil {
		return err
	}
	in.setPrinted = &r
	in.report(r)
	return nil
}

// report reports the state of the instance after the change.
func (in *instance) report(r reading) {
	in.resource.h.Report.State(modules.State{After: in.resource.document(r.state), Restart: r.restart})
}

// Verify implements [modules.Verifier]: the instance is tested again. The output of set is ignored here, unless the
// author trusts it (verify: false): a program that prints its input would always be right.
func (d *DSC) Verify(ctx context.Context, h modules.Host, p modules.Plan) error {
	in := p.Steps.(*instance)
	in.resource.h = h // which reports to this phase
	if in.resource.own != nil || in.resource.operation("test") == nil && in.resource.operation("get") == nil {
		return nil // only its exit code reports the result
	}
	if d.Retest != nil && !*d.Retest {
		return in.believed(ctx)
	}
	v, err := in.test(ctx)
	if err != nil {
		return err
	}
	if v.state != nil {
		in.report(reading{state: v.state})
	}
	if v.ok {
		return nil
	}
	var reasons []string
	for _, c := range in.changes(v) {
		reasons = append(reasons, fmt.Sprintf("%s mismatch: state=%s requested=%s", c.Property, cmp.Or(c.Have, nothing), cmp.Or(c.Want, nothing)))
	}
	return &process.Failure{
		Text: strings.Join(reasons, ", "),
		Safe: plural(len(reasons), "a property is", "%d properties are") + " not as requested",
	}
}

// believed trusts the exit code of set or delete, and the desired state reported by set. It calls get only if set has
// printed no state.
func (in *instance) believed(ctx context.Context) error {
	switch printed := in.setPrinted; {
	case printed != nil && printed.verdict != nil && !*printed.verdict:
		return failed("", "set of %s reports that the instance is not in the desired state", in.resource.as.Type)
	case printed != nil || in.resource.operation("get") == nil:
		return nil
	}
	r, err := in.get(ctx)
	if err != nil {
		return err
	}
	in.report(r)
	return nil
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf(many, n)
}
