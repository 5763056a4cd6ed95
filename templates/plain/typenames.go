package plain

import "strings"

// TypeNames gives types the names that a manifest knows.
func TypeNames() *strings.Replacer {
	return strings.NewReplacer(
		"map[string]interface {}", "map", "[]interface {}", "list", "interface {}", "any value",
		"map[string]any", "map", "[]any", "list", "[]string", "list", "[]int", "list",
		"float64", "number", "int64", "int", "<nil>", "nil", "time.Time", "time",
	)
}
