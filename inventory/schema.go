package inventory

import (
	"github.com/ccm-push/ccm-push/inventory/connection"
	"github.com/ccm-push/ccm-push/inventory/yamlpos/schema"
)

// Patterns of names. They match every name that the decoder accepts, and may match others.
const (
	groupPattern = `^([0-9A-Za-z]|[_.%][_.%-]*[0-9A-Za-z])[0-9A-Za-z_.%-]*$`
	hostPattern  = `^[0-9A-Za-z_.:%\[][0-9A-Za-z_.:%\[\]-]*$` // ranges and ports included
)

// Schema describes a YAML inventory. It accepts everything that [Parse] accepts, except connection settings that cannot
// be applied, see [Inventory.Refusals]. Only Parse checks ranges, cycles and arguments of ssh.
func Schema() *schema.Schema {
	return &schema.Schema{
		Dialect:     schema.Dialect,
		ID:          "https://github.com/ccm-push/ccm-push/schema/inventory.json",
		Title:       "ccm-push inventory",
		Description: "Groups, the hosts in them and their variables, as Ansible's YAML inventories have them.",
		Type:        schema.Types{schema.Object},
		Properties: schema.Properties{
			{Name: allGroup, Schema: described(schema.Ref("group"), "the group of all hosts")},
			{Name: ungrouped, Schema: described(schema.Ref("group"), "hosts that are in no other group")},
		},
		Names:  &schema.Schema{Pattern: groupPattern, Not: &schema.Schema{Enum: []any{"plugin"}}},
		Others: schema.Ref("group"),
		Defs: schema.Properties{
			{Name: "group", Schema: groupSchema()},
			{Name: "host", Schema: hostSchema()},
			{Name: "variables", Schema: connection.VariablesSchema()},
			{Name: "connect", Schema: connection.ConnectSchema()},
		},
	}
}

func described(s *schema.Schema, text string) *schema.Schema {
	s.Description = text
	return s
}

func groupSchema() *schema.Schema {
	priority := &schema.Schema{
		Description: "decides between groups of equal depth; default: 1",
		Type:        schema.Types{schema.Integer, schema.String, schema.Null},
		Pattern:     `^[+-]?[0-9]+$`,
	}
	vars := &schema.Schema{
		Description: "variables of the hosts in the group",
		Type:        schema.Types{schema.Object, schema.Null},
		Properties:  schema.Properties{{Name: priorityKey, Schema: priority}},
		AllOf:       []*schema.Schema{schema.Ref("variables")},
	}
	return &schema.Schema{
		Type: schema.Types{schema.Object, schema.Null},
		Properties: schema.Properties{
			{Name: "hosts", Schema: membersSchema("names of hosts, with variables below them; web[01:20] is a range", "host", hostPattern)},
			{Name: "children", Schema: membersSchema("groups in this one", "group", groupPattern)},
			{Name: "vars", Schema: vars},
			{Name: "connect", Schema: described(schema.Ref("connect"), "how the hosts in the group are reached")},
		},
		Others: false,
	}
}

// membersSchema describes a map of names, or one name.
func membersSchema(doc, member, names string) *schema.Schema {
	return &schema.Schema{
		Description: doc,
		Type:        schema.Types{schema.Object, schema.String, schema.Null},
		Pattern:     names,
		Names:       &schema.Schema{Pattern: names},
		Others:      schema.Ref(member),
	}
}

func hostSchema() *schema.Schema {
	return &schema.Schema{
		Description: "variables of the host, and how it is reached",
		Type:        schema.Types{schema.Object, schema.Null},
		Properties:  schema.Properties{{Name: "connect", Schema: described(schema.Ref("connect"), "how the host is reached")}},
		AllOf:       []*schema.Schema{schema.Ref("variables")},
	}
}
