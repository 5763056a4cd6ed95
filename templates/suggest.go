package templates

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// maxNames is how many names a hint lists.
const maxNames = 8

// describe says which keys container has, for somebody who wrote key. Values
// are never shown.
func describe(where string, container any, key string) string {
	if where == "" {
		where = "this context"
	}
	switch c := container.(type) {
	case map[string]any:
		names := sortedKeys(c)
		if hint := didYouMean(names, key); hint != "" {
			return hint
		}
		if len(names) == 0 {
			return where + " is empty"
		}
		return where + " has " + listNames(names)
	case []any:
		return fmt.Sprintf("%s is a list of %d", where, len(c))
	}
	return fmt.Sprintf("%s is %s", where, kindOf(container))
}

// didYouMean is a hint for a name that is none of names; "" if none is close.
func didYouMean(names []string, name string) string {
	if near := yamlpos.Suggest(name, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

func listNames(names []string) string {
	if len(names) > maxNames {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
	}
	return strings.Join(names, ", ")
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
