package events

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos/schema"
)

// Schema describes the lines of [JSON] in JSON Schema 2020-12, completely. It is derived from the encoded structs, by
// their tags json, doc and enum.
func Schema() *schema.Schema {
	s := &schema.Schema{
		Dialect: schema.Dialect,
		ID:      "https://github.com/ccm-push/ccm-push/schema/events.json",
		Title:   "ccm-push event",
		Description: "One line of ccm-push --output json or --log. Events of later versions may have more fields, and " +
			"there may be more events.",
		Type: schema.Types{schema.Object},
	}
	for _, e := range append([]Event{
		RunStart{}, PlayStart{}, Output{}, Result{}, Message{}, Unreachable{}, HostFailed{}, Interrupted{}, Reconnect{}, ResourceStart{}, SiteWaits{}, Untold{}, Armed{}, Watchdog{}, Confirmed{}, Reverted{}, HostDone{}, Summary{},
	}, append(rolloutEvents(), watchEvents()...)...) {
		s.AnyOf = append(s.AnyOf, schema.Ref(e.name()))
		s.Defs = append(s.Defs, schema.Property{Name: e.name(), Schema: eventSchema(e)})
	}
	return s
}

func eventSchema(e Event) *schema.Schema {
	s := objectSchema(reflect.TypeOf(fields(e)))
	s.Properties = append(schema.Properties{
		{Name: "event", Schema: &schema.Schema{Type: schema.Types{schema.String}, Enum: []any{e.name()}}},
		{Name: "time", Schema: &schema.Schema{Description: "when it happened, RFC 3339 in UTC", Type: schema.Types{schema.String}, Pattern: `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`}},
		{Name: "run", Schema: &schema.Schema{Description: "id of the run", Type: schema.Types{schema.String}}},
	}, s.Properties...)
	s.Required = append([]string{"event", "time", "run"}, s.Required...)
	if _, ok := e.(Result); ok {
		checkResults(s)
	}
	return s
}

// checkResults has changed in the results of an applying run only, and the parts of a command together.
func checkResults(s *schema.Schema) {
	isCheck := func(yes bool) schema.Properties {
		return schema.Properties{{Name: "check", Schema: &schema.Schema{Enum: []any{yes}}}}
	}
	command := []string{"stdout", "stderr", "exit_code"}
	s.Required = slices.DeleteFunc(s.Required, func(key string) bool { return key == "changed" || slices.Contains(command, key) })
	none := &schema.Schema{}
	for _, key := range command {
		none.AnyOf = append(none.AnyOf, &schema.Schema{Required: []string{key}})
	}
	s.AllOf = []*schema.Schema{
		{AnyOf: []*schema.Schema{
			{Properties: isCheck(true), Not: &schema.Schema{Required: []string{"changed"}}},
			{Properties: isCheck(false), Required: []string{"changed"}},
		}},
		{AnyOf: []*schema.Schema{{Required: command}, schema.Not(none)}},
	}
}

// objectSchema describes a struct as encoding/json writes it, without other keys.
func objectSchema(t reflect.Type) *schema.Schema {
	s := &schema.Schema{Type: schema.Types{schema.Object}, Others: false}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		field := valueSchema(f.Type)
		field.Description = f.Tag.Get("doc")
		if enum := f.Tag.Get("enum"); enum != "" {
			for word := range strings.SplitSeq(enum, ",") {
				field.Enum = append(field.Enum, word)
			}
		}
		s.Properties = append(s.Properties, schema.Property{Name: name, Schema: field})
		if options != "omitempty" {
			s.Required = append(s.Required, name)
		}
	}
	return s
}

func valueSchema(t reflect.Type) *schema.Schema {
	switch t {
	case reflect.TypeFor[json.RawMessage]():
		return &schema.Schema{}
	case reflect.TypeFor[milliseconds]():
		return &schema.Schema{Type: schema.Types{schema.Number}}
	case reflect.TypeFor[time.Time]():
		return &schema.Schema{Type: schema.Types{schema.String}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return valueSchema(t.Elem())
	case reflect.Struct:
		return objectSchema(t)
	case reflect.Slice:
		return &schema.Schema{Type: schema.Types{schema.Array}, Items: valueSchema(t.Elem())}
	case reflect.Map:
		return &schema.Schema{Type: schema.Types{schema.Object}, Others: valueSchema(t.Elem())}
	case reflect.Bool:
		return &schema.Schema{Type: schema.Types{schema.Boolean}}
	case reflect.Int, reflect.Int64:
		return &schema.Schema{Type: schema.Types{schema.Integer}}
	case reflect.Float64:
		return &schema.Schema{Type: schema.Types{schema.Number}}
	}
	return &schema.Schema{Type: schema.Types{schema.String}}
}
