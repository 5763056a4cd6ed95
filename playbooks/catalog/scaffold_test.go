package catalog

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/scaffold"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
)

// treeOf returns the tree of the first entry.
func treeOf(t *testing.T, c *Compiled) *modules.Tree {
	t.Helper()
	var s scaffold.Scaffold
	require.NoError(t, json.Unmarshal(c.Catalog.Entries[0].Properties, &s))
	require.NotNil(t, s.Tree)
	return s.Tree
}

// texts returns the files of a tree with their texts, fetched in the same way as by a host.
func texts(t *testing.T, c *Compiled) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, n := range treeOf(t, c).Nodes {
		if n.Kind() != modules.Regular {
			continue
		}
		if b, here := n.Content.Bytes(); here {
			all[n.Path] = string(b)
			continue
		}
		require.Greater(t, n.Content.Size(), int64(modules.InlineLimit))
		r, size, err := c.Contents.Open(n.Content.SHA256())
		require.NoError(t, err)
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Len(t, b, int(size))
		require.NoError(t, r.Close())
		all[n.Path] = string(b)
	}
	return all
}

func TestScaffoldContents(t *testing.T) {
	long := strings.Repeat("long ", 200)
	c := compiler(t, play("- scaffold: [/t: {source: tree}]"), map[string]string{
		"tree/static": long, "tree/short": "short", "tree/made": long + "[[ Data.n ]]", "tree/fact": "[[ Facts.evil ]]", "tree/inventory": "[[ Data.role ]]",
	}, Options{})
	compiled, err := c.Compile(t.Context(), web1)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"static": long, "short": "short", "made": long + "5", "fact": "{{ 7*7 }}", "inventory": "web"}, texts(t, compiled))
	require.Len(t, compiled.Contents.texts, 1, "what needs no rendering is not held in memory")
	require.Len(t, compiled.Contents.files, 1)
	paths, all := c.Facts()
	require.Equal(t, []string{"evil"}, paths)
	require.False(t, all)
	var sent scaffold.Scaffold
	require.NoError(t, json.Unmarshal(compiled.Catalog.Entries[0].Properties, &sent))
	require.Empty(t, sent.Source)
}

// TestScaffoldModes checks that the owner gets the permissions that the host program needs for the next comparison.
func TestScaffoldModes(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "tree/d"), 0o700))
	for name, mode := range map[string]os.FileMode{"tree/d/run": 0o751, "tree/d/secret": 0o400} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("[[ Data.n ]]"), 0o600))
		require.NoError(t, os.Chmod(filepath.Join(dir, name), mode))
	}
	require.NoError(t, os.Chmod(filepath.Join(dir, "tree/d"), 0o505))
	require.NoError(t, os.Chmod(filepath.Join(dir, "tree"), 0o550))
	plays, err := load.Parse(t.Context(), "site.yaml", []byte(play("- scaffold: [/t: {source: tree}]")), builtin.Types())
	require.NoError(t, err)
	plays[0].Folder = dir
	c, err := New(plays[0], Options{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	compiled, err := c.Compile(t.Context(), web1)
	require.NoError(t, err)
	tree := treeOf(t, compiled)
	require.EqualValues(t, 0o750, tree.Mode)
	modes := map[string]os.FileMode{}
	for _, n := range tree.Nodes {
		modes[n.Path] = n.Mode
	}
	require.Equal(t, map[string]os.FileMode{"d": 0o705, "d/run": 0o751, "d/secret": 0o400}, modes)
	require.NoError(t, os.Chmod(filepath.Join(dir, "tree"), 0o700)) // to be removed
	require.NoError(t, os.Chmod(filepath.Join(dir, "tree/d"), 0o700))
}

// scaffoldCases are properties of a scaffold, and the text of the file "f" for web1.
var scaffoldCases = []struct{ name, properties, template, want string }{
	{"the play's data", "source: tree", "[[ Data.n ]][[ lookup(\"data.map.a\") ]]", "51"},
	{"other data", "source: tree, data: {x: \"{{ Data.names }}\"}", "[[ range Data.x ]][[ . ]][[ end ]][[ isset(Data.n) ]]", "abfalse"},
	{"data out of an expression", "source: tree, data: \"{{ Data.map }}\"", "[[ Data.a ]]", "1"},
	{"a key out of an expression", "source: tree, data: {\"{{ Data.role }}_port\": 1, deep: {\"${ Data.n }\": 2}}", "[[ Data.web_port ]][[ Data.deep[\"5\"] ]]", "12"},
	{"empty data are none", "source: tree, data: {}", "[[ Data.n ]]", "5"},
	{"typed data", "source: tree, data: {n: \"{{ Data.n }}\", t: \"{{ Data.yes }}\", s: \"{{ Data.n }}x\"}", "[[ Data.n + 1 ]][[ Data.t ]][[ Data.s ]]", "6true5x"},
	{"engine out of an expression", "source: tree, engine: \"{{ Data.yes ? 'go' : 'jet' }}\"", "{{ .Data.n }}", "5"},
	{"source out of an expression", "source: \"tr{{ Data.yes ? 'ee' : '' }}\"", "[[ Data.n ]][[ Facts.os ]]", "5linux"},
	{"delimiters out of an expression", "source: tree, left_delimiter: \"{{ '<' }}\", right_delimiter: \">\"", "<Data.n>", "5"},
	{"element", "source: tree, each: [{n: 7}]", "[[ Item.n ]][[ item.n ]]", "77"},
	{"a path out of data", "source: tree, data: {p: other}", "[[ file(Data.p) ]]", "OTHER"},
	{"a path out of the inventory", "source: tree, data: {p: \"{{ 'ot' + 'her' }}\"}, engine: go", "{{ file .Data.p }}", "OTHER"},
}

func TestScaffoldProperties(t *testing.T) {
	for _, test := range scaffoldCases {
		t.Run(test.name, func(t *testing.T) {
			c := compiler(t, play("- scaffold: [/t: {"+test.properties+"}]"), map[string]string{"tree/f": test.template, "other": "OTHER"}, Options{})
			compiled, err := c.Compile(t.Context(), web1)
			require.NoError(t, err)
			require.Equal(t, map[string]string{"f": test.want}, texts(t, compiled))
		})
	}
}

const hostilePath = "tree/f:1:4: file: data from a host cannot choose which file ccm-push reads\n  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\""

func TestScaffoldErrors(t *testing.T) {
	for _, test := range []struct{ name, properties, template, loading, compiling string }{
		{"a path out of data that is a fact", "source: tree, data: {p: \"{{ Facts.os }}\"}", "[[ file(Data.p) ]]", hostilePath, ""},
		{"a path out of data with a key that is a fact", "source: tree, data: {\"{{ Facts.os }}\": x}", "[[ file(Data.p) ]]", hostilePath, ""},
		{"a path out of a key of data that is a fact", "source: tree, data: {p: {\"{{ Facts.os }}\": x}}", "[[ file(Data.p) ]]", hostilePath, ""},
		{"a path out of data that are facts", "source: tree, data: \"{{ Facts }}\"", "[[ file(Data.p) ]]", hostilePath, ""},
		{"a path out of an element that is a fact", "source: tree, each: \"{{ Facts.list }}\", require: [], alias: \"{{ Item }}\"", "[[ file(Item) ]]", hostilePath, ""},
		{"the same, known late", "source: \"{{ 'tree' }}\", data: {p: \"{{ Facts.os }}\"}", "[[ file(Data.p) ]]", "", hostilePath},
		{"syntax, known late", "source: \"{{ 'tree' }}\"", "[[ nope ]]", "", "tree/f:1:4: identifier \"nope\" is not defined\n  hint: defined names: Data, Environ, Facts, Groups, Host, Hosts, Item, Outer and 3 more"},
		{"missing, known late", "source: \"{{ 'gone' }}\"", "", "", "site.yaml:4:31: source: no folder \"gone\" in DIR"},
		{"a source out of facts", "source: \"{{ Facts.os }}\"", "", "", ""},
		{"missing key", "source: tree", "x\n[[ Data.nope ]]", "", "tree/f:2:4: missing key \"Data.nope\"\n  hint: did you mean \"none\"? to test whether the key exists, write isset(Data.nope)"},
		{"two keys of one name", "source: tree, data: {a: 1, \"{{ 'a' }}\": 2}", "x", "", "site.yaml:4:50: two keys evaluate to \"a\""},
		{"a key that comes to nothing", "source: tree, data: {\"{{ '' }}\": 2}", "x", "", "site.yaml:4:44: the key evaluates to an empty text"},
		{"a command that comes to nothing", "source: tree, post: [{\"*\": \"{{ '' }}\"}]", "x", "", "site.yaml:4:44: the value of the key \"*\" in \"post\" cannot be empty"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.Mkdir(filepath.Join(dir, "tree"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "tree/f"), []byte(test.template), 0o644))
			plays, err := load.Parse(t.Context(), "site.yaml", []byte(play("- scaffold: [/t: {"+test.properties+"}]")), builtin.Types())
			if test.name == "a source out of facts" {
				require.ErrorContains(t, err, "site.yaml:4:31: data from a host cannot choose which file ccm-push reads")
				return
			}
			require.NoError(t, err)
			plays[0].Folder = dir
			c, err := New(plays[0], Options{})
			if test.loading != "" {
				require.EqualError(t, err, test.loading)
				return
			}
			require.NoError(t, err)
			t.Cleanup(c.Close)
			_, err = c.Compile(t.Context(), web1)
			require.EqualError(t, err, strings.ReplaceAll(test.compiling, "DIR", dir))
		})
	}
}

// TestScaffoldWithEmptyData has templates that see the data of the play, facts in
// it included.
func TestScaffoldWithEmptyData(t *testing.T) {
	_, _, err := nesting(t, "-- site.yaml --\ndata: {p: '{{ Facts.os }}'}\nccm: {resources: [scaffold: [/t: {source: tree, data: {}}]]}\n-- tree/f --\n[[ file(Data.p) ]]\n", Options{})
	require.EqualError(t, err, hostilePath)
}

// TestScaffoldDelimitersOfHosts has text that would be an expression if a host said
// so.
func TestScaffoldDelimitersOfHosts(t *testing.T) {
	_, _, err := nesting(t, "-- site.yaml --\ndata: {p: '{{ Facts.os }}'}\nccm: {resources: [scaffold: [/t: {source: tree, left_delimiter: '{{ Data.p }}', right_delimiter: end}]]}\n-- tree/f --\nlinux Data.p end\n", Options{})
	require.ErrorContains(t, err, "site.yaml:2:65: data from a host cannot choose the template engine or delimiters\n  hint: use data of the inventory")
}

// TestScaffoldSensitive checks that no rendered text is shown.
func TestScaffoldSensitive(t *testing.T) {
	c := compiler(t, play("- scaffold: [/t: {source: tree, sensitive: true, data: {secret: \"{{ Facts.evil }}\"}}]"), map[string]string{"tree/f": "[[ write(Data.secret + \"/../..\", \"x\") ]]"}, Options{})
	_, err := c.Compile(t.Context(), web1)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "7*7")
	require.Contains(t, err.Error(), "the details are hidden because the resource is sensitive")
}

// TestScaffoldIsBounded has many scaffolds that are small each.
func TestScaffoldIsBounded(t *testing.T) {
	c := compiler(t, play("- scaffold: [\"/t{{ Item }}\": {source: tree, each: \"{{ 1..40 }}\"}]"), map[string]string{"tree/f": "[[ repeat(\"0123456789abcdef\", 131072) ]][[ Item ]]"}, Options{})
	_, err := c.Compile(t.Context(), web1)
	require.Error(t, err)
	require.Contains(t, err.Error(), "MiB")
}
