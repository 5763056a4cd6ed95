package catalog

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
)

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

// TestHostsChooseNoFiles has facts reach the names of files on the way over data
// and elements.
func TestHostsChooseNoFiles(t *testing.T) {
	const (
		fileHint = "\n  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""
		nameHint = "\n  hint: choose between fixed file names, such as \"{{ Facts.x == 'y' ? 'a.conf' : 'b.conf' }}\", or use data of the inventory"
	)
	for _, c := range []struct{ name, manifest, want string }{
		{"data that is made of facts", `data: {conf: "{{ Facts.os }}.conf"}
ccm: {resources: [file: [/x: {source: "{{ Data.conf }}", owner: a, group: a, mode: "0600"}]]}`,
			"site.yaml:2:39: data from a host cannot choose which file ccm-push reads" + nameHint},
		{"overrides that are", `overrides: {a: {conf: {deep: ["{{ Facts.os }}.conf"]}}}
ccm: {resources: [exec: [x: {command: "{{ file(Data.conf.deep[0]) }}"}]]}`,
			"site.yaml:2:43: file: data from a host cannot choose which file ccm-push reads" + fileHint},
		{"an excluded resource", `data: {conf: "{{ Facts.os }}.conf"}
ccm: {resources: [exec: [x: {command: "{{ file(Data.conf) }}", control: {if: "false"}}]]}`,
			"site.yaml:2:43: file: data from a host cannot choose which file ccm-push reads" + fileHint},
		{"elements", `ccm: {resources: [exec: [x: {each: "{{ Facts.list }}", command: "{{ file(Item) }}"}]]}`,
			"site.yaml:1:69: file: data from a host cannot choose which file ccm-push reads" + fileHint},
		{"elements of data that is made of facts", `data: {l: ["{{ Facts.os }}"]}
ccm: {resources: [file: ["/{{ Item }}": {each: "{{ Data.l }}", source: "{{ Item }}", owner: a, group: a, mode: "0600"}]]}`,
			"site.yaml:2:72: data from a host cannot choose which file ccm-push reads" + nameHint},
		{"a condition", `ccm: {resources: [exec: [x: {each: "{{ Facts.list }}", control: {if: "file(Item) == 'x'"}}]]}`,
			"site.yaml:1:71: file: data from a host cannot choose which file ccm-push reads" + fileHint},
		{"a message", `data: {conf: "{{ Facts.os }}.conf"}
ccm: {pre_message: "{{ file(Data.conf) }}", resources: [exec: [x: ]]}`,
			"site.yaml:2:24: file: data from a host cannot choose which file ccm-push reads" + fileHint},
		{"a choice", `data: {conf: "{{ Facts.os == 'linux' ? 'a' : 'b' }}.conf", other: "{{ Facts.os }}"}
ccm: {resources: [exec: [x: {command: "{{ file(Data.conf) }} {{ Data.other }}"}]]}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			plays, err := load.Parse(t.Context(), "site.yaml", []byte(c.manifest), builtin.Types())
			require.NoError(t, err)
			plays[0].Folder = t.TempDir()
			compiler, err := New(plays[0], Options{})
			if c.want != "" {
				require.EqualError(t, err, c.want)
				return
			}
			require.NoError(t, err)
			compiler.Close()
		})
	}
}

func TestAnnotations(t *testing.T) {
	c := compiler(t, `data:
  # @require
  role: ""
  # @require
  # @validate isIPv4(value)
  address:
ccm: {resources: [exec: [x: ]]}
`, nil, Options{})
	_, err := c.Compile(t.Context(), web1)
	require.EqualError(t, err, "site.yaml:6:3: key \"address\" is required but has no value\n"+
		"  hint: set the value with -e address=VALUE or in the inventory", "role is set by the inventory")
	h := web1
	h.Vars = map[string]any{"role": "web", "address": "::1"}
	_, err = c.Compile(t.Context(), h)
	require.EqualError(t, err, "site.yaml:6:3: the value of the key \"address\" failed the validation \"isIPv4(value)\"\n  hint: set the value with -e address=VALUE or in the inventory")
}

// TestNotSelected checks that resources which tags do not select are omitted, and that references to them still
// compile.
func TestNotSelected(t *testing.T) {
	plays, err := load.Parse(t.Context(), "site.yaml", []byte(`ccm:
  resources:
    - exec: [a: {alias: x}, "{{ Data.nope }}": {alias: y}, b: ]
    - exec: [c: {tags: [only], require: [exec#a, exec#x, exec#y, "exec#{{ Facts.os }}", exec#b]}]
    - exec: [d: {tags: [only], require: [exec#c]}]
`), builtin.Types())
	require.NoError(t, err)
	plays, err = manifest.Selection{Tags: []string{"only"}}.Select(plays)
	require.NoError(t, err)
	plays[0].Folder = t.TempDir()
	c, err := New(plays[0], Options{})
	require.NoError(t, err)
	defer c.Close()
	compiled, err := c.Compile(t.Context(), web1)
	require.NoError(t, err)
	require.Equal(t, "exec#c\nexec#d require[0]", show(compiled.Catalog.Entries))
	paths, all := c.Facts()
	require.Equal(t, []string{"os"}, paths)
	require.False(t, all)
}

func TestRender(t *testing.T) {
	c := compiler(t, play("- exec: [{a: {timeout: \"{{ Data.n }}s\"}}, {b: {control: {if: 'false'}}}]")+"  pre_message: hi {{ Facts.os }}\n", nil, Options{})
	r, err := c.Render(t.Context(), web1)
	require.NoError(t, err)
	require.Equal(t, "hi linux", r.Pre)
	require.Equal(t, int64(8080), r.Data["port"])
	require.Len(t, r.Resources, 2)
	require.Equal(t, "5s", r.Resources[0].Properties.Get("timeout").Text)
	require.Equal(t, 4, r.Resources[0].Properties.Get("timeout").Line)
	require.True(t, r.Resources[1].Entry.Excluded)
	require.Nil(t, r.Resources[1].Properties)
}
