package schema

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos/schema"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/health"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
	"github.com/ccm-push/ccm-push/playbooks/manifest/reference"
)

// itemSchema describes an item of a list of resources: a map with one type, or a block.
func itemSchema() *schema.Schema {
	return &schema.Schema{AnyOf: []*schema.Schema{schema.Ref("resource"), schema.Ref("block")}}
}

// blockSchema describes a block.
func blockSchema() *schema.Schema {
	s := open.Of(reflect.TypeFor[keys.Block]())
	s.Type, s.Required = schema.Types{schema.Object}, []string{"block"}
	for _, key := range []string{"block", "rescue", "always"} {
		shape(s.Properties, key, &schema.Schema{Type: schema.Types{schema.Array}, MinItems: 1, Items: schema.Ref("item")})
	}
	for _, key := range []string{"require", "before", "notify"} {
		shape(s.Properties, key, schema.Ref("references"))
	}
	shape(s.Properties, "control", schema.Ref("control"))
	shape(s.Properties, "watch", schema.Ref("watch"))
	shape(s.Properties, "vars", orNull(schema.Object))
	shape(s.Properties, "each", &schema.Schema{Type: schema.Types{schema.Array, schema.String, schema.Null}, Pattern: anExpression})
	tags := closed.Properties(reflect.TypeFor[keys.Block]()).Get("tags")
	tags.Items.Not = expressions()
	shape(s.Properties, "tags", tags)
	shape(s.Properties, "once", closed.Properties(reflect.TypeFor[keys.Block]()).Get("once"))
	return s
}

// resourceSchema describes an item with resources of a type: a map with that one.
func resourceSchema(registry modules.Registry) *schema.Schema {
	s := &schema.Schema{Type: schema.Types{schema.Object}, Others: false, MinKeys: 1, MaxKeys: 1}
	for _, t := range registry {
		ref := schema.Ref(t.Name)
		ref.Description = t.Doc
		s.Properties = append(s.Properties, schema.Property{Name: t.Name, Schema: ref})
	}
	return withFamilies(registry, s)
}

func controlSchema() *schema.Schema {
	s := closed.Of(reflect.TypeFor[keys.Control]())
	bare := &schema.Schema{Type: schema.Types{schema.String}, Pattern: delimiter}
	for _, p := range s.Properties {
		p.Schema.Type = schema.Types{schema.String, schema.Boolean, schema.Array, schema.Null}
		p.Schema.Not = bare
		p.Schema.Items = &schema.Schema{Type: schema.Types{schema.String, schema.Boolean}, Not: bare}
		p.Schema.MinItems = 1
	}
	return s
}

func referencesSchema(registry modules.Registry) *schema.Schema {
	var names []string
	for _, name := range append(registry.Names(), "block") {
		names = append(names, regexp.QuoteMeta(name))
	}
	if hasFamily(registry) {
		names = append(names, familyName)
	}
	return &schema.Schema{
		Type:    schema.Types{schema.Array, schema.String, schema.Null},
		Pattern: anExpression,
		Items: &schema.Schema{
			Type:    schema.Types{schema.String},
			Pattern: "^(" + strings.Join(names, "|") + `)#[\s\S]|` + anExpression,
		},
	}
}

// propertiesOf returns the name of the definition for the body of a resource.
func propertiesOf(t modules.Type) string { return t.Name + "Properties" }

// typeSchema describes the value of a type: a list in which each item has one name, optionally with defaults, or one
// map with a name.
func typeSchema(t modules.Type) *schema.Schema {
	name := *open.Properties(reflect.TypeOf(t.New()).Elem()).Get("name")
	name.MinLength = 1
	key := &schema.Schema{MinLength: 1}
	if name.Pattern != "" {
		key.Pattern = "^defaults$|" + name.Pattern
	}
	name.Type = schema.Types{schema.String, schema.Number, schema.Boolean}
	defaults := entrySchema(t)
	defaults.Description = "default properties of the other resources in this list"
	return &schema.Schema{
		Description: t.Doc,
		Type:        schema.Types{schema.Array, schema.Object},
		Items: &schema.Schema{
			Type:       schema.Types{schema.Object},
			Properties: schema.Properties{{Name: "defaults", Schema: defaults}},
			Names:      key,
			Others:     entrySchema(t),
			MinKeys:    1,
			MaxKeys:    1,
		},
		Contains:   schema.Not(&schema.Schema{Required: []string{"defaults"}}),
		Properties: schema.Properties{{Name: "name", Schema: &name}},
		Required:   schema.Required(reflect.TypeOf(t.New()).Elem()),
		AllOf:      []*schema.Schema{schema.Ref(propertiesOf(t))},
	}
}

func entrySchema(t modules.Type) *schema.Schema {
	s := schema.Ref(propertiesOf(t))
	s.Type = schema.Types{schema.Object, schema.Null}
	return s
}

// propertiesSchema describes the properties of a type and the keys that every type has. It does not require a map, so
// it also applies where a list is allowed.
func propertiesSchema(t modules.Type) *schema.Schema {
	list := open.Properties(reflect.TypeOf(t.New()).Elem())
	// If the resource's name is a key, this property has no meaning: any value is valid.
	*list.Get("name") = schema.Schema{Description: list.Get("name").Description}
	for _, p := range commonSchemas(t) {
		if keys.Common(t, p.Name) {
			list = append(list, p)
		}
	}
	return &schema.Schema{Properties: list, Others: false}
}

func commonSchemas(t modules.Type) schema.Properties {
	list := open.Properties(reflect.TypeFor[keys.Resource]())
	shape(list, "require", schema.Ref("references"))
	shape(list, "subscribe", schema.Ref("references"))
	if _, ok := t.New().(modules.Refresher); !ok {
		*list.Get("subscribe") = schema.Schema{
			Description: "type " + t.Name + " has no refresh; use require for the order",
			Type:        schema.Types{schema.Null},
		}
	}
	for _, key := range []string{"before", "notify"} {
		shape(list, key, schema.Ref("references"))
	}
	metaSchemas(list, t)
	shape(list, "control", schema.Ref("control"))
	shape(list, "each", &schema.Schema{Type: schema.Types{schema.Array, schema.String, schema.Null}, Pattern: anExpression})
	shape(list, "vars", orNull(schema.Object))
	shape(list, "health_checks", healthSchema())
	tags := closed.Properties(reflect.TypeFor[keys.Resource]()).Get("tags")
	tags.Items.Not = expressions()
	shape(list, "tags", tags)
	shape(list, "once", closed.Properties(reflect.TypeFor[keys.Resource]()).Get("once"))
	shape(list, "register", &schema.Schema{Type: schema.Types{schema.String, schema.Boolean, schema.Null}, Pattern: keys.ResultForm})
	entry := list.Get("register_when_stable").Items
	entry.Required = schema.Required(reflect.TypeFor[keys.Registration]())
	for name, most := range map[string]float64{"port": 65535, "priority": 255} {
		number := schema.Between(1, most, schema.Integer, schema.String, schema.Null)
		number.Pattern = anExpression
		shape(entry.Properties, name, number)
	}
	return list
}

// metaSchemas describes the keys of [keys.Meta], and the keys for sending and receiving.
func metaSchemas(list schema.Properties, t modules.Type) {
	retry := schema.Between(0, keys.MaxRetries, schema.Integer, schema.String, schema.Null)
	retry.Pattern = anExpression
	shape(list, "retry", retry)
	limit := schema.Between(keys.LeastLimit, keys.MostLimit, schema.Number, schema.String, schema.Null)
	limit.Pattern = anExpression
	shape(list, "limit", limit)
	for _, key := range []string{"delay", "timeout"} {
		shape(list, key, openSeconds())
	}
	shape(list, "watch", schema.Ref("watch"))
	list.Get("sema").Items = &schema.Schema{Type: schema.Types{schema.String, schema.Boolean}, Pattern: keys.SemaphoreForm + "|" + anExpression}
	imported := closed.Of(reflect.TypeFor[keys.Import]())
	imported.Type, imported.Required = schema.Types{schema.Object}, schema.Required(reflect.TypeFor[keys.Import]())
	shape(list, "recv", &schema.Schema{
		Type:   schema.Types{schema.Object, schema.Null},
		Others: &schema.Schema{AnyOf: []*schema.Schema{{Type: schema.Types{schema.String}, Pattern: "#|" + anExpression}, imported}},
	})
	var heads []string
	for _, name := range reference.Sends(t) {
		heads = append(heads, regexp.QuoteMeta(name))
	}
	if len(heads) > 0 {
		shape(list, "export", &schema.Schema{
			Type:  schema.Types{schema.Array, schema.Null},
			Items: &schema.Schema{Type: schema.Types{schema.String}, Pattern: "^(" + strings.Join(heads, "|") + ")([.]|$)"},
		})
	} else {
		*list.Get("export") = schema.Schema{
			Description: "type " + t.Name + " has no values",
			Type:        schema.Types{schema.Array, schema.Null},
			Items:       schema.Not(&schema.Schema{}),
		}
	}
	if _, applies := t.New().(modules.Nester); !applies {
		return
	}
	for _, key := range append(slices.Clone(keys.OfMeta), "recv", "export") {
		if key != "autoedge" && key != "watch" {
			*list.Get(key) = schema.Schema{Description: "has no effect on a resource that applies a manifest", Type: schema.Types{schema.Null}}
		}
	}
	*list.Get("recv") = schema.Schema{Type: schema.Types{schema.Null, schema.Object}}
}

// durationForm matches durations, or numbers of seconds.
const durationForm = `^[+]?[0-9.]+([eE][+-]?[0-9]+)?$|^[+]?([0-9.]+(ns|us|µs|μs|ms|s|m|h|d))+$|^[+-]?0$`

// healthSchema describes a list of health checks.
func healthSchema() *schema.Schema {
	s := open.Properties(reflect.TypeFor[keys.Resource]()).Get("health_checks")
	check := s.Items
	tries := schema.Between(1, health.MaxTries, schema.Integer, schema.String, schema.Null)
	tries.Pattern = anExpression
	shape(check.Properties, "tries", tries)
	check.Properties.Get("goss_rules").MinKeys = 1
	check.Not = &schema.Schema{Type: schema.Types{schema.Object}, Required: []string{"command", "goss_rules"}}
	return s
}

// familyName matches names of types of a family: see [modules.Type.Family].
const familyName = `[A-Za-z0-9_]+([.][A-Za-z0-9_]+)*/[A-Za-z0-9_]+`

func hasFamily(registry modules.Registry) bool {
	return slices.ContainsFunc(registry, func(t modules.Type) bool { return t.Family != nil })
}

// withFamilies allows an item of the list to have a type that only a family has. The schema does not know its
// properties.
func withFamilies(registry modules.Registry, s *schema.Schema) *schema.Schema {
	i := slices.IndexFunc(registry, func(t modules.Type) bool { return t.Family != nil })
	if i < 0 {
		return s
	}
	var names []string
	for _, name := range registry.Names() {
		names = append(names, regexp.QuoteMeta(name))
	}
	var common schema.Properties
	for _, p := range commonSchemas(registry[i]) {
		// A type of the registry that is called by such a name may have them for itself.
		if !keys.Yields(p.Name) && p.Name != "subscribe" {
			common = append(common, p)
		}
	}
	s.Names = &schema.Schema{Pattern: "^(" + strings.Join(append(names, familyName), "|") + ")$"}
	s.Others = &schema.Schema{
		Type: schema.Types{schema.Array, schema.Object},
		Items: &schema.Schema{
			Type:    schema.Types{schema.Object},
			Others:  &schema.Schema{Type: schema.Types{schema.Object, schema.Null}, Properties: common},
			MinKeys: 1,
			MaxKeys: 1,
		},
	}
	return s
}

// playDefaultsSchema describes the defaults of a play, by type and for all types.
func playDefaultsSchema(registry modules.Registry) *schema.Schema {
	s := orNull(schema.Object)
	names := slices.Clone(keys.Defaults)
	for _, key := range keys.Defaults {
		for _, t := range registry {
			if p := propertiesSchema(t).Properties; t.HasProperty("owner") && t.HasProperty("mode") {
				s.Properties = append(s.Properties, schema.Property{Name: key, Schema: p.Get(key)})
				break
			}
		}
	}
	for _, t := range registry {
		names = append(names, regexp.QuoteMeta(t.Name))
		if keys.OfEveryDefault(t.Name) { // either, or the type
			either := s.Properties.Get(t.Name)
			*either = schema.Schema{Description: either.Description, AnyOf: []*schema.Schema{{Type: schema.Types{schema.String, schema.Number, schema.Boolean, schema.Null}}, schema.Ref(propertiesOf(t))}}
			continue
		}
		s.Properties = append(s.Properties, schema.Property{Name: t.Name, Schema: entrySchema(t)})
	}
	if hasFamily(registry) {
		names = append(names, familyName)
	}
	s.Names = &schema.Schema{Pattern: "^(" + strings.Join(names, "|") + ")$"}
	s.Others = orNull(schema.Object)
	return s
}
