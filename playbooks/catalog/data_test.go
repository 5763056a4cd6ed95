package catalog

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/templates"
)

func TestEnvVariables(t *testing.T) {
	require.Equal(t, map[string]any{
		"A": "1", "B": "two words", "C": "x=y", "D": "", "E": "it's", "F": `"open`, "G": "crlf", "H": "a # b", "I": "$A ${A}",
	}, envVariables("# A=0\nA=1\n\nexport B=\"two words\"\nC=x=y\nD=\n  E = it's \nF=\"open\nG='crlf'\r\nH=a # b\nI=$A ${A}\nno variable\n=x\n"))
}

func TestWithEnvFile(t *testing.T) {
	dir := t.TempDir()
	files, err := templates.Open(dir)
	require.NoError(t, err)
	defer files.Close()
	environ := map[string]any{"HOME": "/root", "ROLE": "db"}
	got, err := withEnvFile(environ, files)
	require.NoError(t, err)
	require.Equal(t, environ, got)

	again, err := templates.Open(dir) // missing files are remembered for a run
	require.NoError(t, err)
	defer again.Close()
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".env"), []byte("ROLE=web\n"), 0o600))
	got, err = withEnvFile(environ, again)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"HOME": "/root", "ROLE": "web"}, got)
	require.Equal(t, "db", environ["ROLE"], "the environment of other plays")

	linked := t.TempDir()
	require.NoError(t, os.Symlink("/etc/hostname", filepath.Join(linked, ".env")))
	outside, err := templates.Open(linked)
	require.NoError(t, err)
	defer outside.Close()
	_, err = withEnvFile(environ, outside)
	require.EqualError(t, err, `more variables for Environ: ".env" is outside the folder `+linked+"\n  hint: --no-read-env leaves that file out")
}

// TestNestedDataOnData checks that a nested manifest's data sees the data passed to it, and that the results of the
// parent's expressions are not evaluated there.
func TestNestedDataOnData(t *testing.T) {
	files := `
-- site.yaml --
data: {host: db, port: '{{ Data.base + 80 }}', base: 8000, evil: "{{ Facts.evil }}"}
ccm:
  resources:
    - apply:
        - inner/given.yaml: {data: {host: "{{ Data.host }}:{{ Data.port }}", evil: "{{ Data.evil }}", text: "{{ '{{ Data.x }}' }}"}}
        - inner/all.yaml: {}
-- inner/given.yaml --
data: {url: "http://{{ Data.host }}", host: none, all: "{{ Data.evil }} {{ Data.text }}", x: 1}
ccm: {resources: [exec: ["{{ Data.url }} {{ Data.all }}": ]]}
-- inner/all.yaml --
data: {url: "http://{{ Data.host }}:{{ Data.port }}", host: none, port: "{{ Data.nope }}"}
ccm: {resources: [exec: ["{{ Data.url }}": ]]}
`
	c, _, err := nesting(t, files, Options{})
	require.NoError(t, err)
	compiled, err := c.Compile(t.Context(), web1)
	require.NoError(t, err)
	require.Equal(t, "http://db:8080 {{ 7*7 }} {{ Data.x }}", compiled.Catalog.Entries[0].Name)
	require.Equal(t, "http://db:8080", compiled.Catalog.Entries[2].Name)

	_, _, err = nesting(t, `
-- site.yaml --
ccm: {resources: [apply: [inner.yaml: {data: {name: "{{ Facts.os }}"}}]]}
-- inner.yaml --
data: {path: "{{ Data.name }}.conf"}
ccm: {resources: [file: [/a: {source: "{{ Data.path }}", `+root+`}]]}
`, Options{})
	require.ErrorContains(t, err, "inner.yaml:2:39: data from a host cannot choose which file ccm-push reads")
}

// TestVariables checks that variables are evaluated in their own language, that an unread one stays a text, and that
// facts do not get through them into names of files.
func TestVariables(t *testing.T) {
	docs, err := yamlpos.Parse("hosts.yaml", []byte("url: 'http://{{ host | lower }}:{{ Data.port }}'\naddr: '{{ host | lower }}:{{ port | default(80) }}'\nhost: '{{ name }}'\nbad: '{{ 1 | plus }}'\nfile: '{{ os }}.conf'\n"))
	require.NoError(t, err)
	vars := templates.ParseVariables(docs)
	host := Host{Name: "web1", Facts: web1.Facts, Layers: []templates.Layer{{Name: "group all", Node: docs[0], Values: docs[0].Any().(map[string]any)}}}
	compile := func(text string) (string, error) {
		c := compiler(t, text, nil, Options{Variables: vars})
		compiled, err := c.Compile(t.Context(), host)
		if err != nil {
			return "", err
		}
		return compiled.Catalog.Entries[0].Name, nil
	}
	name, err := compile("data: {name: DB, os: '{{ Facts.os }}'}\nccm: {resources: [exec: [\"{{ Data.addr }} {{ Data.file }}\": ]]}")
	require.NoError(t, err)
	require.Equal(t, "db:80 linux.conf", name)
	_, err = compile("data: {name: DB}\nccm: {resources: [exec: [\"{{ Data.bad }}\": ]]}")
	require.ErrorContains(t, err, `hosts.yaml:4:6: the variable is an Ansible expression that ccm-push does not support: there is no filter "plus"`)
	_, err = compile("data: {name: '{{ Data.addr }}', os: x}\nccm: {resources: [exec: [\"{{ Data.addr }}\": ]]}")
	require.ErrorContains(t, err, "data refers to itself: addr (hosts.yaml:2:7) needs host (hosts.yaml:3:7) needs name (site.yaml:1:14) needs addr")

	_, _, err = nesting(t, "\n-- site.yaml --\ndata: {os: '{{ Facts.os }}'}\nccm: {resources: [file: [/a: {source: \"{{ Data.file }}\", "+root+"}]]}\n", Options{Variables: vars})
	require.ErrorContains(t, err, "site.yaml:2:39: data from a host cannot choose which file ccm-push reads")
}
