package dsc

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/dsc/manifest"
	"github.com/ccm-push/ccm-push/modules/dsc/schema"
	"github.com/ccm-push/ccm-push/modules/process"
)

// An instance is a resource and what it is wanted to be, on one host. It goes from
// Check to Apply and Verify.
type instance struct {
	*DSC
	h       modules.Host
	found   *found
	schema  *schema.Schema // nil if there is none
	wanted  map[string]any // the properties, evaluated and coerced
	secrets process.Secrets
	told    map[string]bool // messages
	quirks  []string        // what was coerced in states

	how        action
	setPrinted *reading // nil if that was nothing
}

// action is what Apply does.
type action string

const (
	actSet    action = "set"
	actDelete action = "delete"
)

// open finds the resource and makes its properties ready. It is nil if the instance's
// condition is false.
func (d *DSC) open(ctx context.Context, h modules.Host) (*instance, error) {
	in := &instance{DSC: d, h: h, told: map[string]bool{}}
	holds, err := in.evaluate(ctx)
	if err != nil || !holds {
		return nil, err
	}
	if err := d.rightUser(); err != nil {
		return nil, err
	}
	in.secrets = secretsIn(in.wanted)
	if in.found, err = d.find(ctx, h); err != nil {
		return nil, err
	}
	if err := in.usable(ctx); err != nil {
		return nil, err
	}
	if err := in.loadSchema(ctx); err != nil {
		return nil, err
	}
	if in.schema != nil {
		coerced, warnings := in.schema.Coerce(in.wanted)
		for _, w := range warnings {
			in.warn("%s", w)
		}
		in.wanted = coerced.(map[string]any)
	}
	in.addMetadata()
	return in, nil
}

// evaluate gives the properties as values. It reports whether the instance is managed
// at all.
func (in *instance) evaluate(ctx context.Context) (holds bool, err error) {
	if in.Evaluate == nil {
		in.wanted, err = plain(in.Properties)
		return true, err
	}
	values, holds, err := in.Evaluate.Evaluate(ctx, answers{in.h}, in.Properties)
	if err != nil || !holds {
		return holds, err
	}
	in.wanted, err = plain(values)
	return true, err
}

// usable reports a resource that cannot be run by itself, or lacks something here.
func (in *instance) usable(ctx context.Context) error {
	f := in.found
	for _, w := range f.as.Warnings {
		in.warn("%s: %s", f.file, w)
	}
	if f.as.Deprecation != "" {
		in.warn("%s is deprecated: %s", f.as.Type, f.as.Deprecation)
	}
	switch {
	case f.own != nil:
		return nil
	case f.as.Kind == manifest.KindAdapter:
		return modules.Refuse("%s is an adapter, which runs resources and is none itself", f.as.Type)
	case f.as.Kind != manifest.KindResource && f.as.Kind != manifest.KindExporter:
		return modules.Refuse("%s is of the kind %s, and only resources can be run", f.as.Type, f.as.Kind)
	case f.as.Adapted() && f.run.Adapter.InputKind != "single":
		return modules.Refuse("the adapter %s takes its input in the way called %q; only %q is supported", f.run.Type, f.run.Adapter.InputKind, "single")
	}
	for _, needs := range f.as.Requires {
		if needs.ResourceType != "executable" {
			continue
		}
		if (answers{in.h}).which(needs.Resource) == nil {
			return modules.Refuse("%s needs the program %s, which is not on the host", f.as.Type, needs.Resource)
		}
	}
	return nil
}

// operation gives an operation of the resource; nil if it has none. What an adapted
// resource can do it may say itself.
func (in *instance) operation(name string) *manifest.Operation {
	has := in.found.as.Capabilities
	said := in.found.as.Adapted() && has != nil && slices.Contains([]string{"get", "set", "test", "delete", "export"}, name)
	if said && !slices.ContainsFunc(has, func(s string) bool { return strings.EqualFold(s, name) }) {
		return nil
	}
	return in.found.run.Operation(name)
}

// loadSchema gets the schema of the instance: from the manifest, or from the command
// that prints it.
func (in *instance) loadSchema(ctx context.Context) error {
	s := in.found.as.Schema
	if s == nil {
		return nil
	}
	doc := s.Embedded
	if s.Command != nil {
		c := call{name: "schema", operation: s.Command}
		exit, err := in.call(ctx, c)
		if err != nil {
			return err
		}
		values, err := printed(exit.Stdout.Text)
		switch {
		case err != nil:
			err = in.notJSON(in.what(c), err)
		case len(values) != 1:
			err = failed("", "%s has printed %d JSON values where a schema was expected", in.what(c), len(values))
		}
		if err != nil {
			in.show(c, exit)
			return err
		}
		doc = json.RawMessage(withoutMark(exit.Stdout.Text))
	}
	compiled, err := schema.Compile(doc)
	if err != nil {
		return modules.Refuse("%s: %w", in.found.as.Type, err)
	}
	for _, w := range compiled.Warnings() {
		in.warn("%s: %s", in.found.as.Type, w)
	}
	in.schema = compiled
	return nil
}

// addMetadata hands the metadata of a document on to resources that take it.
func (in *instance) addMetadata() {
	meta := maps.Clone(in.Metadata)
	delete(meta, "Microsoft.DSC")
	if len(meta) > 0 && in.schema.Property(metadata).Declared {
		in.wanted[metadata] = map[string]any(meta)
	}
}

// unknowable reports a resource that does not tell what it may be given; as is
// what the instance is of, run whose operations are called. Adapted resources tell by
// themselves, and the older dialects never had to.
func unknowable(as, run *manifest.Manifest) error {
	if as.Adapted() || run.Dialect != manifest.Current || as.Schema != nil || run.Validate != nil {
		return nil
	}
	return modules.Refuse("%s has neither a schema nor validate, so that nobody knows what it may be given", as.Type)
}

// validate asks whether the properties are right, before anything else is done.
func (in *instance) validate(ctx context.Context) error {
	if o := in.operation("validate"); o != nil {
		return in.askValid(ctx, o)
	}
	if in.schema == nil {
		return unknowable(in.found.as, in.found.run)
	}
	var errs []string
	for _, f := range in.schema.Check(in.wanted) {
		errs = append(errs, below(f).Error())
	}
	if len(errs) > 0 {
		return failed(in.secrets.Hide(strings.Join(errs, "; ")), "the properties are not what %s takes", in.found.as.Type)
	}
	return nil
}

// below gives a fault the path that it has among the properties of the instance.
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

func (in *instance) askValid(ctx context.Context, o *manifest.Operation) error {
	c := call{name: "validate", operation: o, properties: in.wanted}
	exit, err := in.call(ctx, c)
	if err != nil {
		return err
	}
	err = in.validity(in.what(c), exit)
	if err != nil {
		in.show(c, exit)
	}
	return err
}

// validity reads what validate has printed.
func (in *instance) validity(what string, exit modules.Exit) error {
	values, err := printed(exit.Stdout.Text)
	switch {
	case err != nil:
		return in.notJSON(what, err)
	case len(values) == 0:
		return failed("", "%s has printed nothing where one JSON object was expected", what)
	case len(values) > 1:
		return failed(in.line(exit, values[1]), "%s has printed more than one JSON object", what)
	}
	answer, _ := values[0].JSON.(map[string]any)
	valid, ok := answer["valid"].(bool)
	if !ok {
		return failed(in.line(exit, values[0]), "%s has not said whether the properties are valid", what)
	}
	if valid {
		return nil
	}
	reason, _ := answer["reason"].(string)
	reason = in.secrets.Hide(reason)
	if strings.TrimSpace(reason) == "" {
		reason = "it gives no reason: " + in.line(exit, values[0])
	}
	return failed(reason, "%s says that the properties are not valid", in.found.as.Type)
}

// absentWanted reports whether the instance shall not be there.
func (in *instance) absentWanted() bool { return isFalse(in.wanted[exist]) }

func isFalse(v any) bool {
	b, ok := v.(bool)
	return ok && !b
}

func isAbsent(v any) bool {
	s, ok := v.(string)
	return ok && strings.EqualFold(s, "absent")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf(many, n)
}
