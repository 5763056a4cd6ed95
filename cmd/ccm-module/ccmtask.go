package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// The protocols of CCM's ensure API.
const (
	ccmProtocols        = "io.choria.ccm.v1."
	ccmRequestProtocol  = ccmProtocols + "resource.ensure.request"
	ccmResponseProtocol = ccmProtocols + "resource.ensure.response"
	ccmEventProtocol    = ccmProtocols + "transaction.event"
)

// A ccmTask is a request that has been read.
type ccmTask struct {
	entry     wire.Entry
	resource  modules.Resource
	effective json.RawMessage // the properties as they are shown
	ensure    string          // requested value
	provider  string          // likewise; "" leaves it to the type
}

// readCCM reads a request. Its errors use CCM's words.
func readCCM(ctx context.Context, input []byte) (*ccmTask, error) {
	var req struct {
		Protocol   string          `json:"protocol"`
		Type       string          `json:"type"`
		Properties json.RawMessage `json:"properties"`
	}
	if trimmed := bytes.TrimSpace(input); len(trimmed) > 0 && trimmed[0] != '{' {
		return nil, errors.New("the request is not a JSON object; hosts do not read YAML: write the request as JSON")
	}
	err := json.Unmarshal(input, &req)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading the request: %w", err)
	case req.Protocol != ccmRequestProtocol:
		return nil, fmt.Errorf("invalid protocol %q", req.Protocol)
	case req.Type == "":
		return nil, errors.New("missing type in request")
	case len(req.Properties) == 0 || string(req.Properties) == "null":
		return nil, errors.New("missing properties in request")
	}
	properties, err := onlyResource(req.Properties)
	if err != nil {
		return nil, err
	}
	return newCCMTask(ctx, req.Type, properties)
}

// onlyResource returns the properties of a request, which may also be written as a list with one resource, as in a
// manifest.
func onlyResource(text json.RawMessage) (map[string]json.RawMessage, error) {
	if text[0] != '[' {
		var properties map[string]json.RawMessage
		err := json.Unmarshal(text, &properties)
		if err != nil {
			err = errors.New("the properties are not a JSON object")
		}
		return properties, err
	}
	var list []map[string]map[string]json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, errors.New(`the list in "properties" holds something else than resources with their properties`)
	}
	if len(list) != 1 || len(list[0]) != 1 {
		return nil, errors.New("multiple resources found")
	}
	for name, properties := range list[0] {
		if properties == nil {
			properties = map[string]json.RawMessage{}
		}
		properties["name"], _ = json.Marshal(name) // a string always can be
		return properties, nil
	}
	return nil, nil
}

// inManifest are the properties that CCM's resources have in a manifest and that
// mean something only among other resources, or take expressions.
var inManifest = []string{"require", "subscribe", "control", "health_checks", "register_when_stable"}

func newCCMTask(ctx context.Context, kind string, properties map[string]json.RawMessage) (*ccmTask, error) {
	t := &ccmTask{entry: wire.Entry{Type: kind}}
	for _, name := range inManifest {
		if value, given := properties[name]; given && !isEmpty(value) {
			return nil, fmt.Errorf("invalid resource: %s needs a manifest: here is one resource alone, and no expressions", name)
		}
		delete(properties, name)
	}
	for _, name := range []string{"refreshonly", "refresh_only"} {
		if _, given := properties[name]; given && kind != "exec" {
			return nil, fmt.Errorf("invalid resource: CCM has %s only for exec: an event of type %s needs a manifest of ccm-push", name, kind)
		}
	}
	types := builtin.Types()
	typ, known := types.Lookup(kind)
	if !known {
		return nil, fmt.Errorf("invalid resource: unknown resource type %s", kind)
	}
	if _, nested := typ.New().(modules.Nester); nested {
		return nil, fmt.Errorf("invalid resource: resource type %s needs a manifest", kind)
	}
	fields := modules.Fields(typ.New())
	var err error
	if t.entry.Alias, err = take[string](properties, "alias"); err != nil {
		return nil, err
	}
	if t.entry.Sensitive, err = take[bool](properties, "sensitive"); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(fields, func(f modules.Field) bool { return f.Name == "provider" }) {
		if t.provider, err = take[string](properties, "provider"); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(properties)
	if err != nil {
		return nil, err
	}
	if t.resource, err = types.Decode(kind, text); err != nil {
		return nil, fmt.Errorf("invalid resource: %w", err)
	}
	t.entry.Name = modules.Name(t.resource)
	t.effective, t.ensure = t.shown(fields, properties)
	if p, ok := t.resource.(modules.Preparer); ok {
		if err := p.Prepare(ctx, localSource()); err != nil {
			return nil, fmt.Errorf("invalid resource: %w", err)
		}
	}
	return t, t.resource.Validate()
}

// take removes a property that the types do not know, and returns its value.
func take[T any](properties map[string]json.RawMessage, name string) (value T, err error) {
	if text, given := properties[name]; given {
		delete(properties, name)
		if json.Unmarshal(text, &value) != nil {
			return value, fmt.Errorf("invalid resource: %s: %s is not a %T", name, text, value)
		}
	}
	return value, nil
}

// isEmpty reports whether a value is empty.
func isEmpty(value json.RawMessage) bool {
	switch string(value) {
	case "null", "[]", "{}", `""`:
		return true
	}
	return false
}

const withheld = "[sensitive]"

// shown writes the properties as requested, in the order of the type and with its defaults, and returns the value of
// ensure. Secrets are withheld; for a sensitive resource everything except the name.
func (t *ccmTask) shown(fields []modules.Field, properties map[string]json.RawMessage) (text json.RawMessage, ensure string) {
	ensure = "present"
	var b objectWriter
	for _, f := range fields {
		value, given := properties[f.Name]
		for _, other := range f.Also {
			if !given {
				value, given = properties[other]
			}
		}
		if !given && f.Default != "" {
			value = json.RawMessage(f.Default)
			if f.Type.Kind() == reflect.String {
				value, _ = json.Marshal(f.Default)
			}
		}
		if f.Name == "ensure" {
			_ = json.Unmarshal(value, &ensure) // decoding has accepted it
		}
		switch {
		case len(value) == 0:
			continue
		case f.Secret || t.entry.Sensitive && f.Name != "name" && f.Name != "ensure":
			value, _ = json.Marshal(withheld)
		case f.URL:
			var shown string
			_ = json.Unmarshal(value, &shown)
			value, _ = json.Marshal(modules.ShownURL(shown))
		}
		b.add(f.Name, value)
		if f.Name == "name" && t.entry.Alias != "" {
			alias, _ := json.Marshal(t.entry.Alias)
			b.add("alias", alias)
		}
	}
	return b.object(), ensure
}

// An objectWriter puts a JSON object together whose members keep their order.
type objectWriter struct{ strings.Builder }

func (o *objectWriter) add(name string, value json.RawMessage) {
	if o.Len() > 0 {
		o.WriteByte(',')
	}
	fmt.Fprintf(o, "%q:%s", name, value)
}

func (o *objectWriter) object() json.RawMessage { return json.RawMessage("{" + o.String() + "}") }
