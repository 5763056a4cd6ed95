package fromansible

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/manifest/ansible"
)

// The lines of docs/from-ansible.md between which the tables stand.
const (
	tablesBegin = "<!-- tables: go test ./playbooks/fromansible -update -->\n"
	tablesEnd   = "<!-- tables end -->\n"
)

// TestTables has the page show the tables that conversions are made by.
func TestTables(t *testing.T) {
	const page = "../../docs/from-ansible.md"
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), tablesBegin)
	require.True(t, ok)
	_, after, ok := strings.Cut(rest, tablesEnd)
	require.True(t, ok)
	want := before + tablesBegin + "\n" + tables() + "\n" + tablesEnd + after
	if flag.Lookup("update").Value.String() == "true" {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(text), "go test ./playbooks/fromansible -update")
}

func tables() string {
	var b strings.Builder
	b.WriteString("### Modules\n\nOther names of modules count too, with a collection before them or without. An argument that is not named here is the property of the same name, or needs none.\n\n| module | here | what is not carried over |\n|---|---|---|\n")
	for _, name := range sortedKeys(moduleRows) {
		r := moduleRows[name]
		m, _ := ansible.Find(name)
		here := "`" + m.Write + "`"
		switch {
		case r.to == nil:
			here = "nothing: " + r.why
		case m.Type == "":
			here = m.Write
		}
		var left []string
		if r.to != nil && r.why != "" {
			left = append(left, r.why)
		}
		by := map[string][]string{}
		for arg, a := range r.args {
			if a.why != "" {
				by[a.why] = append(by[a.why], "`"+arg+"`")
			}
		}
		for _, why := range sortedKeys(by) {
			slices.Sort(by[why])
			left = append(left, strings.Join(by[why], ", ")+" ("+why+")")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, cell(here), cell(strings.Join(left, "; ")))
	}
	b.WriteString("\n### Keywords\n\n| keyword | here | |\n|---|---|---|\n")
	for _, name := range sortedKeys(keywordRows) {
		r := keywordRows[name]
		here := r.here
		if here == "" {
			here = "nothing"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, cell(here), cell(r.why))
	}
	forms := func(heading, text string, m map[string]form) {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n| | in expressions | in Jet |\n|---|---|---|\n", heading, text)
		for _, name := range sortedKeys(m) {
			f := m[name]
			expr := f.doc
			if expr == "" {
				expr = code(f.expr)
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, cell(expr), cell(code(f.jet)))
		}
	}
	forms("Filters", "What Jet has no words for stands in `template(…)`, as an expression, if nothing that only the template knows is in it.", filters)
	forms("Tests", "With `is not` it is the opposite.", tests)
	forms("Methods", "Of texts, lists and maps of Python.", methods)
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// code is a form as it is written, with x, y and z for its values.
func code(form string) string {
	if form == "" {
		return ""
	}
	return "`" + strings.NewReplacer("{0}", "x", "{1}", "y", "{2}", "z").Replace(form) + "`"
}

// TestRows holds the table of modules against that of hints: there is one word of what has the
// place of a module.
func TestRows(t *testing.T) {
	for name, r := range moduleRows {
		_, known := ansible.Find(name)
		require.True(t, known, "playbooks/manifest/ansible has no hint for the module %s", name)
		for name, one := range r.args {
			require.NotEqual(t, arg{}, one, name)
		}
	}
	for other, name := range sameModules {
		require.Contains(t, moduleRows, name, other)
	}
}

// TestKeywordOrder has no keyword in the order that is not in the table.
func TestKeywordOrder(t *testing.T) {
	for _, name := range keywordOrder {
		require.NotNil(t, keywordRows[name].by, name)
	}
}
