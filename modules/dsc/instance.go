package dsc

import (
	"context"
	"maps"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/dsc/schema"
)

// An instance is a resource and its desired state on one host. Check passes it to Apply and Verify.
type instance struct {
	resource *resource
	wanted   map[string]any // the properties, evaluated and coerced

	how        action
	setPrinted *reading // nil if that was nothing
}

// action is the operation that Apply runs.
type action string

const (
	actSet    action = "set"
	actDelete action = "delete"
)

// open finds the resource and makes its properties ready. It is nil if the instance's
// condition is false.
func (d *DSC) open(ctx context.Context, h modules.Host) (*instance, error) {
	wanted, holds, err := d.evaluate(ctx, h)
	if err != nil || !holds {
		return nil, err
	}
	if err := d.rightUser(); err != nil {
		return nil, err
	}
	rs, err := d.find(ctx, h, secretsIn(wanted))
	if err != nil {
		return nil, err
	}
	if err := rs.usable(); err != nil {
		return nil, err
	}
	if err := rs.loadSchema(ctx); err != nil {
		return nil, err
	}
	if rs.schema != nil {
		coerced, warnings := rs.schema.Coerce(wanted)
		for _, w := range warnings {
			rs.warn("%s", w)
		}
		wanted = coerced.(map[string]any)
	}
	meta := maps.Clone(d.Metadata) // of the document
	delete(meta, "Microsoft.DSC")
	if len(meta) > 0 && rs.schema.Property(metadata).Declared {
		wanted[metadata] = map[string]any(meta)
	}
	return &instance{resource: rs, wanted: wanted}, nil
}

// evaluate returns the properties as values. It reports whether the instance is managed at all.
func (d *DSC) evaluate(ctx context.Context, h modules.Host) (wanted map[string]any, holds bool, err error) {
	wanted, holds = d.Properties, true
	if d.Evaluate != nil {
		if wanted, holds, err = d.Evaluate.Evaluate(ctx, answers{h}, d.Properties); err != nil || !holds {
			return nil, holds, err
		}
	}
	wanted, err = plain(wanted)
	return wanted, holds, err
}

// validate checks the properties before anything else is done.
func (in *instance) validate(ctx context.Context) error {
	rs := in.resource
	if o := rs.operation("validate"); o != nil {
		c := call{name: "validate", operation: o, properties: in.wanted}
		exit, err := rs.call(ctx, c)
		if err != nil {
			return err
		}
		return rs.parse(c, exit, rs.validity)
	}
	if rs.schema == nil {
		return unknowable(rs.as, rs.run)
	}
	var errs []string
	for _, f := range rs.schema.Check(in.wanted) {
		errs = append(errs, below(f).Error())
	}
	if len(errs) > 0 {
		return failed(rs.secrets.Hide(strings.Join(errs, "; ")), "the properties are not what %s takes", rs.as.Type)
	}
	return nil
}

// below returns a fault with its path among the properties of the instance.
func below(f schema.Fault) schema.Fault {
	switch {
	case f.Path == "":
		f.Path = "properties"
	case strings.HasPrefix(f.Path, "["):
		f.Path = "properties" + f.Path
	default:
		f.Path = "properties." + f.Path
	}
	return f
}

// validity reads what validate has printed.
func (rs *resource) validity(p printed) error {
	switch {
	case len(p.values) == 0:
		return failed("", "%s has printed nothing where one JSON object was expected", p.what)
	case len(p.values) > 1:
		return failed(p.line(p.values[1]), "%s has printed more than one JSON object", p.what)
	}
	answer, _ := p.values[0].JSON.(map[string]any)
	valid, ok := answer["valid"].(bool)
	if !ok {
		return failed(p.line(p.values[0]), "%s has not said whether the properties are valid", p.what)
	}
	if valid {
		return nil
	}
	reason, _ := answer["reason"].(string)
	reason = rs.secrets.Hide(reason)
	if strings.TrimSpace(reason) == "" {
		reason = "it gives no reason: " + p.line(p.values[0])
	}
	return failed(reason, "%s reports that the properties are not valid", rs.as.Type)
}
