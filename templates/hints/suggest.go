// Package hints tells what to write instead of something wrong: the name that was
// meant, the keys that are there, and for the habits of Ansible, Jinja, Helm and
// Sprig what does the same here.
package hints

import (
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates/plain"
)

// maxNames is how many names a hint lists.
const maxNames = 8

// Describe says which keys container has, for somebody who wrote key. Values
// are never shown.
func Describe(where string, container any, key string) string {
	if where == "" {
		where = "this context"
	}
	switch c := container.(type) {
	case map[string]any:
		names := plain.SortedKeys(c)
		if hint := DidYouMean(names, key); hint != "" {
			return hint
		}
		if len(names) == 0 {
			return where + " is empty"
		}
		return where + " has " + ListNames(names)
	case []any:
		return fmt.Sprintf("%s is a list of %d", where, len(c))
	}
	return fmt.Sprintf("%s is %s", where, plain.Kind(container))
}

// DidYouMean is a hint for a name that is none of names; "" if none is close.
func DidYouMean(names []string, name string) string {
	if near := yamlpos.Suggest(name, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// ListNames writes names for an error: the first few, and how many more there are.
func ListNames(names []string) string {
	if len(names) > maxNames {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
	}
	return strings.Join(names, ", ")
}
