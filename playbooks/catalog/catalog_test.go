package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
	"github.com/ccm-push/ccm-push/templates"
)

// compiler makes the compiler of a manifest called site.yaml whose folder holds
// files.
func compiler(t testing.TB, text string, files map[string]string, opts Options) *Compiler {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	plays, err := load.Parse(t.Context(), "site.yaml", []byte(text), builtin.Types())
	require.NoError(t, err)
	plays[0].Folder = dir
	c, err := New(plays[0], opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// web1 is the host that is compiled for.
var web1 = Host{
	Name: "web1",
	Facts: map[string]any{
		"os": "linux", "cpus": int64(4), "evil": "{{ 7*7 }}", "list": []any{"{{ 1 }}", "${ 2 }"},
	},
	Vars: map[string]any{"port": int64(8080), "role": "web"},
}

// play puts resources below the data of a play; the first is at line 4.
func play(lines ...string) string {
	return "data: {yes: true, n: 5, names: [a, b], codes: [0, 3], map: {a: 1}, deps: [exec#a, exec#b], empty: [], none: }\nccm:\n  resources:\n    " + strings.Join(lines, "\n    ") + "\n"
}

const root = "owner: root, group: root, mode: '0644'"

// show writes entries as text: type#name(alias) and their references.
func show(entries []wire.Entry) string {
	var all []string
	for _, e := range entries {
		s := e.Type + "#" + e.Name
		if e.Alias != "" {
			s += "(" + e.Alias + ")"
		}
		if e.Excluded {
			s += " excluded"
		}
		if len(e.Require) > 0 {
			s += fmt.Sprint(" require", e.Require)
		}
		if len(e.Subscribe) > 0 {
			s += fmt.Sprint(" subscribe", e.Subscribe)
		}
		if e.Check {
			s += " noop"
		}
		if e.Sensitive {
			s += " sensitive"
		}
		all = append(all, s)
	}
	return strings.Join(all, "\n")
}

// good has manifests and their expected entries.
var good = []struct{ name, manifest, want string }{
	{"names", play("- exec: [\"echo {{ Facts.os }}\": , \"${ Data.n }\": {alias: \"x{{ Data.n }}\"}]"[:0] + "- exec: [{\"echo {{ Facts.os }}\": }, {\"${ Data.n }\": {alias: \"x{{ Data.n }}\"}}]"), "exec#echo linux\nexec#5(x5)"},
	{"each", play("- exec: [\"{{ Item }}-{{ Data.n }}\": {each: \"{{ Data.names }}\"}]"), "exec#a-5\nexec#b-5"},
	{"each of literals", play("- exec: [\"{{ Item.x }}\": {each: [{x: 1}, {x: \"{{ Data.n }}\"}]}]"), "exec#1\nexec#5"},
	{"each of nothing", play("- exec: [{\"{{ Item }}\": {each: \"{{ Data.empty }}\", alias: all}}, {a: {require: [exec#all]}}]"), "exec#a"},
	{"an alias of an each means all", play("- exec: [{\"{{ Item }}\": {each: \"{{ Data.names }}\", alias: all}}, {c: {require: [exec#all], subscribe: [exec#b]}}]"), "exec#a(all)\nexec#b(all)\nexec#c require[0 1] subscribe[1]"},
	{"an alias that is an expression too", play("- exec: [{\"{{ Item }}\": {each: \"{{ Data.names }}\", alias: \"{{ Facts.os }}\"}}, {c: {require: [exec#linux]}}]"), "exec#a(linux)\nexec#b(linux)\nexec#c require[0 1]"},
	{"elements have aliases of their own", play("- exec: [{\"{{ Item }}\": {each: \"{{ Data.names }}\", alias: \"x{{ Item }}\"}}, {c: {require: [exec#xa]}}]"), "exec#a(xa)\nexec#b(xb)\nexec#c require[0]"},
	{"an element refers to one before it", play("- exec: [\"{{ Item }}\": {each: \"{{ Data.names }}\", require: [\"{{ Item == 'b' ? 'exec#a' : '' }}\"]}]"), "exec#a\nexec#b require[0]"},
	{"the latest of duplicates", play("- exec: [{a: }, {a: }, {b: {require: [exec#a]}}]"), "exec#a\nexec#a\nexec#b require[1]"},
	{"a duplicate refers to the one before it", play("- exec: [{a: }, {a: {require: [exec#a]}}]"), "exec#a\nexec#a require[0]"},
	{"rendered references", play("- exec: [{\"{{ Facts.os }}\": }, {b: {require: [\"exec#{{ Facts.os }}\", exec#linux]}}]"), "exec#linux\nexec#b require[0 0]"},
	{"references of a whole list", play("- exec: [{a: }, {b: }, {c: {require: \"{{ Data.deps }}\"}}]"), "exec#a\nexec#b\nexec#c require[0 1]"},
	{"no reference", play("- exec: [{a: }, {c: {require: [\"{{ Data.none }}\", \"{{ '' }}\"]}}]"), "exec#a\nexec#c"},
	{"control", play("- exec: [{a: {control: {if: Data.yes, unless: Facts.os == 'linux'}}}, {b: {control: {if: Data.yes}}}]"), "exec#a excluded\nexec#b"},
	{"control by lists", play("- exec: [{a: {control: {if: [Data.yes, Facts.os != 'linux', Data.nope]}}}, {b: {control: {if: [Data.yes, Facts.os == 'linux'], unless: [Data.none, false]}}}, {c: {control: {unless: [Data.none, Data.yes, Data.nope]}}}]"), "exec#a excluded\nexec#b\nexec#c excluded"},
	{"nil is false", play("- exec: [a: {control: {if: Data.none}}]"), "exec#a excluded"},
	{"the excluded may be undefined", play("- file: [\"/{{ Data.nope }}\": {control: {if: 'false'}, alias: \"{{ Data.nope }}\", mode: \"{{ Data.nope }}\", owner: root, group: root, require: [\"exec#{{ Data.nope }}\"]}]"), "file#/{{ Data.nope }} excluded"},
	{"an excluded each may be undefined", play("- exec: [{\"{{ Item }}\": {each: \"{{ Data.nope }}\", alias: x, control: {if: 'false'}}}, {b: {require: [exec#x]}}]"), "exec#{{ Item }}(x) excluded\nexec#b require[0]"},
	{"an excluded each keeps its names", play("- exec: [{\"{{ Item }}\": {each: \"{{ Data.names }}\", control: {if: 'false'}}}, {c: {require: [exec#b]}}]"), "exec#a excluded\nexec#b excluded\nexec#c require[1]"},
	{"control on Item", play("- exec: [\"{{ Item }}\": {each: \"{{ Data.names }}\", control: {if: Item == 'b'}}]"), "exec#a excluded\nexec#b"},
	{"noop and sensitive", play("- exec: [{a: {noop: true, sensitive: \"{{ Data.yes }}\"}}, {b: {noop: \"{{ not Data.yes }}\"}}]"), "exec#a noop sensitive\nexec#b"},
	{"a host's value is no template", play("- exec: [{\"{{ Facts.evil }}\": }, {\"{{ Item }}\": {each: \"{{ Facts.list }}\"}}]"), "exec#{{ 7*7 }}\nexec#{{ 1 }}\nexec#${ 2 }"},
}

func TestCompile(t *testing.T) {
	for _, c := range good {
		t.Run(c.name, func(t *testing.T) {
			compiled, err := compiler(t, c.manifest, nil, Options{}).Compile(t.Context(), web1)
			require.NoError(t, err)
			require.Equal(t, c.want, show(compiled.Catalog.Entries))
		})
	}
}

// wrong are manifests that are in order until a host is known.
var wrong = []struct{ name, manifest, want string }{
	{"undefined data", play("- exec: [{\"{{ Data.nope }}\": }, {b: {environment: [\"A={{ Data.nope }}\"]}}]"),
		"site.yaml:4:24: missing key \"Data.nope\"" + nopeHint + "\nsite.yaml:4:67: missing key \"Data.nope\"" + nopeHint},
	{"each of no list", play("- exec: [\"{{ Item }}\": {each: \"{{ Data.map }}\"}]"), "site.yaml:4:35: the value of \"each\" must be a list, not a map\n  hint: \"each\" takes a list"},
	{"each of a text", play("- exec: [\"{{ Item }}\": {each: \"x {{ Data.n }}\"}]"), "site.yaml:4:35: the value of \"each\" must be a list, not the text \"x 5\"\n  hint: \"each\" takes a list"},
	{"equal names in an each", play("- exec: [x: {each: \"{{ Data.names }}\"}]"), "site.yaml:4:14: two elements of \"each\" are called \"x\"\n  hint: use Item in the name so that every element gets its own"},
	{"a reference to nothing", play("- exec: [{\"{{ Facts.os }}\": }, {b: {require: [exec#linus]}}]"), "site.yaml:4:51: no earlier resource is called exec#linus on this host\n  hint: did you mean exec#linux?"},
	{"a reference that is none", play("- exec: [b: {require: [\"{{ Facts.os }}\"]}]"), "site.yaml:4:28: \"linux\" is not a reference to a resource\n  hint: write TYPE#NAME, such as file#/etc/motd"},
	{"references of no list", play("- exec: [b: {require: \"{{ Facts.os }}\"}]"), "site.yaml:4:27: the value must be a list, not the text \"linux\"\n  hint: write a list: - linux"},
	{"types", play("- exec: [a: {refreshonly: \"{{ Facts.os }}\", returns: [\"{{ Facts.os }}\"], environment: \"{{ Facts.os }}\"}]"),
		"site.yaml:4:31: \"refreshonly\" must be true or false, not the text \"linux\"\nsite.yaml:4:59: \"returns[0]\" must be an integer, not the text \"linux\"\nsite.yaml:4:91: \"environment\" must be a list, not the text \"linux\"\n  hint: write a list: - linux"},
	{"an event by an expression", play("- service: [a: {refreshonly: \"{{ Facts.os == 'bsd' }}\", action: restart}, b: {refreshonly: \"{{ Facts.os == 'linux' }}\", enable: true}]"),
		"site.yaml:4:61: only an event (refreshonly: true) has \"action\"\n  hint: remove it, or make refreshonly true\nsite.yaml:4:125: an event (refreshonly: true) has no \"enable\": it compares nothing\n  hint: move it to a resource without refreshonly; both can have the same name"},
	{"a boolean that is a text", play("- exec: [a: {noop: \"{{ 'true' }}\"}]"), "site.yaml:4:24: the value must be true or false, not the text \"true\""},
	{"mode from a number", play("- file: [/a: {mode: \"{{ Data.n }}\", owner: root, group: root}]"), "site.yaml:4:25: \"mode\" is the number 5, not text (value of the variable \"n\", set at site.yaml:1:22)\n  hint: quote it where it is defined"},
	{"validation", "strict: true\n" + play("- file: [\"{{ Facts.os }}\": {mode: \"{{ '0999' }}\", owner: \"{{ '' }}\", group: root}]"),
		"site.yaml:5:14: name: file path must be absolute\n  hint: write a path that begins with /\nsite.yaml:5:39: mode \"0999\" has a digit outside 0-7\n  hint: write an octal string such as mode: \"0644\"\nsite.yaml:5:62: the property \"owner\" is missing or empty (the play sets strict: true)\n  hint: set \"owner\" here, or under \"defaults\" of the play"},
	{"enum", play("- file: [/a: {ensure: \"{{ Facts.os }}\", " + root + "}]"), "site.yaml:4:27: ensure: \"linux\" is not one of \"present\", \"absent\", \"directory\""},
	{"an error of every element once", play("- exec: [\"{{ Item }}\": {each: \"{{ Data.names }}\", user: \"{{ Data.nope }}\"}]"), "site.yaml:4:70: missing key \"Data.nope\"" + nopeHint},
	{"control", play("- exec: [a: {control: {if: Data.nope}}]"), "site.yaml:4:37: missing key \"Data.nope\"" + nopeHint},
	{"control that is no boolean", play("- exec: [a: {control: {if: Data.n}}]"), "site.yaml:4:32: expected a boolean, got an integer (value of the variable \"n\", set at site.yaml:1:22)\n  hint: write a comparison, such as Data.x == \"y\""},
	{"sensitive values are not told", play("- exec: [a: {sensitive: true, environment: [\"{{ Facts.os }}\"]}]"), "site.yaml:4:49: the value is not valid; the details are hidden because the resource is sensitive"},
	{"messages", "ccm: {pre_message: \"{{ Data.a }}\", post_message: \"{{ Data.b }}\", resources: [exec: [a: ]]}",
		"site.yaml:1:29: missing key \"Data.a\"\n  hint: Data has port, role; if the key may be missing, write Data.a ?? DEFAULT\nsite.yaml:1:59: missing key \"Data.b\"\n  hint: Data has port, role; if the key may be missing, write Data.b ?? DEFAULT"},
	{"source that is missing", play("- file: [/a: {source: nope, control: {if: 'true'}, " + root + "}]"), `site.yaml:4:27: cannot read "nope": no such file in DIR`},
}

const nopeHint = "\n  hint: did you mean \"none\"? if the key may be missing, write Data.nope ?? DEFAULT"

func TestCompileErrors(t *testing.T) {
	for _, c := range wrong {
		t.Run(c.name, func(t *testing.T) {
			comp := compiler(t, c.manifest, nil, Options{})
			_, err := comp.Compile(t.Context(), web1)
			require.Error(t, err)
			got := strings.ReplaceAll(err.Error(), comp.root.play.Folder, "DIR")
			require.Equal(t, c.want, got)
		})
	}
}

// properties compiles one resource and returns its properties.
func properties(t *testing.T, manifest string, opts Options) map[string]any {
	t.Helper()
	compiled, err := compiler(t, manifest, nil, opts).Compile(t.Context(), web1)
	require.NoError(t, err)
	props := map[string]any{}
	require.NoError(t, json.Unmarshal(compiled.Catalog.Entries[0].Properties, &props))
	return props
}

func TestActionOfEvents(t *testing.T) {
	compiled, err := compiler(t, play("- service:", "  - a: {}", "  - a: {refreshonly: true}", "  - a: {refreshonly: true, reload: true}",
		"  - a: {refreshonly: true, action: \"{{ 'stop' }}\"}", "  - a: {refreshonly: yes, action: restarted}"), nil, Options{}).Compile(t.Context(), web1)
	require.NoError(t, err)
	var actions []string
	for _, e := range compiled.Catalog.Entries {
		actions = append(actions, e.Action)
	}
	require.Equal(t, []string{"", "restart", "reload", "stop", "restart"}, actions)
}

func TestTypedExpressions(t *testing.T) {
	props := properties(t, play("- exec:", "  - a:", "      refreshonly: \"{{ Data.yes }}\"", "      returns: \"{{ Data.codes }}\"",
		"      environment: [\"A={{ Data.n }}\", \"{{ 'B=' + Facts.os }}\"]", "      user: \"{{ Data.n }}\"", "      timeout: ~"), Options{})
	require.Equal(t, true, props["refreshonly"])
	require.Equal(t, []any{0.0, 3.0}, props["returns"])
	require.Equal(t, []any{"A=5", "B=linux"}, props["environment"])
	require.Equal(t, "5", props["user"], "a text takes any scalar")
	require.NotContains(t, props, "timeout")
}

func TestHostsValueIsVerbatim(t *testing.T) {
	props := properties(t, play("- file: [/a: {content: \"{{ Facts.evil }}\", "+root+"}]"), Options{})
	require.Equal(t, map[string]any{"text": "{{ 7*7 }}"}, props["content"])
}

// TestData lays one more source over the others with each case.
func TestData(t *testing.T) {
	text := func(data string) string {
		return data + "\nccm: {resources: [exec: [\"{{ Data.port }} {{ join(Data.list, ',') }}\": ]]}"
	}
	hiera := func(t *testing.T, text string) *templates.Source {
		docs, err := yamlpos.Parse("hiera.yaml", []byte(text))
		require.NoError(t, err)
		src, err := templates.ParseSource(templates.Parts{
			Data: docs[0].Get("data"), Hierarchy: docs[0].Get("hierarchy"), Overrides: docs[0].Get("overrides"),
		})
		require.NoError(t, err)
		return &src
	}
	data := "data: {port: 1, list: [a]}\nhierarchy: {order: [\"os:{{ Facts.os }}\"]}\n"
	overrides := data + "overrides: {\"os:linux\": {port: 2}, \"os:bsd\": {port: 3}}\n"
	vars := map[string]any{"port": int64(8080)}
	for _, c := range []struct {
		name, manifest string
		hiera          string
		vars, extra    map[string]any
		want           string
	}{
		{"data", data, "", nil, nil, "1 a"},
		{"overrides", overrides, "", nil, nil, "2 a"},
		{"hiera", overrides, "data: {port: 4, list: [b]}", nil, nil, "4 a,b"},
		{"inventory", overrides, "data: {port: 4, list: [b]}", vars, nil, "8080 a,b"},
		{"extra", overrides, "data: {port: 4, list: [b]}", vars, map[string]any{"port": int64(9), "list": []any{}}, "9 "},
	} {
		t.Run(c.name, func(t *testing.T) {
			opts := Options{Extra: []templates.Layer{{Name: "-e", Values: c.extra}}}
			if c.hiera != "" {
				opts.Hiera = hiera(t, c.hiera)
			}
			compiled, err := compiler(t, text(c.manifest), nil, opts).Compile(t.Context(), Host{Facts: web1.Facts, Vars: c.vars})
			require.NoError(t, err)
			require.Equal(t, c.want, compiled.Catalog.Entries[0].Name)
		})
	}
}

func TestFactsOfTheCommandLineWin(t *testing.T) {
	opts := Options{Facts: map[string]any{"os": "plan9"}}
	compiled, err := compiler(t, play("- exec: [\"{{ Facts.os }} {{ Facts.cpus }}\": ]"), nil, opts).Compile(t.Context(), web1)
	require.NoError(t, err)
	require.Equal(t, "plan9 4", compiled.Catalog.Entries[0].Name)
	require.Equal(t, "linux", web1.Facts["os"], "the host's own are left alone")
}

func TestMessages(t *testing.T) {
	text := "ccm: {fail_on_error: true, pre_message: \"on {{ Facts.os }}\", post_message: \"{{ Facts.evil }}\", resources: [exec: [a: ]]}"
	compiled, err := compiler(t, text, nil, Options{}).Compile(t.Context(), web1)
	require.NoError(t, err)
	require.Equal(t, "on linux", compiled.Pre)
	require.Equal(t, "{{ 7*7 }}", compiled.Post)
	require.True(t, compiled.Catalog.FailOnError)
}

func TestCollectedFacts(t *testing.T) {
	files := map[string]string{"a.templ": "{{ Facts.host.info.os }}"}
	for _, c := range []struct {
		name, manifest string
		want           []string
		all            bool
	}{
		{"none", play("- exec: [a: ]"), nil, false},
		{"a template of the folder", play("- file: [/a: {content: \"{{ template('a.templ') }}\", " + root + "}]"), []string{"host.info.os"}, false},
		{"every place", "data: {a: \"{{ Facts.a.x }}\"}\nhierarchy: {order: [\"{{ Facts.b.x }}\"]}\noverrides: {}\nccm: {pre_message: \"{{ Facts.c }}\", resources: [{exec: [{\"{{ Facts.d }}\": {control: {if: Facts.e, unless: Facts.f}, alias: \"{{ Facts.g }}\", each: \"{{ Facts.h }}\", require: [\"exec#{{ Facts.i }}\"], user: \"{{ Facts.j }}\", noop: \"{{ Facts.k }}\"}}]}]}",
			[]string{"a.x", "b.x", "c", "d", "e", "f", "g", "h", "i", "j", "k"}, false},
		{"anything", play("- exec: [\"{{ lookup(Data.n) }}\": ]"), nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			paths, all := compiler(t, c.manifest, files, Options{}).Facts()
			require.Equal(t, c.all, all)
			require.ElementsMatch(t, c.want, paths)
		})
	}
}

func TestContents(t *testing.T) {
	large := strings.Repeat("x", modules.InlineLimit+1)
	c := compiler(t, play("- file:", "  - /a: {content: small, "+root+"}",
		"  - /b: {content: \"{{ repeat('x', 513) }}\", "+root+"}", "  - /c: {source: files/c, "+root+"}", "  - /d: {source: ./files/../files/d, "+root+"}"),
		map[string]string{"files/c": "c", "files/d": large + "d"}, Options{})
	compiled, err := c.Compile(t.Context(), web1)
	require.NoError(t, err)
	content := func(i int) modules.Content {
		var props struct {
			Content modules.Content
			Source  string
		}
		require.NoError(t, json.Unmarshal(compiled.Catalog.Entries[i].Properties, &props))
		require.Empty(t, props.Source)
		return props.Content
	}
	for i, want := range []string{"small", large, "c", large + "d"} {
		got := content(i)
		require.Equal(t, modules.TextContent(want).SHA256(), got.SHA256())
		_, inline := got.Bytes()
		require.Equal(t, len(want) <= modules.InlineLimit, inline)
		require.Equal(t, !inline, compiled.Contents.Has(got.SHA256()))
		if inline {
			_, _, err := compiled.Contents.Open(got.SHA256())
			require.ErrorIs(t, err, os.ErrNotExist)
			continue
		}
		r, size, err := compiled.Contents.Open(got.SHA256())
		require.NoError(t, err)
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, r.Close())
		require.Equal(t, want, string(b))
		require.EqualValues(t, len(want), size)
	}

	require.NoError(t, os.WriteFile(filepath.Join(c.root.play.Folder, "files/d"), []byte("other"), 0o600))
	_, _, err = compiled.Contents.Open(content(3).SHA256())
	require.EqualError(t, err, "files/d: the file changed during the run")
}

func TestSources(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"missing", "nope", `cannot read "nope": no such file in DIR`},
		{"absolute", "/etc/passwd", "\"/etc/passwd\" is an absolute path\n  hint: write a path relative to DIR; to use the file of the host, first write the resource exec: [read: {command: cat /etc/passwd}]; then replace the property by recv: {content: exec#read.stdout}"},
		{"a folder", "sub", `"sub" in DIR is not a regular file`},
		{"a pipe", "fifo", `"fifo" in DIR is not a regular file`},
		{"out of the folder", "../x", "\"../x\" is outside DIR\n  hint: move the file into this folder: a play can read only files in its own folder"},
		{"a link out of the folder", "link", "\"link\" is outside DIR\n  hint: move the file into this folder: a play can read only files in its own folder"},
	} {
		t.Run(c.name, func(t *testing.T) {
			comp := compiler(t, play("- file: [/a: {source: "+c.source+", control: {if: 'true'}, "+root+"}]"), map[string]string{"sub/x": ""}, Options{})
			dir := comp.root.play.Folder
			require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
			require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link")))
			_, err := comp.Compile(t.Context(), web1)
			require.Error(t, err)
			require.Equal(t, "site.yaml:4:27: source: "+c.want, strings.ReplaceAll(err.Error(), dir, "DIR"))
		})
	}
}

// TestMissingFilesAreFoundBeforeAnyHost checks that only missing files that every host needs are reported.
func TestMissingFilesAreFoundBeforeAnyHost(t *testing.T) {
	text := play(`- file:
        - /a: {source: nope, ` + root + `}
        - /b: {content: "{{ jet('nope.jet') }}", ` + root + `}
        - /c: {content: "{{ template('broken.templ') }}", ` + root + `}
        - /d: {source: nope-either, control: {if: "false"}, ` + root + `}`)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "broken.templ"), []byte("{{ 1 + }}"), 0o600))
	plays, err := load.Parse(t.Context(), filepath.Join(dir, "site.yaml"), []byte(text), builtin.Types())
	require.NoError(t, err)
	_, err = New(plays[0], Options{})
	require.Error(t, err)
	require.Equal(t, strings.TrimSpace(`
DIR/site.yaml:5:24: source: cannot read "nope": no such file in DIR
DIR/site.yaml:6:34: no file "nope.jet" in DIR
DIR/broken.templ:1:7: unexpected end in the expression "1 +"`), strings.ReplaceAll(err.Error(), dir, "DIR"))
}

func TestBounds(t *testing.T) {
	facts := map[string]any{"many": make([]any, maxEntries+2)}
	for i := range facts["many"].([]any) {
		facts["many"].([]any)[i] = int64(i)
	}
	_, err := compiler(t, play("- exec: [\"{{ Item }}\": {each: \"{{ Facts.many }}\"}]"), nil, Options{}).Compile(t.Context(), Host{Facts: facts})
	require.EqualError(t, err, `site.yaml:4:35: "each" has 100002 elements, and a host may have 100000 resources`)

	big := map[string]string{"big": strings.Repeat("x", 10_000_000)}
	_, err = compiler(t, play("- file: [\"/{{ Item }}\": {each: \"{{ 1..10 }}\", content: \"{{ Item }}{{ file('big') }}\", "+root+"}]"), big, Options{}).Compile(t.Context(), web1)
	require.EqualError(t, err, "the catalog has grown beyond 100000 resources or 48 MiB")
}

// TestHugeEach has lists that are refused before resources, or nodes, are made of them.
func TestHugeEach(t *testing.T) {
	for _, c := range []struct{ each, err string }{
		{"{{ 1..900000 }}", `site.yaml:4:35: "each" has 900000 elements, and a host may have 100000 resources`},
		{"{{ Data.many }}", `site.yaml:4:35: "each" has 900000 elements, and a host may have 100000 resources`},
	} {
		many := make([]any, 900_000)
		for i := range many {
			many[i] = "x"
		}
		comp := compiler(t, play("- exec: [\"{{ Item }}\": {each: \""+c.each+"\"}]"), nil, Options{})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := comp.Compile(t.Context(), Host{Vars: map[string]any{"many": many}})
		runtime.ReadMemStats(&after)
		require.EqualError(t, err, c.err)
		require.Less(t, (after.TotalAlloc-before.TotalAlloc)>>20, uint64(100), "MiB")
		t.Logf("%d MiB", (after.TotalAlloc-before.TotalAlloc)>>20)
	}
}

func TestCancelledCompilation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := compiler(t, play("- exec: [\"{{ Data.n }}\": ]"), nil, Options{}).Compile(ctx, web1)
	require.ErrorContains(t, err, "context canceled")
}

func TestCompilerIsConcurrent(t *testing.T) {
	c := compiler(t, play("- file: [{/a: {source: f, "+root+"}}, {\"/{{ Facts.os }}\": {content: \"{{ template('t') }}\", "+root+"}}]"),
		map[string]string{"f": strings.Repeat("x", 1000), "t": "{{ Facts.os }}"}, Options{})
	errs := make(chan error)
	for range 8 {
		go func() {
			_, err := c.Compile(context.WithoutCancel(t.Context()), web1)
			errs <- err
		}()
	}
	for range 8 {
		require.NoError(t, <-errs)
	}
}

func BenchmarkCompile(b *testing.B) {
	var lines []string
	for i := range 30 {
		lines = append(lines, fmt.Sprintf("- file: [/etc/app/%d.conf: {content: \"{{ jet('app.jet') }}\", %s}]", i, root))
	}
	c := compiler(b, play(lines...), map[string]string{
		"app.jet": "[[ range i, n := data.names ]]server [[ n ]] port [[ data.port ]] on [[ facts.os ]]\n[[ end ]]",
	}, Options{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Compile(b.Context(), web1); err != nil {
			b.Fatal(err)
		}
	}
}
