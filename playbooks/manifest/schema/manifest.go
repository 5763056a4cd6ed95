package schema

import (
	"reflect"

	"github.com/ccm-push/ccm-push/inventory/yamlpos/schema"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// Patterns of texts, for rules that JSON Schema has only patterns for.
const (
	// anExpression is in every text with an expression, and in some without: what
	// closes an expression depends on the quotes and braces in it.
	anExpression = `\{\{[\s\S]*\}\}|\$\{[\s\S]*\}`
	// surelyAnExpression matches only texts with an expression: expressions without quotes and braces.
	surelyAnExpression = "(^|[^{])\\{\\{[^{}\"'`]*\\}\\}|\\$\\{[^{}\"'`]*\\}"
	// delimiter matches the beginning of an expression.
	delimiter = `^\s*(\{\{|\$\{)`
	// batchShare matches a percentage above 0 and up to 100. The decoder checks exponents and hexadecimal digits.
	batchShare = `^\+?0*(100(\.0*)?|[1-9][0-9]?(\.[0-9]*)?|0?\.0*[1-9][0-9]*)%$|^\+?[0-9.]*[eExX][0-9a-fA-FpP.+_-]*%$`
	batchCount = `^\+?0*[1-9][0-9]*$`
	mergeMode  = `^([Ff][Ii][Rr][Ss][Tt]|[Dd][Ee][Ee][Pp])?$`
)

var (
	open   = schema.Rules{Open: anExpression} // rules for values that are resolved per host
	closed = schema.Rules{}                   // rules for values that are known before
)

// Of describes one YAML document of a manifest file: a play or a list of plays. It refuses nothing that reading
// accepts. Only reading checks references, the syntax of expressions, and combinations of properties.
func Of(registry modules.Registry) *schema.Schema {
	play := playSchema()
	shape(play.Properties, "defaults", playDefaultsSchema(registry))
	s := &schema.Schema{
		Dialect:     schema.Dialect,
		ID:          "https://github.com/ccm-push/ccm-push/schema/manifest.json",
		Title:       "ccm-push manifest",
		Description: "A CCM manifest, or a list of plays: CCM manifests and where they run.",
		AnyOf: []*schema.Schema{
			schema.Ref("play"),
			{Type: schema.Types{schema.Array}, Items: schema.Ref("play")},
			{Type: schema.Types{schema.Null}}, // nothing between two ---
		},
		Defs: schema.Properties{
			{Name: "play", Schema: play},
			{Name: "ccm", Schema: ccmSchema()},
			{Name: "item", Schema: itemSchema()},
			{Name: "resource", Schema: resourceSchema(registry)},
			{Name: "block", Schema: blockSchema()},
			{Name: "control", Schema: controlSchema()},
			{Name: "watch", Schema: watchSchema()},
			{Name: "references", Schema: referencesSchema(registry)},
		},
	}
	for _, t := range registry {
		s.Defs = append(s.Defs,
			schema.Property{Name: t.Name, Schema: typeSchema(t)},
			schema.Property{Name: propertiesOf(t), Schema: propertiesSchema(t)})
	}
	return s
}

// shape describes a field whose Go type is too general.
func shape(list schema.Properties, name string, s *schema.Schema) {
	field := list.Get(name)
	s.Description, s.Default = field.Description, field.Default
	*field = *s
}

func playSchema() *schema.Schema {
	s := closed.Of(reflect.TypeFor[keys.Play]())
	s.Type = schema.Types{schema.Object}
	batches := batchSchema()
	batches.Type = append(batches.Type, schema.Array, schema.Null)
	batches.Items = batchSchema()
	shape(s.Properties, "serial", batches)
	shape(s.Properties, "rollout", rolloutSchema())
	shape(s.Properties, "watch", schema.Ref("watch"))
	shape(s.Properties, "max_fail_percentage", schema.Between(0, 100, schema.Number, schema.Null))
	shape(s.Properties, "parallel", schema.Between(1, keys.MaxParallel, schema.Integer, schema.Null))
	shape(s.Properties, "data", orNull(schema.Object))
	shape(s.Properties, "hierarchy", hierarchySchema())
	overrides := orNull(schema.Object)
	overrides.Others = orNull(schema.Object)
	shape(s.Properties, "overrides", overrides)
	shape(s.Properties, "ccm", schema.Ref("ccm"))
	s.Properties.Get("tags").Items.Not = expressions()
	s.Properties.Get("vars_files").Items.Not = expressions()
	s.Properties.Get("hostfacts").Items.Not = expressions()
	shapeFacts(s.Properties.Get("facts"))
	s.Properties.Get("include").Not = expressions()
	s.Properties.Get("remembered_as").Not = expressions()
	included := one("include", "ccm")
	var refused []any
	for _, key := range keys.NotBesideInclude {
		refused = append(refused, key)
	}
	included.Names = schema.Not(&schema.Schema{Enum: refused})
	s.AnyOf = []*schema.Schema{one("ccm", "include"), included}
	s.AllOf = []*schema.Schema{{AnyOf: []*schema.Schema{without("rollout"), without("serial", "max_fail_percentage", "any_errors_fatal")}}}
	return s
}

// without has none of some keys given.
func without(keys ...string) *schema.Schema {
	s := &schema.Schema{}
	for _, key := range keys {
		s.Properties = append(s.Properties, schema.Property{Name: key, Schema: &schema.Schema{Type: schema.Types{schema.Null}}})
	}
	return s
}

// one requires one of two keys, and that the other one is not given.
func one(key, other string) *schema.Schema {
	return &schema.Schema{
		Required: []string{key},
		Properties: schema.Properties{
			{Name: key, Schema: schema.Not(&schema.Schema{Type: schema.Types{schema.Null}})},
			{Name: other, Schema: &schema.Schema{Type: schema.Types{schema.Null}}},
		},
	}
}

func orNull(t string) *schema.Schema { return &schema.Schema{Type: schema.Types{t, schema.Null}} }

// expressions are texts that are certainly refused where there can be none.
func expressions() *schema.Schema {
	return &schema.Schema{Type: schema.Types{schema.String}, Pattern: surelyAnExpression}
}

func batchSchema() *schema.Schema {
	s := schema.From(1, schema.Integer, schema.String)
	s.Pattern = batchCount + "|" + batchShare
	return s
}

func hierarchySchema() *schema.Schema {
	return &schema.Schema{
		Type: schema.Types{schema.Object, schema.Null},
		Properties: schema.Properties{
			{Name: "order", Schema: &schema.Schema{
				Description: "names of overrides, which may be expressions of facts",
				Type:        schema.Types{schema.Array},
				Items:       &schema.Schema{Type: schema.Types{schema.String}},
			}},
			{Name: "merge", Schema: &schema.Schema{
				Description: "first: the first override that exists replaces keys of the data; deep: all overrides that exist are merged into the data",
				Default:     "first",
				AnyOf: []*schema.Schema{
					{Enum: []any{"first", "deep"}},
					{Type: schema.Types{schema.String, schema.Null}, Pattern: mergeMode},
				},
			}},
		},
		Others:   false,
		Required: []string{"order"},
	}
}

func ccmSchema() *schema.Schema {
	s := closed.Of(reflect.TypeFor[keys.CCM]())
	s.Type = schema.Types{schema.Object}
	resources := orNull(schema.Array)
	resources.Items = schema.Ref("item") // none at all is right in a play with remembered_as
	shape(s.Properties, "resources", resources)
	s.Properties.Get("resources_jet_file").Not = expressions()
	s.AnyOf = []*schema.Schema{one("resources", "resources_jet_file"), one("resources_jet_file", "resources")}
	return s
}
