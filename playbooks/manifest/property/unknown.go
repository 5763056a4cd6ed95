package property

import (
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// WithUnknown gives properties with more of them, whose values are not known yet: unknown
// has these values.
func WithUnknown(n *yamlpos.Node, names []string) (with *yamlpos.Node, unknown map[*yamlpos.Node]bool) {
	copied := *n
	copied.Pairs = slices.Clone(n.Pairs)
	unknown = map[*yamlpos.Node]bool{}
	for _, name := range names {
		if strings.Contains(name, ".") {
			continue // in a map of anything, which need not be known
		}
		key := &yamlpos.Node{File: n.File, Line: n.Line, Column: n.Column, Text: name, Value: name}
		value := *key
		value.Text, value.Value = "", nil
		copied.Pairs = append(copied.Pairs, yamlpos.Pair{Key: key, Value: &value})
		unknown[&value] = true
	}
	return &copied, unknown
}
