package expression

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Tables are filters, tests and methods with what is written for them, as Markdown: docs/guide/from-ansible.md
// has them.
func Tables() string {
	var b strings.Builder
	forms := func(heading, text string, m map[string]form) {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n| | here |\n|---|---|\n", heading, text)
		for _, name := range slices.Sorted(maps.Keys(m)) {
			f := m[name]
			expr := f.doc
			if expr == "" {
				expr = code(f.expr)
			}
			fmt.Fprintf(&b, "| `%s` | %s |\n", name, cell(expr))
		}
	}
	forms("Filters", "In manifests. Templates have [more](templates.md#jinja).", filters)
	forms("Tests", "With `is not` it is the opposite.", tests)
	forms("Methods", "Of texts, lists and maps of Python.", methods)
	return b.String()
}

// code is a form as it is written, with x, y and z for its values.
func code(form string) string {
	if form == "" {
		return ""
	}
	return "`" + strings.NewReplacer("{0}", "x", "{1}", "y", "{2}", "z").Replace(form) + "`"
}

// cell is a text in a table of Markdown.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(s)
}
