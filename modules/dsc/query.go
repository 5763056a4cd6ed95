package dsc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/dsc/expr"
	"github.com/ccm-push/ccm-push/modules/process"
)

// Queries implements [modules.Querier].
func (d *DSC) Queries() []string { return []string{"get", "test", "export"} }

// Query implements [modules.Querier]. The answers are a state, the result of a test
// in DSC's shape, and a configuration document with all instances that fit.
func (d *DSC) Query(ctx context.Context, h modules.Host, query string) (json.RawMessage, error) {
	in, err := d.open(ctx, h)
	if err != nil || in == nil {
		return nil, err
	}
	if len(in.wanted) > 0 && query != "export" {
		if err := in.validate(ctx); err != nil {
			return nil, err
		}
	}
	switch query {
	case "get":
		state, err := in.state(ctx)
		return in.resource.document(state), err
	case "test":
		return in.tested(ctx)
	case "export":
		return in.exported(ctx)
	}
	return nil, modules.Refuse("a DSC resource does not answer %q", query)
}

// state returns the state of the instance.
func (in *instance) state(ctx context.Context) (map[string]any, error) {
	switch own := in.resource.own; {
	case own != nil && own.get != nil:
		return own.get(ctx, in)
	case own != nil || in.resource.operation("get") == nil:
		return nil, modules.Refuse(`%s has no operation "get"`, in.resource.as.Type)
	}
	r, err := in.get(ctx)
	if err == nil && len(r.restart) > 0 {
		in.resource.h.Report.State(modules.State{Restart: r.restart})
	}
	return r.state, err
}

// tested returns the result of a test as DSC prints it.
func (in *instance) tested(ctx context.Context) (json.RawMessage, error) {
	v, err := in.test(ctx)
	if err != nil {
		return nil, err
	}
	if v.untestable {
		return nil, modules.Refuse(`%s has neither the operation "test" nor "get"`, in.resource.as.Type)
	}
	differ := make([]string, 0, len(v.differ))
	for _, name := range v.differ {
		differ = append(differ, in.resource.secrets.Hide(name))
	}
	text, err := process.JSON(map[string]any{
		"desiredState": withholdState(in.resource.secrets, in.wanted), "actualState": withholdState(in.resource.secrets, v.state),
		"inDesiredState": v.ok, "differingProperties": differ,
	})
	return json.RawMessage(text), err
}

// configurationSchema is the $schema of a configuration document.
const configurationSchema = "https://aka.ms/dsc/schemas/v3/bundled/config/document.json"

// exported returns a configuration document with every instance on the host.
func (in *instance) exported(ctx context.Context) (json.RawMessage, error) {
	states, err := in.export(ctx)
	if err != nil {
		return nil, err
	}
	resources := make([]any, 0, len(states))
	taken := map[string]int{} // names, with the number that the last one like it got
	for i, state := range states {
		wanted := in.resource.exportedName(i, state)
		name := wanted
		for taken[name] > 0 {
			taken[wanted]++
			name = fmt.Sprintf("%s (%d)", wanted, taken[wanted])
		}
		taken[name] = 1
		resources = append(resources, in.resource.exportedAs(name, state))
	}
	text, err := process.JSON(map[string]any{"$schema": configurationSchema, "resources": resources})
	return json.RawMessage(text), err
}

// exportedName returns the resource's name of an instance, or a name with its number.
func (rs *resource) exportedName(i int, state map[string]any) string {
	if name, named := state["_name"].(string); named && name != "" {
		return name
	}
	_, thing, _ := strings.Cut(rs.as.Type, "/")
	return fmt.Sprintf("%s-%d", thing, i)
}

// exportedAs returns one instance in a configuration document. Its texts are escaped, so that none of them is read as
// an expression.
func (rs *resource) exportedAs(name string, state map[string]any) map[string]any {
	properties := maps.Clone(state)
	for _, key := range []string{"_name", "_securityContext", metadata, restartRequired, inDesiredState} {
		delete(properties, key)
	}
	entry := map[string]any{
		"type": rs.as.Type, "name": escaped(name),
		"properties": escaped(withholdState(rs.secrets, properties)),
	}
	if context, ok := state["_securityContext"].(string); ok {
		entry["metadata"] = map[string]any{"Microsoft.DSC": map[string]any{"securityContext": context}}
	}
	return entry
}

// escaped doubles the bracket of texts that a document would take for expressions.
func escaped(v any) any {
	return expr.Mapped(v, func(v any) (any, bool) {
		text, ok := v.(string)
		return "[" + text, ok && strings.HasPrefix(text, "[")
	})
}

// export returns all instances that match the properties, which are a filter.
func (in *instance) export(ctx context.Context) ([]map[string]any, error) {
	o := in.resource.operation("export")
	if in.resource.own != nil || o == nil {
		state, err := in.state(ctx)
		if err != nil {
			return nil, err
		}
		return []map[string]any{state}, nil
	}
	c := call{name: "export", operation: o}
	byUs := len(in.wanted) > 0 && (o.NoFiltering || !o.Takes())
	if len(in.wanted) > 0 && !byUs {
		c.properties = in.wanted
	}
	exit, err := in.resource.call(ctx, c)
	if err != nil {
		return nil, err
	}
	var states []map[string]any
	err = in.resource.parse(c, exit, func(p printed) error {
		states, err = in.instances(p, byUs)
		return err
	})
	return states, err
}

// instances reads the output of an export: with filter, only instances that match the properties.
func (in *instance) instances(p printed, filter bool) ([]map[string]any, error) {
	var states []map[string]any
	for _, v := range p.values {
		state, ok := v.JSON.(map[string]any)
		if !ok {
			return nil, failed(p.line(v), "%s has printed %s where an instance was expected", p.what, kindOf(v.JSON))
		}
		if in.resource.schema != nil { // so that the document can be applied
			coerced, _ := in.resource.schema.Coerce(state)
			state = coerced.(map[string]any)
		}
		if filter {
			if state, ok = filtered(in.wanted, state); !ok {
				continue
			}
		}
		states = append(states, state)
	}
	return states, nil
}

// queryLine implements [modules.Type].QueryLine: get TYPE --input JSON --version RANGE --adapter TYPE. An export uses
// the input as a filter.
func queryLine(query string, words []string, input func(string) (map[string]any, error)) ([]map[string]any, error) {
	w, err := modules.SplitOptions(words, []string{"input", "version", "adapter"})
	switch {
	case err != nil:
		return nil, err
	case len(w.Rest) == 0:
		return nil, errors.New("say which type, as in dsc " + query + " Owner/Thing")
	case len(w.Rest) > 1:
		return nil, fmt.Errorf("%q is one word too many: dsc %s TYPE [--input JSON|-] [--version RANGE] [--adapter TYPE]", w.Rest[1], query)
	}
	properties := map[string]any{"name": w.Rest[0], "type": w.Rest[0]}
	for _, key := range []string{"version", "adapter"} {
		if value, given := w.Options[key]; given {
			properties[key] = value
		}
	}
	if word, given := w.Options["input"]; given {
		values, err := input(word)
		if err != nil {
			return nil, err
		}
		properties["properties"] = values
	}
	return []map[string]any{properties}, nil
}
