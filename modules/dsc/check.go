package dsc

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/dsc/manifest"
	"github.com/ccm-push/ccm-push/modules/process"
)

// Effect is the effect kind of programs: whatever a program manages, two of its calls that change something could
// conflict. Keys are the types of resources in lower case; an adapted resource has the type of its adapter.
const Effect modules.EffectKind = "dsc"

// A verdict is the result of a test.
type verdict struct {
	ok         bool
	state      map[string]any // how the instance is; nil if that is not known
	differ     []string       // properties that differ, if known
	untestable bool           // the state cannot be determined
}

// Check implements [modules.Resource].
func (d *DSC) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	in, err := d.open(ctx, h)
	switch {
	case err != nil:
		return modules.Plan{}, err
	case in == nil:
		return modules.Plan{}, modules.SkipError("its condition is false")
	}
	if err := in.validate(ctx); err != nil {
		return modules.Plan{}, err
	}
	v, err := in.test(ctx)
	if err != nil {
		return modules.Plan{}, err
	}
	if in.resource.own == nil {
		h.Forecast.Lookup(Effect, strings.ToLower(in.resource.run.Type)) // all instances of the type may be in one file
	}
	in.resource.reportQuirks(v)
	h.Report.State(modules.State{Before: in.resource.document(v.state)})
	switch {
	case v.ok:
		return modules.Plan{}, nil
	case d.Assert:
		return modules.Plan{}, in.notAsserted(v)
	}
	return in.plan(ctx, v, d.Affects)
}

// reportQuirks reports values in the resource's printed states that were converted to fit: as warnings if a change
// depends on them, else as information.
func (rs *resource) reportQuirks(v verdict) {
	level := warning
	if v.ok {
		level = info
	}
	for _, quirk := range rs.quirks {
		rs.tell(level, quirk)
	}
	rs.quirks = nil
}

// nothing replaces a missing value in errors.
const nothing = "(none)"

// notAsserted returns the failure of an instance that is only tested.
func (in *instance) notAsserted(v verdict) error {
	var texts []string
	for _, c := range in.changes(v) {
		texts = append(texts, c.Property+" is "+cmp.Or(c.Have, nothing)+", not "+cmp.Or(c.Want, nothing))
	}
	return failed(strings.Join(texts, "; "), "%s is not in the desired state", in.resource.as.Type)
}

// test determines whether the instance is in the desired state, with the operations that the resource has.
func (in *instance) test(ctx context.Context) (verdict, error) {
	if in.resource.own != nil {
		return in.resource.own.test(ctx, in)
	}
	o := in.resource.operation("test")
	switch {
	case o != nil && o.Verdict:
		return in.runVerdictTest(ctx, o)
	case o != nil:
		return in.runTest(ctx, o)
	case in.resource.operation("get") == nil:
		return verdict{untestable: true}, nil
	}
	r, err := in.get(ctx)
	if err != nil {
		return verdict{}, err
	}
	return in.verdictOf(r), nil
}

// verdictOf compares a state with the properties. A verdict in the state itself takes precedence.
func (in *instance) verdictOf(r reading) verdict {
	differ := in.compare(r.state)
	v := verdict{ok: len(differ) == 0, state: r.state, differ: differ}
	if r.verdict != nil {
		v.ok = *r.verdict
	}
	return v
}

// runTest runs the test of the resource.
func (in *instance) runTest(ctx context.Context, o *manifest.Operation) (verdict, error) {
	c := call{name: "test", operation: o, properties: in.wanted}
	exit, err := in.resource.call(ctx, c)
	if err != nil {
		return verdict{}, err
	}
	if o.Return == "" {
		if in.resource.operation("get") == nil {
			return verdict{}, failed("", `%s prints no state, and the resource has no operation "get" to compare with`, in.resource.what(c))
		}
		r, err := in.get(ctx)
		return in.verdictOf(r), err
	}
	r, err := in.resource.read(c, exit, o.Return == manifest.ReturnStateAndDiff)
	if err != nil {
		return verdict{}, err
	}
	v := in.verdictOf(r)
	if o.Return == manifest.ReturnStateAndDiff {
		v.differ = slices.Sorted(slices.Values(r.differ))
		if v.ok = len(v.differ) == 0; r.verdict != nil {
			v.ok = *r.verdict
		}
	}
	return v, nil
}

// runVerdictTest runs a test of the first design: its exit code is the answer, and it
// prints the properties that differ as they are.
func (in *instance) runVerdictTest(ctx context.Context, o *manifest.Operation) (verdict, error) {
	c := call{name: "test", operation: o, properties: in.wanted}
	exit, err := in.resource.call(ctx, c)
	if err != nil {
		return verdict{}, err
	}
	v := verdict{ok: exit.Code == 0}
	if v.ok {
		if in.resource.operation("get") != nil { // so that reports know how it is
			r, err := in.get(ctx)
			v.state = r.state
			return v, err
		}
		return v, nil
	}
	r, err := in.resource.read(c, exit, false)
	if err != nil {
		return verdict{}, err
	}
	v.state, v.differ = r.state, slices.Sorted(maps.Keys(r.state))
	return v, nil
}

// changes returns the differences, in the words of reports.
func (in *instance) changes(v verdict) []modules.Change {
	var all []modules.Change
	for _, name := range v.differ {
		have, had := v.state[name]
		want, given := in.wanted[name]
		if !given && name == exist {
			want, given = true, true
		}
		c := modules.Change{Property: in.resource.secrets.Hide(name), Have: in.resource.shown(have, had), Want: in.resource.shown(want, given)}
		all = append(all, c)
	}
	if len(all) == 0 && !v.untestable {
		all = append(all, modules.Change{Property: inDesiredState, Have: "false", Want: "true"})
	}
	return all
}

// plan returns the plan for reaching the desired state.
func (in *instance) plan(ctx context.Context, v verdict, affects modules.Affects) (modules.Plan, error) {
	c, err := in.route(v)
	if err != nil {
		return modules.Plan{}, err
	}
	plan := modules.Plan{
		Action:         string(in.how) + " " + in.resource.as.Type,
		Changes:        in.changes(v),
		Effects:        append(affects.Effects(), modules.Effect{Kind: Effect, Key: strings.ToLower(in.resource.run.Type)}),
		LikelySucceeds: true, Listed: affects != nil,
		Steps: in,
	}
	if v.untestable { // such as RunCommandOnSet: whether it has run is unknown
		plan.Command = modules.RunsOnce
	}
	if in.how == actDelete {
		plan.Action = "deleted " + in.resource.as.Type
	}
	if in.resource.own != nil {
		return plan, in.resource.own.allowed(in)
	}
	if err := in.resource.allowed(c); err != nil {
		return modules.Plan{}, err
	}
	return plan, in.whatIf(ctx, c, v, &plan)
}

// route chooses the operation that brings the instance about.
func (in *instance) route(v verdict) (call, error) {
	if in.resource.own != nil {
		if in.resource.own.set == nil {
			return call{}, in.notSettable(v)
		}
		in.how = actSet
		return call{}, nil
	}
	set, del := in.resource.operation("set"), in.resource.operation("delete")
	handles := set != nil && (set.HandlesExist || slices.ContainsFunc(in.resource.as.Capabilities, func(s string) bool {
		return strings.EqualFold(s, "setHandlesExist")
	}))
	switch {
	case in.absentWanted() && !handles && del != nil:
		in.how = actDelete
		return call{name: "delete", operation: del, properties: in.wanted, changes: true}, nil
	case in.absentWanted() && !handles:
		return call{}, modules.Refuse(`%s has no operation "delete", and its operation "set" does not handle _exist: false`, in.resource.as.Type)
	case set == nil:
		return call{}, in.notSettable(v)
	}
	in.how = actSet
	return call{name: "set", operation: set, properties: in.wanted, changes: true}, nil
}

func (in *instance) notSettable(v verdict) error {
	err := in.notAsserted(v).(*process.Failure)
	err.Text += "; and it has no set"
	err.Safe += "; and it has no set"
	return err
}

// Repeat implements [modules.Commander], as far as the type is known.
func (d *DSC) Repeat() modules.Repeat {
	if own := builtinResourceOf(d.TypeName); own != nil && own.get == nil && own.set != nil {
		return modules.RunsOnce
	}
	return modules.NoCommand
}
