package diag

import (
	"fmt"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// maxNames is how many names a hint lists.
const maxNames = 8

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
