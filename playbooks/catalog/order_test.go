package catalog

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
)

// ordered writes entries as text, with everything that decides when they run.
func ordered(entries []wire.Entry) string {
	var all []string
	for i := range entries {
		e := &entries[i]
		s := show(entries[i : i+1])
		if len(e.After) > 0 {
			s += fmt.Sprint(" after", e.After)
		}
		for _, r := range e.Receive {
			s += fmt.Sprintf(" %s=%d.%s", r.Property, r.From, r.Key)
		}
		all = append(all, s)
	}
	return strings.Join(all, "\n")
}

// graphPlay is play with strategy graph.
func graphPlay(lines ...string) string { return "strategy: graph\n" + play(lines...) }

const at = "owner: app, group: app, mode: '0644'"

var orders = []struct {
	name, manifest string
	files          map[string]string
	want           string
}{
	{"before and notify in file order", play("- exec: [a: {before: [exec#c], notify: [exec#b, exec#c]}, b: {refreshonly: true}, c: {refreshonly: true}]"), nil,
		"exec#a\nexec#b subscribe[0]\nexec#c require[0] subscribe[0]"},
	{"received in file order", play("- exec: [a: {}, a: {alias: b}]", "- file: [/x: {recv: {content: exec#a.stdout, owner: exec#b.stderr}, group: root, mode: '0644'}]"), nil,
		"exec#a\nexec#a(b)\nfile#/x require[1] content=1.stdout owner=1.stderr"},
	{"a graph", graphPlay("- file: [/srv/x/a: {"+at+"}, /srv/x: {ensure: directory, "+at+"}]", "- user: [app: ]", "- exec: [x: {subscribe: [file#/srv/x/a], before: [exec#y]}, y: {}]"), nil,
		"user#app\nfile#/srv/x require[0]\nfile#/srv/x/a require[0 1]\nexec#x subscribe[2]\nexec#y require[3]"},
	{"no automatic edges", graphPlay("- file: [/srv/x/a: {autoedge: false, " + at + "}, /srv/x: {ensure: directory, " + at + "}]"), nil,
		"file#/srv/x/a\nfile#/srv/x"},
	{"packages together", graphPlay("- package: [a: ]", "- exec: [x: {require: [package#a]}]", "- package: [{b: }, {c: {autogroup: false}}, {d: }]"), nil,
		"package#a\npackage#b\npackage#d\nexec#x require[0]\npackage#c"},
	{"turns", graphPlay("- line: [{one: {path: /f, line: a}}, {two: {path: /f, line: b}}]", "- cron: [{j: {command: 'true'}}, {k: {command: 'true'}}]"), nil,
		"line#one\nline#two after[0]\ncron#j\ncron#k after[2]"},
	{"excluded and each", graphPlay("- exec: [last: {require: [exec#all, exec#gone]}, gone: {control: {if: 'false'}, before: [exec#last]}, '{{ Item }}': {alias: all, each: '{{ Data.names }}'}]"), nil,
		"exec#gone excluded\nexec#a(all)\nexec#b(all)\nexec#last require[0 1 2]"},
	{"a list that is empty", graphPlay("- exec: [{last: {require: [exec#all]}}, {'{{ Item }}': {alias: all, each: '{{ Data.empty }}'}}]"), nil, "exec#last"},
	{"received from what is written later", graphPlay("- file: [/x: {recv: {content: exec#a.stdout}, "+root+"}]", "- exec: [a: {}]"), nil,
		"exec#a\nfile#/x require[0] content=0.stdout"},
	{"received and notified", graphPlay("- exec: [b: {refreshonly: true, recv: {command: exec#a.stdout}}]", "- exec: [a: {notify: [exec#b]}]"), nil,
		"exec#a\nexec#b subscribe[0] command=0.stdout"},
	{"a nested manifest", graphPlay("- exec: [first: {require: [apply#inner/m.yaml]}]", "- apply: [inner/m.yaml: {require: [exec#early]}]", "- exec: [early: ]"),
		map[string]string{"inner/m.yaml": "ccm: {resources: [exec: [b: {require: [exec#a]}, a: {}]]}\n"},
		"exec#early\nexec#a require[0]\nexec#b require[0 1]\napply#inner/m.yaml require[0]\nexec#first require[3]"},
	{"a graph that a template writes", "strategy: graph\nccm: {resources_jet_file: r.jet}\n",
		map[string]string{"r.jet": "- exec:\n    - b: {require: [exec#a]}\n    - a: {}\n"}, "exec#a\nexec#b require[0]"},
}

func TestOrders(t *testing.T) {
	for _, c := range orders {
		t.Run(c.name, func(t *testing.T) {
			got, err := compileIn(t, c.manifest, c.files).Compile(t.Context(), web1)
			require.NoError(t, err)
			require.Equal(t, c.want, ordered(got.Catalog.Entries))
			if strings.HasPrefix(c.manifest, "strategy: graph") {
				require.Equal(t, 4, got.Catalog.Parallel)
			} else {
				require.Zero(t, got.Catalog.Parallel)
			}
		})
	}
}

// compileIn is compiler for a manifest in its own folder, so that it may apply others.
func compileIn(t testing.TB, text string, files map[string]string) *Compiler {
	t.Helper()
	dir := t.TempDir()
	all := map[string]string{"site.yaml": text}
	for name, content := range files {
		all[name] = content
	}
	for name, content := range all {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	t.Chdir(dir)
	plays, err := load.Files(t.Context(), []string{"site.yaml"}, builtin.Types())
	require.NoError(t, err)
	c, err := New(plays[0], Options{})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

var wrongOrders = []struct{ name, manifest, want string }{
	{"a circle by expressions", graphPlay("- exec: [a: {require: ['exec#{{ Data.names[1] }}']}, b: {require: [exec#a]}]"),
		"site.yaml:5:72: these resources wait for each other: exec#a → exec#b (require, site.yaml:5:72) → exec#a (require, site.yaml:5:28)\n  hint: remove one of these references"},
	{"a name that no resource has", graphPlay("- exec: [a: {require: ['exec#{{ Facts.os }}']}]"), "site.yaml:5:28: no resource is called exec#linux on this host"},
	{"before what is earlier", play("- exec: [a: {}, b: {before: ['exec#{{ Data.names[0] }}']}]"),
		"site.yaml:4:34: exec#a comes earlier\n  hint: resources run in the order written: move exec#b above exec#a, or set strategy: graph on the play"},
	{"notify what has no refresh", graphPlay("- exec: [a: {notify: ['{{ \"file\" }}#/b']}]", "- file: [/b: {"+root+"}]"),
		"site.yaml:5:27: type file has no refresh, so it cannot be notified\n  hint: use \"before\" for the order"},
	{"a part of itself", graphPlay("- exec: [a: {require: ['exec#{{ Data.names[0] }}']}]"), "site.yaml:5:28: exec#a refers to itself"},
	{"received from several", graphPlay("- exec: [{'{{ Item }}': {each: '{{ Data.names }}', alias: all}}]", "- file: [/b: {recv: {content: exec#all.stdout}, "+root+"}]"),
		"site.yaml:6:35: 2 resources are called exec#all\n  hint: give the resource that you mean its own \"alias\""},
	{"received from what is excluded", play("- exec: [a: {control: {if: 'false'}}]", "- file: [/b: {recv: {content: exec#a.stdout}, "+root+"}]"),
		"site.yaml:5:35: exec#a does not exist on this host, or \"control\" or tags skip it\n  hint: \"recv\" needs a resource of the same run that sends the value; with strategy: linear, that resource must come earlier"},
	{"keys", play("- exec: [a: {retry: '{{ Data.n * 1000 }}', sema: ['{{ \"a b\" }}'], timeout: '{{ Facts.os }}'}]"),
		"site.yaml:4:25: \"retry\" must be from 0 to 1000, not 5000 (value of the variable \"n\", set at site.yaml:1:22)\nsite.yaml:4:55: \"a b\" names no semaphore\n  hint: write a word of letters, digits, _, ., / and -; for two hosts at once append :2, as in database:2\n" +
			"site.yaml:4:80: timeout: invalid duration \"linux\"\n  hint: write a number and a unit, such as 30s, 5m, 2h or 1d"},
	{"what is given besides", "strict: true\n" + play("- exec: [a: ]", "- file: [/b: {recv: {content: exec#a.stdout}, owner: '{{ \"\" }}', group: root, mode: '0644'}]"), "site.yaml:6:58: the property \"owner\" is missing or empty (the play sets strict: true)\n  hint: set \"owner\" here, or under \"defaults\" of the play"},
}

func TestWrongOrders(t *testing.T) {
	for _, c := range wrongOrders {
		t.Run(c.name, func(t *testing.T) {
			_, err := compiler(t, c.manifest, nil, Options{}).Compile(t.Context(), web1)
			require.EqualError(t, err, c.want)
		})
	}
}

func TestMeta(t *testing.T) {
	got, err := compiler(t, play("- exec: [a: {retry: 3, delay: 5, limit: 0.5, sema: [z, 'b:2'], hidden: '{{ Data.yes }}', timeout: 7s, export: [stdout]}]",
		"- file: [/b: {timeout: '{{ Data.n }}', recv: {content: {host: db1, from: exec#a.stdout}}, "+root+"}]"), nil, Options{}).Compile(t.Context(), web1)
	require.NoError(t, err)
	exec, file := got.Catalog.Entries[0], got.Catalog.Entries[1]
	require.Equal(t, wire.Entry{
		Type: "exec", Name: "a", Properties: exec.Properties, Retry: 3, Delay: 5 * time.Second, Limit: 0.5,
		Sema: []string{"b:2", "z"}, Hidden: true, Export: []string{"stdout"},
	}, exec)
	require.Contains(t, string(exec.Properties), `"timeout":"7s"`, "a type's own timeout is that of the type")
	require.Equal(t, 5*time.Second, file.Timeout)
	require.Equal(t, []wire.Receive{{Property: "content", From: -1, Key: "stdout", Sender: "exec#a of db1"}}, file.Receive)
	require.Equal(t, map[int][]Import{1: {{Property: "content", Host: "db1", Ref: "exec#a", Key: "stdout"}}}, got.Imports)
}

// TestShuffledGraphsAreTheSame checks that the catalog does not depend on the written order, except for the numbers.
func TestShuffledGraphsAreTheSame(t *testing.T) {
	lines := []string{
		"- file: [/srv/app: {ensure: directory, " + at + "}]", "- file: [/srv/app/a: {" + at + "}]", "- file: [/srv/app/b/c: {" + at + "}]",
		"- file: [/srv/app/b: {ensure: directory, " + at + "}]", "- file: [/etc/systemd/system/app.service: {" + root + "}]",
		"- user: [app: {groups: [adm, extra]}]", "- group: [app: ]", "- group: [extra: ]", "- service: [app: ]", "- package: [app: ]",
		"- exec: [/srv/app/run: {subscribe: [file#/srv/app/a]}]", "- file: [/srv/app/run: {" + at + "}]", "- link: [/usr/local/bin/run: {target: /srv/app/run}]",
		"- cron: [job: {user: app, command: /srv/app/run}]", "- file: [/etc/apt/sources.list.d/x.list: {" + root + "}]", "- line: [l: {path: /etc/app.conf, line: x}]",
	}
	edges := func(seed uint64) []string {
		shuffled := slices.Clone(lines)
		if seed > 0 {
			rand.New(rand.NewPCG(seed, 1)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		}
		got, err := compiler(t, graphPlay(shuffled...), nil, Options{}).Compile(t.Context(), web1)
		require.NoError(t, err)
		var all []string
		entries := got.Catalog.Entries
		for i, e := range entries {
			for _, k := range slices.Concat(e.Require, e.Subscribe, e.After) {
				require.Less(t, k, i)
			}
			for _, k := range e.Require {
				all = append(all, entries[k].Ref()+" < "+e.Ref())
			}
			require.True(t, json.Valid(e.Properties))
		}
		slices.Sort(all)
		return all
	}
	want := edges(0)
	require.Contains(t, want, "group#extra < user#app")
	require.Contains(t, want, "file#/etc/systemd/system/app.service < service#app")
	require.Contains(t, want, "line#l < service#app")
	require.Contains(t, want, "file#/etc/apt/sources.list.d/x.list < package#app")
	require.Contains(t, want, "file#/srv/app/run < cron#job")
	require.Contains(t, want, "file#/srv/app/run < link#/usr/local/bin/run")
	for seed := range uint64(20) {
		require.Equal(t, want, edges(seed), seed)
	}
}

// TestRenderedOrder checks that order keys are printed as written, with their effect on the host. The output can be
// loaded, in its order.
func TestRenderedOrder(t *testing.T) {
	for _, c := range []struct{ name, manifest, want string }{
		{"in file order",
			play("- exec: [a: {before: ['exec#{{ Data.names[1] }}'], notify: [exec#b, exec#c], export: [stdout]}, b: {refreshonly: true}, c: {subscribe: [exec#b], refreshonly: true}]",
				"- file: [/x: {recv: {content: exec#a.stdout}, require: [exec#c], "+root+"}]"),
			"exec#a before[exec#b] notify[exec#b exec#c]\nexec#b\nexec#c subscribe[exec#b]\nfile#/x require[exec#c] recv[content: exec#a.stdout]"},
		{"in a graph",
			graphPlay("- file: [/x: {recv: {content: exec#a.stdout}, require: [exec#all, exec#gone], "+root+"}]",
				"- exec: [last: {subscribe: [file#/x], require: [exec#a]}, a: {before: [exec#last], notify: [exec#z]}, z: {refreshonly: true}, gone: {control: {if: 'false'}}]",
				"- exec: ['{{ Item }}1': {alias: all, each: '{{ Data.names }}'}]"),
			"exec#a before[exec#last] notify[exec#z]\nexec#z\nexec#gone\nexec#all\nexec#all\nfile#/x require[exec#all exec#gone] recv[content: exec#a.stdout]\nexec#last require[exec#a] subscribe[file#/x]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			shown, err := compileIn(t, c.manifest, nil).Render(t.Context(), web1)
			require.NoError(t, err)
			text, err := shown.YAML("title", Shown{})
			require.NoError(t, err)
			plays, err := load.Parse(t.Context(), "printed.yaml", text, builtin.Types())
			require.NoError(t, err, string(text))
			var lines []string
			for _, r := range plays[0].Resources {
				line := r.Type.Name + "#" + r.Name.Node.Text
				if r.Alias != nil {
					line = r.Type.Name + "#" + r.Alias.Node.Text
				}
				for _, list := range r.OrderLists() {
					if list.Value == nil {
						continue
					}
					var refs []string
					for _, ref := range list.Value.Node.Items {
						refs = append(refs, ref.Text)
					}
					line += fmt.Sprintf(" %s%v", list.Key, refs)
				}
				if r.Recv != nil {
					pair := r.Recv.Node.Pairs[0]
					line += fmt.Sprintf(" recv[%s: %s]", pair.Key.Text, pair.Value.Text)
				}
				lines = append(lines, line)
			}
			require.Equal(t, c.want, strings.Join(lines, "\n"))
		})
	}
}
