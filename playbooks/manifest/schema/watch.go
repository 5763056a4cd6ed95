package schema

import (
	"reflect"

	"github.com/ccm-push/ccm-push/inventory/yamlpos/schema"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// windowForm matches a weekly time window in which nothing is repaired.
const windowForm = `^\s*([A-Za-z,-]+\s+)?[0-9]{2}:[0-9]{2}-[0-9]{2}:[0-9]{2}\s*$`

// watchSchema describes the handling of drift: a word, or a map of keys.
func watchSchema() *schema.Schema {
	s := open.Of(reflect.TypeFor[keys.Watch]())
	s.Type = schema.Types{schema.Object}
	mode := &schema.Schema{Type: schema.Types{schema.String}, Pattern: "^(report|repair|off)$|" + anExpression}
	modeOrNull := *mode
	modeOrNull.Type = schema.Types{schema.String, schema.Null}
	shape(s.Properties, "mode", &modeOrNull)
	for _, key := range []string{"settle", "poll"} {
		shape(s.Properties, key, openSeconds())
	}
	window := schema.Schema{Type: schema.Types{schema.String, schema.Object}, Pattern: windowForm + "|" + anExpression, Others: false, Required: []string{"file"}}
	window.Properties = schema.Properties{{Name: "file", Schema: &schema.Schema{Type: schema.Types{schema.String}, Pattern: "^/|" + anExpression}}}
	quiet := window
	quiet.Type = append(quiet.Type, schema.Array, schema.Null)
	quiet.Items = &window
	shape(s.Properties, "quiet", &quiet)
	repair := s.Properties.Get("repair").Properties
	for _, key := range []string{"budget", "burst"} {
		count := schema.Between(1, keys.MaxBudget, schema.Integer, schema.String, schema.Null)
		count.Pattern = anExpression
		shape(repair, key, count)
	}
	shape(repair, "per", openSeconds())
	backoff := openSeconds()
	backoff.Type = append(backoff.Type, schema.Array)
	backoff.Items = openSeconds()
	shape(repair, "backoff", backoff)
	shape(repair, "fleet", &schema.Schema{Type: schema.Types{schema.String, schema.Null}, Pattern: "%$|" + anExpression})
	return &schema.Schema{AnyOf: []*schema.Schema{{Type: schema.Types{schema.Null}}, mode, s}}
}

// openSeconds describes a duration, or a number of seconds, or an expression.
func openSeconds() *schema.Schema {
	s := secondsSchema()
	s.Pattern += "|" + anExpression
	return s
}
