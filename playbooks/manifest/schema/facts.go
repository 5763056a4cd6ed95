package schema

import (
	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/inventory/yamlpos/schema"
)

// shapeFacts describes the facts that a play queries. Each has a query, and its name must differ from the facts of all
// hosts.
func shapeFacts(asked *schema.Schema) {
	asked.Type = schema.Types{schema.Object, schema.Null}
	var collectors []any
	for _, name := range facts.Names() {
		collectors = append(collectors, name)
	}
	asked.Names = schema.Not(&schema.Schema{Enum: collectors})
	query := asked.Others.(*schema.Schema)
	for _, p := range query.Properties {
		p.Schema.Not = expressions()
		query.AnyOf = append(query.AnyOf, &schema.Schema{
			Required:   []string{p.Name},
			Properties: schema.Properties{{Name: p.Name, Schema: schema.Not(&schema.Schema{Type: schema.Types{schema.Null}})}},
		})
	}
}
