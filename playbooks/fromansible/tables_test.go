package fromansible

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/fromansible/expression"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/module"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/output"
	"github.com/ccm-push/ccm-push/playbooks/fromansible/task"
	"github.com/ccm-push/ccm-push/playbooks/manifest/ansible"
)

// The lines of docs/guide/from-ansible.md between which the tables stand.
const (
	tablesBegin = "<!-- tables: go test ./playbooks/fromansible -update -->\n"
	tablesEnd   = "<!-- tables end -->\n"
)

// TestTables has the page show the tables that conversions are made by.
func TestTables(t *testing.T) {
	const page = "../../docs/guide/from-ansible.md"
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
	for _, name := range ansible.Names() {
		m, _ := ansible.Find(name)
		here := "`" + m.Write + "`"
		if m.Type == "" {
			here = m.Write
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, output.Cell(here), output.Cell(strings.Join(gaps(m), "; ")))
	}
	b.WriteString("\n### Keywords\n\n| keyword | here | |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(task.Keywords)) {
		r := task.Keywords[name]
		here := r.Here
		if here == "" {
			here = "nothing"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, output.Cell(here), output.Cell(r.Why))
	}
	b.WriteString(expression.Tables())
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// gaps are what is not carried over of a module.
func gaps(m ansible.Module) (left []string) {
	if m.Gap != "" {
		left = append(left, m.Gap)
	} else if m.Args == nil {
		return []string{"not carried over"}
	}
	by := map[string][]string{}
	for arg, a := range m.Args {
		if a.Gap != "" {
			by[a.Gap] = append(by[a.Gap], "`"+arg+"`")
		}
	}
	for _, why := range slices.Sorted(maps.Keys(by)) {
		slices.Sort(by[why])
		left = append(left, strings.Join(by[why], ", ")+" ("+why+")")
	}
	return left
}

// TestCarriers has a carrier for each module of the table that has arguments, and for no other.
func TestCarriers(t *testing.T) {
	for _, name := range ansible.Names() {
		m, _ := ansible.Find(name)
		require.Equal(t, m.Args != nil, reader{}.carrier(name) != nil, name)
		for name, one := range m.Args {
			require.NotEqual(t, ansible.Argument{}, one, name)
		}
	}
	for name := range module.Carriers {
		require.Equal(t, name, ansible.Name(name))
		require.Contains(t, ansible.Names(), name)
	}
}
