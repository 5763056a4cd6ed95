package schema

import (
	"regexp"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos/schema"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/manifest/keys"
)

// familyName is how the types of a family are called: see [modules.Type.Family].
const familyName = `[A-Za-z0-9_]+([.][A-Za-z0-9_]+)*/[A-Za-z0-9_]+`

func hasFamily(registry modules.Registry) bool {
	return slices.ContainsFunc(registry, func(t modules.Type) bool { return t.Family != nil })
}

// withFamilies lets an item of the list be of a type that only a family has. What its
// properties may be is not known here.
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
