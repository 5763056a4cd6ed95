package property

import (
	"slices"

	"github.com/ccm-push/ccm-push/modules"
)

// Canonical gives the first spelling of a property.
func Canonical(t modules.Type, key string) string {
	if t.Below != "" && key != t.Below {
		return t.Below + "." + key
	}
	for _, f := range modules.Fields(t.New()) {
		if slices.Contains(f.Also, key) {
			return f.Name
		}
	}
	return key
}

// Names gives the names of the properties of a type, in all spellings.
func Names(t modules.Type) []string {
	var names []string
	for _, f := range modules.Fields(t.New()) {
		names = append(append(names, f.Name), f.Also...)
	}
	return names
}
