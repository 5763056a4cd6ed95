package schema

import (
	"reflect"

	"github.com/ccm-push/ccm-push/inventory/yamlpos/schema"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// rolloutSchema describes how a play proceeds through its hosts.
func rolloutSchema() *schema.Schema {
	s := closed.Of(reflect.TypeFor[keys.Rollout]())
	s.Type = schema.Types{schema.Object, schema.Null}
	batches := amountSchema()
	batches.Pattern += "|^rest$"
	list := *batches
	batches.Type = append(batches.Type, schema.Array, schema.Null)
	batches.Items, batches.MinItems = &list, 1
	shape(s.Properties, "batches", batches)
	shape(s.Properties, "max_unavailable", amountOrNull())
	s.Properties.Get("by").Not = expressions()
	for _, key := range []string{"soak", "host_deadline", "progress_deadline"} {
		shape(s.Properties, key, secondsSchema())
	}
	gate := gateSchema()
	shape(s.Properties, "gate", &schema.Schema{AnyOf: []*schema.Schema{{Type: schema.Types{schema.Null}}, gate, {Type: schema.Types{schema.Array}, Items: gate}}})
	drain := s.Properties.Get("drain")
	for _, key := range []string{"before", "after"} {
		shape(drain.Properties, key, &schema.Schema{Type: schema.Types{schema.Array, schema.Null}, MinItems: 1, Items: schema.Ref("item")})
	}
	stop := s.Properties.Get("stop")
	for _, limits := range []*schema.Schema{stop, stop.Properties.Get("per_batch")} {
		for _, key := range []string{"failed", "unreachable", "gate", "restarts"} {
			shape(limits.Properties, key, amountOrNull())
		}
	}
	pause := secondsSchema()
	pause.Type = append(pause.Type, schema.Boolean)
	pause.Pattern += "|" + booleanWord
	shape(s.Properties, "pause", pause)
	return s
}

// booleanWord matches the words that YAML 1.1 reads as true and false.
const booleanWord = `^([Yy]es|YES|[Nn]o|NO|[Oo]n|ON|[Oo]ff|OFF|[Tt]rue|TRUE|[Ff]alse|FALSE)$`

func gateSchema() *schema.Schema {
	s := closed.Of(reflect.TypeFor[keys.Gate]())
	s.Type, s.Required = schema.Types{schema.Object}, schema.Required(reflect.TypeFor[keys.Gate]())
	check := healthSchema().Items
	check.Description = ""
	shape(s.Properties, "check", check)
	for _, key := range []string{"name", "on"} {
		s.Properties.Get(key).Not = expressions()
	}
	shape(s.Properties, "interval", secondsSchema())
	shape(s.Properties, "count", schema.Between(1, keys.MaxQuestions, schema.Integer, schema.Null))
	for _, key := range []string{"failure_limit", "error_limit"} {
		shape(s.Properties, key, schema.Between(0, keys.MaxQuestions, schema.Integer, schema.Null))
	}
	return s
}

// amountSchema describes a number of hosts, or a share of them.
func amountSchema() *schema.Schema { return batchSchema() }

func amountOrNull() *schema.Schema {
	s := amountSchema()
	s.Type = append(s.Type, schema.Null)
	return s
}

// secondsSchema describes a duration, or a number of seconds.
func secondsSchema() *schema.Schema {
	s := schema.From(0, schema.Number, schema.String, schema.Null)
	s.Pattern = durationForm
	return s
}
