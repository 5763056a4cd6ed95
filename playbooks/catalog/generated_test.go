package catalog

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
)

const generating = "data: {code: 80, paths: [/a, /b], secret: s3cret}\nccm: {resources_jet_file: r.jet}\n"

// generated compiles for web1 what a template writes.
func generated(t *testing.T, template string, files map[string]string) (*Compiled, error) {
	all := map[string]string{"r.jet": template}
	for name, text := range files {
		all[name] = text
	}
	return compiler(t, generating, all, Options{}).Compile(t.Context(), web1)
}

func TestGenerated(t *testing.T) {
	c, err := generated(t, `
- exec:
  - defaults: {returns: [ [[ Data.code ]] ]}
[[- range _, p := Data.paths ]]
  - "touch [[ p ]]": {alias: made[[ p ]]}
[[- end ]]
  - [[ Facts.evil ]]: {require: ["exec#made/a"], environment: ["A=[[ Facts.evil ]]", "B={{ Data.code + 1 }}"]}
[[- if Facts.os == "linux" ]]
- file:
  - /etc/x:
      content: |
        {{ template("x.templ") }} on port [[ Data.code ]]
        [[ Facts.evil ]]
      owner: root
      group: root
      mode: "0600"
[[- end ]]
`, map[string]string{"x.templ": "{{ Facts.os }}"})
	require.NoError(t, err)
	require.Equal(t, "exec#touch /a(made/a)\nexec#touch /b(made/b)\nexec#{{ 7*7 }} require[0]\nfile#/etc/x", show(c.Catalog.Entries))
	var last struct{ Environment []string }
	require.NoError(t, json.Unmarshal(c.Catalog.Entries[2].Properties, &last))
	require.Equal(t, []string{"A={{ 7*7 }}", "B=81"}, last.Environment)
	require.Contains(t, string(c.Catalog.Entries[3].Properties), `linux on port 80\n{{ 7*7 }}\n`)
	require.Contains(t, string(c.Catalog.Entries[0].Properties), `"returns":[80]`)
}

func TestGeneratedForNobody(t *testing.T) {
	c, err := generated(t, "[[ if Facts.os == \"plan9\" ]]- exec: [x: ]\n[[ else ]][][[ end ]]", nil)
	require.NoError(t, err)
	require.Empty(t, c.Catalog.Entries)
}

// TestGeneratedIsNotInjected has a host send YAML and expressions as a value.
func TestGeneratedIsNotInjected(t *testing.T) {
	for _, evil := range []string{"x: {owner: root}\n- exec: [evil: ]", "a\": {}, \"b", "'", "\n---\n", "{{ Data.secret }}", "${ Data.secret }", "&a *a", "#", "·value·0·value·"} {
		h := web1
		h.Facts = map[string]any{"evil": evil}
		c, err := compiler(t, generating, map[string]string{
			"r.jet": "- exec:\n  - [[ Facts.evil ]]: {provider: shell}\n  - a: {provider: shell, command: [[ Facts.evil ]], environment: [\"A=[[ Facts.evil ]]\"]}\n",
		}, Options{}).Compile(t.Context(), h)
		require.NoError(t, err, evil)
		require.Len(t, c.Catalog.Entries, 2)
		require.Equal(t, evil, c.Catalog.Entries[0].Name)
		var p struct {
			Command     string
			Environment []string
		}
		require.NoError(t, json.Unmarshal(c.Catalog.Entries[1].Properties, &p))
		require.Equal(t, evil, p.Command)
		require.Equal(t, []string{"A=" + evil}, p.Environment)
	}
}

func TestGeneratedErrors(t *testing.T) {
	const where = "r.jet (rendered)"
	for _, c := range []struct{ name, template, want string }{
		{"nothing", "[[ if false ]]- exec: [x: ][[ end ]]\n", "site.yaml:2:27: resources jet template produced no output\n  hint: write [] for a host without resources"},
		{"a map", "exec: [x: ]", where + ":1:1: \"resources\" is not a list\n  hint: write a list: - file: [...]"},
		{"no YAML", "- [[ Data.port ]]: [", where + ":1: did not find expected node content\n  hint: check the indentation of this line and the quotes and brackets before it"},
		{"a key", "- exec: [x: {[[ Facts.os ]]: 1}]", where + ":1: a printed value cannot be the key \"[[…]]\"\n  hint: a template can print resource names and values of properties; write keys and types as literals"},
		{"a type", "- [[ Facts.os ]]: [x: ]", where + ":1: a printed value cannot be the key \"[[…]]\"\n  hint: a template can print resource names and values of properties; write keys and types as literals"},
		{"a property", "- exec: [x: {retruns: [1]}]", where + ":1:14: type exec has no property \"retruns\"\n  hint: did you mean \"returns\"?"},
		{"a value", "- exec: [x: {returns: [[ Facts.os ]]}]", where + ":1: \"returns\" must be a list, not the text \"linux\"\n  hint: write a list: - linux"},
		{"a condition", "- exec: [x: {control: {if: [[ Facts.os ]] == \"x\"}}]", where + ":1: a printed value cannot be part of \"control.if\"\n  hint: use Data or Facts in the expression itself, such as Facts.x == 'y'"},
		{"a file", "- file: [/x: {source: \"[[ Facts.os ]]\", owner: root, group: root, mode: '0600'}]",
			where + ":1: data from a host cannot choose which file ccm-push reads\n  hint: choose between fixed file names, such as \"{{ Facts.x == 'y' ? 'a.conf' : 'b.conf' }}\", or use data of the inventory"},
		{"a missing key", "- exec: [\"[[ Facts.nope ]]\": ]", "r.jet:1:14: missing key \"Facts.nope\"\n  hint: Facts has cpus, evil, list, os; to test whether the key exists, write isset(Facts.nope)"},
		{"a reference", "- exec: [aa: , a: {require: [exec#ab]}]", where + ":1:30: no resource is called exec#ab\n  hint: did you mean exec#aa?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			if msg, hint, _ := strings.Cut(want, "\n"); strings.HasPrefix(want, where) && c.name != "a value" { // with the written line
				line := regexp.MustCompile(`\[\[.*?\]\]`).ReplaceAllString(c.template, "[[…]]")
				want = msg + ` (in "` + line + `")` + "\n" + hint
			}
			_, err := generated(t, c.template, nil)
			require.EqualError(t, err, want)
		})
	}
}

func TestTemplateOfResourcesIsCheckedBeforeAnyHost(t *testing.T) {
	for _, c := range []struct{ name, template, want string }{
		{"missing", "", "site.yaml:2:27: no file \"r.jet\" in "},
		{"syntax", "[[ if ]]", "r.jet:1: parsing if: unexpected"},
		{"a path", "[[ file(Facts.os) ]]", "r.jet:1:4: file: data from a host cannot choose which file ccm-push reads"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			plays, err := load.Parse(t.Context(), "site.yaml", []byte(generating), builtin.Types())
			require.NoError(t, err)
			plays[0].Folder = dir
			if c.template != "" {
				write(t, dir, "r.jet", c.template)
			}
			_, err = New(plays[0], Options{})
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestFactsOfGenerated(t *testing.T) {
	for template, want := range map[string]struct {
		paths []string
		all   bool
	}{
		"- exec: [ [[ Facts.host.info.os ]]: ]":                         {[]string{"host.info.os"}, false},
		"- exec: [\"[[ Facts.host.info.os ]]\": {cwd: '{{ Data.x }}'}]": {[]string{"host.info.os"}, false},
	} {
		paths, all := compiler(t, generating, map[string]string{"r.jet": template}, Options{}).Facts()
		require.Equal(t, want.paths, paths)
		require.Equal(t, want.all, all)
	}
}

func TestGeneratedIsBounded(t *testing.T) {
	h := web1
	h.Facts = map[string]any{"l": make([]any, 40_000)}
	for i := range h.Facts["l"].([]any) {
		h.Facts["l"].([]any)[i] = int64(i)
	}
	c := compiler(t, generating, map[string]string{
		"r.jet": "- exec:\n[[ range _, x := Facts.l ]]  - touch [[ x ]]: {cwd: /tmp, creates: /x}\n[[ end ]]",
	}, Options{})
	_, err := c.Compile(t.Context(), h)
	require.EqualError(t, err, "site.yaml:2:27: the template writes more than 1024 KiB for this host")
	h.Facts = map[string]any{"l": h.Facts["l"].([]any)[:2000]}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Compile(ctx, h)
	require.ErrorContains(t, err, "did not end in time")
	_, err = c.Compile(t.Context(), h)
	require.NoError(t, err)
}
