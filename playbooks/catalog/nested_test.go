package catalog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"golang.org/x/tools/txtar"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/graph"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
	"github.com/ccm-push/ccm-push/playbooks/manifest/source"
	"github.com/ccm-push/ccm-push/templates"
)

// nesting makes the compiler of site.yaml in a folder with these files. Errors are
// without the folder.
func nesting(t testing.TB, files string, opts Options) (*Compiler, string, error) {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(files)).Files {
		path := filepath.Join(dir, f.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, f.Data, 0o600))
	}
	archives := &source.Unpacker{Temp: t.TempDir()}
	t.Cleanup(func() { require.NoError(t, archives.Close()) })
	plays, err := load.Files(t.Context(), []string{filepath.Join(dir, "site.yaml")}, builtin.Types(), load.WithArchives(archives))
	require.NoError(t, err)
	c, err := New(plays[0], opts)
	if err == nil {
		t.Cleanup(c.Close)
	}
	return c, dir, err
}

// showNested is show with the scopes.
func showNested(entries []wire.Entry) string {
	lines := strings.Split(show(entries), "\n")
	for i, e := range entries {
		if e.Scope != nil {
			lines[i] += fmt.Sprintf(" [%d]", e.Scope.Entries)
			if e.Scope.FailOnError {
				lines[i] += "!"
			}
		}
		if e.Monitor {
			lines[i] += " monitor"
		}
	}
	return strings.Join(lines, "\n")
}

var nestedGood = []struct{ name, archive, want string }{
	{"in its place", "-- site.yaml --\nccm: {resources: [{exec: [a: ]}, {apply: [n.yaml: ]}, {exec: [b: {require: [exec#c, apply#n.yaml]}]}]}\n" +
		"-- n.yaml --\nccm: {fail_on_error: true, resources: [exec: [c: {require: [exec#a]}]]}\n",
		"exec#a\nexec#c require[0]\napply#n.yaml [1]!\nexec#b require[1 2]"},
	{"scopes in scopes", "-- site.yaml --\nccm: {resources: [apply: [{n.yaml: }, {m.yaml: {alias: again}}]]}\n" +
		"-- n.yaml --\nccm: {resources: [{apply: [m.yaml: ]}, {exec: [x: ]}]}\n-- m.yaml --\nccm: {resources: [exec: [y: ]]}\n",
		"exec#y\napply#m.yaml [1]\nexec#x\napply#n.yaml [3]\nexec#y\napply#m.yaml(again) [1]"},
	{"what its resources inherit", "-- site.yaml --\nccm: {resources: [{exec: [a: ]}, {apply: [n.yaml: {require: [exec#a], noop: true, sensitive: true, health_check_only: true}]}]}\n" +
		"-- n.yaml --\nccm: {resources: [{exec: [{b: }, {c: {require: [exec#b, exec#a]}}]}, {apply: [m.yaml: {noop: false, health_check_only: false}]}]}\n-- m.yaml --\nccm: {resources: [exec: [y: ]]}\n",
		"exec#a\nexec#b require[0] noop sensitive monitor\nexec#c require[0 1] noop sensitive monitor\nexec#y require[0] noop sensitive monitor\n" +
			"apply#m.yaml require[0] noop sensitive [1] monitor\napply#n.yaml require[0] noop sensitive [4]"},
	{"the parent's data", "-- site.yaml --\ndata: {a: 1, l: [1], m: {x: 1}}\nccm: {resources: [apply: [n.yaml: ]]}\n" +
		"-- n.yaml --\ndata: {a: 2, b: 3, l: [2], m: {x: 2, y: 2}}\nccm: {resources: [exec: ['{{ Data.a }} {{ Data.b }} {{ join(map(Data.l, string(#)), \" \") }} {{ Data.m.x }}{{ Data.m.y }} {{ Data.role }}': ]]}\n",
		"exec#1 3 2 1 12 web\napply#n.yaml [1]"},
	{"data of its own", "-- site.yaml --\ndata: {a: 1, secret: x}\nccm: {resources: [apply: [n.yaml: {data: {a: '{{ Data.a + 1 }}', m: {y: 5}}}]]}\n" +
		"-- n.yaml --\ndata: {a: 0, m: {x: 4}}\nhierarchy: {order: ['os:{{ Facts.os }}']}\noverrides: {'os:linux': {over: yes}}\n" +
		"ccm: {resources: [exec: ['{{ Data.a }} {{ Data.m.x }}{{ Data.m.y }} {{ Data.over }} {{ Data.secret ?? \"none\" }} {{ Data.role ?? \"none\" }}': ]]}\n",
		"exec#2 45 yes none none\napply#n.yaml [1]"},
	{"no data", "-- site.yaml --\ndata: {a: 1}\nccm: {resources: [apply: [n.yaml: {data: {}}]]}\n-- n.yaml --\nccm: {resources: [exec: ['{{ Data.a ?? \"none\" }}': ]]}\n",
		"exec#none\napply#n.yaml [1]"},
	{"all of a map", "-- site.yaml --\ndata: {p: {a: 1}}\nccm: {resources: [apply: [n.yaml: {data: '{{ Data.p }}'}]]}\n-- n.yaml --\nccm: {resources: [exec: ['{{ Data.a }}': ]]}\n",
		"exec#1\napply#n.yaml [1]"},
	{"each", "-- site.yaml --\ndata: {sites: [a, b]}\nccm: {resources: [{apply: [n.yaml: {each: '{{ Data.sites }}', alias: 'site {{ Item }}', data: {site: '{{ Item }}'}}]}, {exec: [x: {require: [apply#site a, apply#n.yaml]}]}]}\n" +
		"-- n.yaml --\nccm: {resources: [exec: ['{{ Data.site }}': ]]}\n",
		"exec#a\napply#n.yaml(site a) [1]\nexec#b\napply#n.yaml(site b) [1]\nexec#x require[1 3]"},
	{"each with one alias", "-- site.yaml --\ndata: {sites: [a, b]}\nccm: {resources: [{apply: [n.yaml: {each: '{{ Data.sites }}', alias: all, data: {site: '{{ Item }}'}}]}, {exec: [x: {require: [apply#all]}]}]}\n" +
		"-- n.yaml --\nccm: {resources: [exec: [{'{{ Data.site }}': }, {y: }]]}\n",
		"exec#a\nexec#y\napply#n.yaml(all) [2]\nexec#b\nexec#y\napply#n.yaml(all) [2]\nexec#x require[2 5]"},
	{"excluded", "-- site.yaml --\nccm: {resources: [{apply: [n.yaml: {control: {if: 'false'}}]}, {exec: [x: {require: [exec#a, exec#b, apply#n.yaml]}]}]}\n" +
		"-- n.yaml --\nccm: {resources: [{exec: [a: {command: '{{ Data.nope }}'}]}, {apply: [m.yaml: ]}]}\n-- m.yaml --\nccm: {resources: [exec: [b: ]]}\n",
		"apply#n.yaml excluded\nexec#x require[0]"},
	{"a template that writes them", "-- site.yaml --\nccm: {resources: [{apply: [sub: ]}, {exec: [z: {require: [exec#linux]}]}]}\n" +
		"-- sub/manifest.yaml --\nccm: {resources_jet_file: list.jet}\n-- sub/list.jet --\n- exec:\n  - \"[[ Facts.os ]]\":\n- apply:\n  - more.yaml:\n-- sub/more.yaml --\nccm: {resources: [exec: [m: ]]}\n",
		"exec#linux\nexec#m\napply#more.yaml [1]\napply#sub [3]\nexec#z require[0]"},
	{"a name that depends on the host", "-- site.yaml --\nccm: {resources: [{apply: ['{{ Data.role }}.yaml': {data: {x: 1}}]}, {exec: [z: {require: [exec#inner]}]}]}\n" +
		"-- web.yaml --\nccm: {resources: [{exec: [inner: ]}, {apply: [m.yaml: ]}]}\n-- m.yaml --\nccm: {resources: [exec: ['{{ Data.x }}': ]]}\n",
		"exec#inner\nexec#1\napply#m.yaml [1]\napply#web.yaml [3]\nexec#z require[0]"},
	{"an unknown one that is excluded", "-- site.yaml --\nccm: {resources: [{apply: ['{{ Data.nope }}.yaml': {control: {if: 'false'}}]}, {exec: [z: {require: [exec#inner]}]}]}\n",
		"apply#{{ Data.nope }}.yaml excluded\nexec#z"},
}

func TestCompileNested(t *testing.T) {
	for _, c := range nestedGood {
		t.Run(c.name, func(t *testing.T) {
			comp, _, err := nesting(t, c.archive, Options{})
			require.NoError(t, err)
			for range 2 { // manifests loaded for one host are reused for the next
				compiled, err := comp.Compile(t.Context(), web1)
				require.NoError(t, err)
				require.Equal(t, c.want, showNested(compiled.Catalog.Entries))
				for _, e := range compiled.Catalog.Entries {
					require.Equal(t, e.Scope != nil || e.Excluded, e.Properties == nil, e.Ref())
				}
			}
		})
	}
}

var nestedWrong = []struct{ name, archive, want string }{
	{"data", "-- site.yaml --\nccm: {resources: [apply: [n.yaml: {data: {}}]]}\n-- n.yaml --\nccm: {resources: [exec: ['{{ Data.nope }}': ]]}\n",
		"n.yaml:1:35: missing key \"Data.nope\"\n  hint: Data has no keys; if the key may be missing, write Data.nope ?? DEFAULT"},
	{"data that is given", "-- site.yaml --\nccm: {resources: [{apply: [n.yaml: {data: {a: '{{ Data.nope }}'}}]}, {exec: [x: {require: [exec#a]}]}]}\n-- n.yaml --\nccm: {resources: [exec: [a: ]]}\n",
		"site.yaml:1:56: missing key \"Data.nope\"\n  hint: Data has port, role; if the key may be missing, write Data.nope ?? DEFAULT"},
	{"data that is no map", "-- site.yaml --\ndata: {l: [1]}\nccm: {resources: [apply: [n.yaml: {data: '{{ Data.l }}'}]]}\n-- n.yaml --\nccm: {resources: [exec: [a: ]]}\n",
		"site.yaml:2:42: \"data\" must be a map, not a list (value of the variable \"l\", set at site.yaml:1:11)\n  hint: write a map, such as key: value"},
	{"annotations", "-- site.yaml --\nccm: {resources: [apply: [n.yaml: {data: {port: x}}]]}\n-- n.yaml --\ndata:\n  # @require\n  name:\n  # @validate isInt(value)\n  port: 1\nccm: {resources: [exec: [a: ]]}\n", "n.yaml:3:3: key \"name\" is required but has no value\n  hint: give it in the data of site.yaml:1:27\nn.yaml:5:3: the value of the key \"port\" failed the validation \"isInt(value)\" (value of the variable \"port\", set at site.yaml:1:49)\n  hint: give it in the data of site.yaml:1:27"},
	{"a name without a file", "-- site.yaml --\nccm: {resources: [apply: ['{{ Data.role }}.yaml': ]]}\n", "site.yaml:1:27: unknown manifest web.yaml"},
	{"errors in what is found per host", "-- site.yaml --\nccm: {resources: [apply: ['{{ Data.role }}.yaml': ]]}\n-- web.yaml --\nhosts: x\nccm: {resources: [exec: [a: {commnad: x}]]}\n",
		"web.yaml:1:1: the key \"hosts\" cannot be used in a nested manifest\n  hint: move the key to the play that applies this manifest\nweb.yaml:2:30: type exec has no property \"commnad\"\n  hint: did you mean \"command\"?"},
	{"a circle that is found per host", "-- site.yaml --\nccm: {resources: [apply: ['{{ Data.role }}.yaml': ]]}\n-- web.yaml --\nccm: {resources: [apply: ['{{ Data.role }}.yaml': ]]}\n",
		"web.yaml:1:27: a manifest applies itself: site.yaml → web.yaml → web.yaml\n  hint: remove this apply resource, or apply another manifest"},
	{"denied per host", "-- site.yaml --\ndata: {no: false}\nccm: {resources: [apply: [n.yaml: {allow_apply: '{{ Data.no }}'}]]}\n-- n.yaml --\nccm: {resources: [apply: [m.yaml: ]]}\n-- m.yaml --\nccm: {resources: [exec: [a: ]]}\n",
		"n.yaml:1:27: apply resources are denied\n  hint: site.yaml:2:27 applies this manifest with allow_apply: false"},
	{"denied to a template", "-- site.yaml --\nccm: {resources: [apply: [n.yaml: {allow_apply: false}]]}\n-- n.yaml --\nccm: {resources_jet_file: l.jet}\n-- l.jet --\n- apply: [n.yaml: ]\n",
		"l.jet (rendered):1:11: apply resources are denied\n  hint: site.yaml:1:27 applies this manifest with allow_apply: false"},
	{"a reference to nothing", "-- site.yaml --\nccm: {resources: [apply: ['{{ Data.role }}.yaml': ]]}\n-- web.yaml --\nccm: {resources: [exec: [{aaa: }, {b: {require: [exec#aab]}}]]}\n",
		"web.yaml:1:50: no earlier resource is called exec#aab on this host\n  hint: did you mean exec#aaa?"},
	{"a file of another folder", "-- site.yaml --\nccm: {resources: [apply: [sub: ]]}\n-- x --\n-- sub/manifest.yaml --\nccm: {resources: [exec: [\"{{ file('../x') }}\": ]]}\n",
		"sub/manifest.yaml:1:30: \"../x\" is outside the folder sub\n  hint: move the file into this folder: a play can read only files in its own folder"},
	{"too many", "-- site.yaml --\ndata: {l: '{{ 1..400 }}'}\nccm: {resources: [apply: [n.yaml: {each: '{{ Data.l }}'}]]}\n-- n.yaml --\nccm: {resources: [exec: ['{{ Item }}': {each: '{{ Data.l }}'}]]}\n",
		"n.yaml:1:47: \"each\" has 400 elements, and a host may have 100000 resources\n  hint: 99849 entries come before it"},
}

func TestCompileNestedErrors(t *testing.T) {
	for _, c := range nestedWrong {
		t.Run(c.name, func(t *testing.T) {
			comp, dir, err := nesting(t, c.archive, Options{})
			if err == nil {
				_, err = comp.Compile(t.Context(), web1)
			}
			require.Error(t, err)
			require.Equal(t, c.want, strings.ReplaceAll(err.Error(), dir+"/", ""))
		})
	}
}

// TestNestedFilesOfHosts holds that a host cannot choose files through the data of
// a nested manifest.
func TestNestedFilesOfHosts(t *testing.T) {
	const sub = "-- sub/manifest.yaml --\nccm: {resources: [exec: [\"{{ file(Data.x) }}\": ]]}\n"
	for _, c := range []struct{ name, site, want string }{
		{"not given", "data: {x: a}\nccm: {resources: [apply: [sub: ]]}", ""},
		{"given", "data: {x: '{{ Facts.os }}'}\nccm: {resources: [apply: [sub: {data: {x: a}}]]}", ""},
		{"from the parent", "data: {x: '{{ Facts.os }}'}\nccm: {resources: [apply: [sub: ]]}", "sub/manifest.yaml:1:30: file: data from a host cannot choose which file ccm-push reads"},
		{"a fact", "ccm: {resources: [apply: [sub: {data: {x: '{{ Facts.os }}'}}]]}", "sub/manifest.yaml:1:30: file: data from a host cannot choose which file ccm-push reads"},
		{"through the parent", "data: {y: '{{ Facts.os }}'}\nccm: {resources: [apply: [sub: {data: {x: '{{ Data.y }}'}}]]}", "sub/manifest.yaml:1:30: file: data from a host cannot choose which file ccm-push reads"},
		{"through an element", "ccm: {resources: [apply: [sub: {each: '{{ Facts.list }}', data: {x: '{{ Item }}'}}]]}", "sub/manifest.yaml:1:30: file: data from a host cannot choose which file ccm-push reads"},
		{"a key", "ccm: {resources: [apply: [sub: {data: {x: {'{{ Facts.os }}': a}}}]]}", "sub/manifest.yaml:1:30: file: data from a host cannot choose which file ccm-push reads"},
		{"a key, through data", "data: {y: '{{ Facts.os }}'}\nccm: {resources: [apply: [sub: {data: {'{{ Data.y }}': a}}]]}", "site.yaml:2:40: data from a host cannot be used as a key"},
		{"the name, through data", "data: {x: '{{ Facts.os }}'}\nccm: {resources: [apply: ['{{ Data.x }}': ]]}", "site.yaml:2:27: data from a host cannot be used as the name of a manifest"},
		{"all data, through data", "data: {x: {x: '{{ Facts.os }}'}}\nccm: {resources: [apply: [sub: {data: '{{ Data.x }}'}]]}", "site.yaml:2:39: data from a host cannot be used as the whole data of a manifest"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, dir, err := nesting(t, "-- site.yaml --\n"+c.site+"\n"+sub, Options{})
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			require.Contains(t, strings.ReplaceAll(err.Error(), dir+"/", ""), c.want)
		})
	}
}

// TestNestedForManyHosts loads and compiles at the same time.
func TestNestedForManyHosts(t *testing.T) {
	comp, _, err := nesting(t, nestedGood[11].archive, Options{})
	require.NoError(t, err)
	var g errgroup.Group
	for range 8 {
		g.Go(func() error {
			compiled, err := comp.Compile(t.Context(), web1)
			if err == nil && showNested(compiled.Catalog.Entries) != nestedGood[11].want {
				err = errors.New(showNested(compiled.Catalog.Entries))
			}
			return err
		})
	}
	require.NoError(t, g.Wait())
}

func TestNestedMessagesAndContents(t *testing.T) {
	comp, _, err := nesting(t, `
-- site.yaml --
data: {who: me}
ccm:
  resources:
    - apply:
        - sub:
        - sub: {alias: again, data: {who: you}}
-- sub/manifest.yaml --
ccm:
  pre_message: hello {{ Data.who }}
  post_message: "{{ template('bye.templ') }}"
  resources:
    - file: [/a: {source: big, owner: root, group: root, mode: "0644"}]
-- sub/bye.templ --
bye {{ Data.who }}
-- sub/big --
`+strings.Repeat("x", 1000)+"\n", Options{Hiera: nil})
	require.NoError(t, err)
	compiled, err := comp.Compile(t.Context(), web1)
	require.NoError(t, err)
	require.Equal(t, []Note{{First: 0, Last: 1, Pre: "hello me", Post: "bye me\n"}, {First: 2, Last: 3, Pre: "hello you", Post: "bye you\n"}}, compiled.Notes)
	digest := modules.TextContent(strings.Repeat("x", 1000) + "\n").SHA256()
	require.True(t, compiled.Contents.Has(digest))
	r, size, err := compiled.Contents.Open(digest)
	require.NoError(t, err)
	require.Equal(t, int64(1001), size)
	require.NoError(t, r.Close())
}

func TestNestedTags(t *testing.T) {
	const archive = "-- site.yaml --\nccm: {resources: [{exec: [z: ]}, {apply: [{n.yaml: {tags: [web]}}, {'{{ Data.role }}.yaml': }]}, {exec: [x: {tags: [deep], require: [exec#a, exec#w]}]}]}\n" +
		"-- n.yaml --\nccm: {resources: [exec: [{a: }, {b: {tags: [deep]}}]]}\n-- web.yaml --\nccm: {resources_jet_file: l.jet}\n-- l.jet --\n- exec: [{w: }, {v: {tags: [deep]}}]\n"
	for _, c := range []struct {
		s    manifest.Selection
		want string
	}{
		{manifest.Selection{}, "exec#z\nexec#a\nexec#b\napply#n.yaml [2]\nexec#w\nexec#v\napply#web.yaml [2]\nexec#x require[1 4]"},
		{manifest.Selection{Tags: []string{"web"}}, "exec#a\nexec#b\napply#n.yaml [2]"},
		{manifest.Selection{Tags: []string{"deep"}}, "exec#b\napply#n.yaml [1]\nexec#v\napply#web.yaml [1]\nexec#x"},
		{manifest.Selection{Skip: []string{"web", "deep"}}, "exec#z\nexec#w\napply#web.yaml [1]"},
	} {
		dir := t.TempDir()
		for _, f := range txtar.Parse([]byte(archive)).Files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600))
		}
		plays, err := load.Files(t.Context(), []string{filepath.Join(dir, "site.yaml")}, builtin.Types())
		require.NoError(t, err)
		plays, err = c.s.Select(plays)
		require.NoError(t, err)
		comp, err := New(plays[0], Options{})
		require.NoError(t, err)
		t.Cleanup(comp.Close)
		compiled, err := comp.Compile(t.Context(), web1)
		require.NoError(t, err)
		require.Equal(t, c.want, showNested(compiled.Catalog.Entries), "%+v", c.s)
	}
}

func TestRenderNested(t *testing.T) {
	comp, dir, err := nesting(t, `
-- site.yaml --
data: {port: 80, list: [1]}
ccm: {resources: [apply: [{n.yaml: }, {n.yaml: {alias: b, data: {port: "{{ Data.port + 1 }}"}}}]]}
-- n.yaml --
data: {name: shop, list: [0]}
ccm: {resources: [exec: ["{{ Data.name }} {{ Data.port }}": ]]}
`, Options{})
	require.NoError(t, err)
	shown, err := comp.Render(t.Context(), Host{Layers: []templates.Layer{{Name: "group web", Values: map[string]any{"zone": "eu"}}}})
	require.NoError(t, err)
	text, err := shown.YAML("title", Shown{Explain: true})
	require.NoError(t, err)
	require.Equal(t, `# title
data:
  list:
    - 1 # data, site.yaml:1:25
  port: 80 # data, site.yaml:1:14
  zone: eu # group web
ccm:
  resources:
    - exec:
        name: shop 80 # n.yaml:2:26 {{ Data.name }} {{ Data.port }}
        ensure: present # default
        provider: posix # default
        cwd: / # default
    - apply: # the resource before it is from n.yaml
        name: n.yaml # site.yaml:2:28
        data:
          list:
            - 0 # nested data, n.yaml:1:27
            - 1 # data, site.yaml:1:25
          name: shop # nested data, n.yaml:1:14
          port: 80 # data, site.yaml:1:14
          zone: eu # group web
    - exec:
        name: shop 81 # n.yaml:2:26 {{ Data.name }} {{ Data.port }}
        ensure: present # default
        provider: posix # default
        cwd: / # default
    - apply: # the resource before it is from n.yaml
        name: n.yaml # site.yaml:2:40
        alias: b
        data:
          list:
            - 0 # nested data, n.yaml:1:27
          name: shop # nested data, n.yaml:1:14
          port: 81 # apply, site.yaml:2:72
`, strings.ReplaceAll(string(text), dir+"/", ""))
}

// A nestedTree is a random manifest, in two forms.
type nestedTree struct {
	files map[string]string // with nested manifests
	flat  []string          // its resources without them
	names []string          // names of the resources so far
}

// manifest writes one file with random resources. common has the keys that the resources of the flattened form inherit
// from the resources that apply them.
func (n *nestedTree) manifest(r *rand.Rand, name string, depth int, common []string, requires []string) {
	lines := []string{"ccm:", "  resources:"}
	for range 1 + r.IntN(4) {
		var own []string
		if len(n.names) > 0 && r.IntN(2) == 0 {
			own = append(own, "exec#"+n.names[r.IntN(len(n.names))])
		}
		var extra []string
		for _, key := range []string{"noop: true", "sensitive: true"} {
			if r.IntN(6) == 0 {
				extra = append(extra, key)
			}
		}
		if depth > 0 && r.IntN(3) == 0 {
			child := fmt.Sprintf("n%d.yaml", len(n.files))
			n.files[child] = "" // so that the next one has another name
			lines = append(lines, "    - apply: ["+child+": {"+written(extra, own)+"}]")
			n.manifest(r, child, depth-1, append(slices.Clone(common), extra...), append(slices.Clone(requires), own...))
			continue
		}
		resource := fmt.Sprintf("r%d", len(n.flat))
		command := ", command: 'echo {{ Data.x }} " + resource + "'"
		lines = append(lines, "    - exec: ["+resource+": {"+written(extra, own)+command+"}]")
		n.flat = append(n.flat, "    - exec: ["+resource+": {"+written(append(slices.Clone(common), extra...), append(slices.Clone(requires), own...))+command+"}]")
		n.names = append(n.names, resource)
	}
	n.files[name] = strings.Join(lines, "\n") + "\n"
}

// written returns properties and references, each once.
func written(keys, refs []string) string {
	slices.Sort(keys)
	return strings.Join(append(slices.Compact(keys), "require: ["+strings.Join(refs, ", ")+"]"), ", ")
}

// TestNestedIsFlattened compares manifests with one file that has all of their resources.
func TestNestedIsFlattened(t *testing.T) {
	deepest := 0
	seeds := uint64(150)
	if testing.Short() {
		seeds /= 10
	}
	for seed := range seeds {
		n := &nestedTree{files: map[string]string{}}
		n.manifest(rand.New(rand.NewPCG(seed, 1)), "site.yaml", 4, nil, nil)
		archive := ""
		for name, text := range n.files {
			if name == "site.yaml" {
				text = "data: {x: 5}\n" + text
			}
			archive += "-- " + name + " --\n" + text
		}
		comp, _, err := nesting(t, archive, Options{})
		require.NoError(t, err, archive)
		compiled, err := comp.Compile(t.Context(), web1)
		require.NoError(t, err, archive)
		deepest = max(deepest, len(n.files))

		flat, _, err := nesting(t, "-- site.yaml --\ndata: {x: 5}\nccm:\n  resources:\n"+strings.Join(n.flat, "\n")+"\n", Options{})
		require.NoError(t, err)
		want, err := flat.Compile(t.Context(), web1)
		require.NoError(t, err)
		require.Equal(t, withoutDuplicates(want.Catalog.Entries), withoutScopes(t, compiled.Catalog.Entries), archive)
	}
	require.Greater(t, deepest, 5)
}

func withoutDuplicates(entries []wire.Entry) []wire.Entry {
	for i := range entries {
		entries[i].Require = graph.Distinct(entries[i].Require)
	}
	return entries
}

// withoutScopes removes the entries that apply manifests, and checks that each represents the right number of entries.
func withoutScopes(t *testing.T, entries []wire.Entry) []wire.Entry {
	var kept []wire.Entry
	number := map[int]int{}
	for i, e := range entries {
		if e.Scope != nil {
			require.LessOrEqual(t, e.Scope.Entries, i)
			continue
		}
		for k, target := range e.Require {
			e.Require[k] = number[target]
		}
		number[i] = len(kept)
		kept = append(kept, e)
	}
	return kept
}

// TestNestedFilesOfHostsKnownLate has two resources that apply one manifest, which
// is known only per host, with data of different origins.
func TestNestedFilesOfHostsKnownLate(t *testing.T) {
	c, dir, err := nesting(t, "-- site.yaml --\nccm: {resources: [{apply: ['{{ Data.role }}.yaml': {data: {x: f}}]}, {apply: ['{{ Data.role }}.yaml': {data: {x: '{{ Facts.os }}'}}]}]}\n"+
		"-- web.yaml --\nccm: {resources: [exec: [\"{{ file(Data.x) }}\": ]]}\n-- f --\nx\n-- linux --\nsecret\n", Options{})
	require.NoError(t, err)
	for range 2 {
		_, err = c.Compile(t.Context(), web1)
		require.Error(t, err)
		require.Equal(t, "web.yaml:1:30: file: data from a host cannot choose which file ccm-push reads\n  hint: choose between fixed file names, such as Facts.x == \"y\" ? \"a.conf\" : \"b.conf\"", strings.ReplaceAll(err.Error(), dir+"/", ""))
	}
}
