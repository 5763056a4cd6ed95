package inventory

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// scriptOf prints text for --list, and for --host what vars has.
func scriptOf(list string, vars ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#!/bin/sh\ncase $1 in --list) cat <<'E'\n%s\nE\n;;\n", list)
	for i := 0; i+1 < len(vars); i += 2 {
		fmt.Fprintf(&b, "--host) if [ \"$2\" = %s ]; then cat <<'E'\n%s\nE\nfi;;\n", vars[i], vars[i+1])
	}
	b.WriteString("esac\n")
	return b.String()
}

func loadScript(t *testing.T, text string) (*Inventory, error) {
	t.Helper()
	t.Chdir(tree(t, files{"inv": text}))
	return Load(t.Context(), []string{"inv"}, Options{})
}

func TestScripts(t *testing.T) {
	for _, tt := range []struct{ name, list, want string }{
		{"groups", `{"web": {"hosts": ["a", "b"], "vars": {"x": 1}, "children": ["eu"]}, "eu": {"hosts": ["c"]}, "_meta": {"hostvars": {"a": {"y": [1.5, null, true, "s"]}}}}`,
			"all( | ungrouped web) ungrouped() web(a b | eu) eu(c)"},
		{"a list of hosts", `{"web": ["a", "b"], "_meta": {"hostvars": {}}}`, "all( | ungrouped web) ungrouped() web(a b)"},
		{"ungrouped hosts", `{"ungrouped": {"hosts": ["a"]}, "all": {"children": ["ungrouped"]}, "_meta": {"hostvars": {}}}`, "all( | ungrouped) ungrouped(a)"},
		{"nulls", `{"web": null, "db": {"hosts": null, "vars": null, "children": null}, "_meta": {"hostvars": {}}}`, "all( | ungrouped web db) ungrouped() web() db()"},
		{"nothing", "{}", "all( | ungrouped) ungrouped()"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inv, err := loadScript(t, scriptOf(tt.list))
			require.NoError(t, err)
			require.Equal(t, tt.want, graph(inv))
		})
	}
}

func TestScriptVariables(t *testing.T) {
	inv, err := loadScript(t, scriptOf(`{
  "web": {"hosts": ["a", "b"], "vars": {"x": 1, "v": "web"}},
  "_meta": {"hostvars": {"a": {"v": [1.5, null, true, "s"], "ansible_port": 2222, "ansible_password": "hunter2", "connect": {"user": "me"}}, "gone": {}, "lost": {}}}
}`))
	require.NoError(t, err)
	a := inv.Host("a")
	require.Equal(t, map[string]any{"x": int64(1), "v": []any{1.5, nil, true, "s"}, "ansible_port": int64(2222)}, a.Vars())
	require.Equal(t, map[string]any{"x": int64(1), "v": "web"}, inv.Host("b").Vars())
	c := a.Connection()
	require.Equal(t, map[string]string{"port": "inv --list:3:77", "password": "inv --list:3:103", "user": "inv --list:3:134"}, c.Pos)
	require.Equal(t, []any{2222, "hunter2", "me"}, []any{c.Port, c.Password, c.User})
	require.Equal(t, []string{`inv --list:3:142: _meta.hostvars has 2 hosts that are in no group; they are skipped; the first is "gone"`}, inv.Warnings())
}

func TestScriptsAreAskedForHosts(t *testing.T) {
	inv, err := loadScript(t, `#!/bin/sh
case $1 in
--list) echo '{"web": ["a", "b", "c", "a"]}';;
--host) [ "$2" = c ] || echo "{\"me\": \"$2\"}";;
esac
`)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"me": "a"}, inv.Host("a").Vars())
	require.Equal(t, map[string]any{"me": "b"}, inv.Host("b").Vars())
	require.Empty(t, inv.Host("c").Vars())
}

// Old scripts print the variables of a host where a group is expected.
func TestScriptsOfOld(t *testing.T) {
	t.Chdir(tree(t, files{"inv": scriptOf(`{"h1": {"x": 1}, "_meta": {"hostvars": {}}}`)}))
	_, err := Load(t.Context(), []string{"inv"}, Options{})
	require.EqualError(t, err, "inv --list:1:2: \"h1\" is a host and a group at inv --list:1:2\n  hint: rename one of the two: in a pattern, the name would be ambiguous")
	inv, err := Load(t.Context(), []string{"inv"}, Options{AllowNameClash: true})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"x": int64(1)}, inv.Host("h1").Vars())
}

func TestScriptErrors(t *testing.T) {
	const example = "\n  hint: print {\"GROUP\": {\"hosts\": [\"web1\"]}, \"_meta\": {\"hostvars\": {\"web1\": {}}}}"
	list := func(text string) string { return scriptOf(text) }
	for _, tt := range []struct{ name, text, want string }{
		{"status", "#!/bin/sh\necho one >&2; printf 'two\\033[2J\\n' >&2; exit 3\n", "inv --list: the inventory script failed: exit status 3: one | two?[2J"},
		{"signal", "#!/bin/sh\nkill -9 $$\n", "inv --list: the inventory script failed: signal: killed"},
		{"no interpreter", "#!/nowhere/sh\n", "inv --list: cannot be run: no such file or directory"},
		{"nothing", "#!/bin/sh\n", "inv --list: does not print a JSON object" + example},
		{"a list", list("[]"), "inv --list: does not print a JSON object" + example},
		{"YAML", list("all:\n"), "inv --list:1:1: the text is not valid JSON: invalid character 'a' looking for beginning of value"},
		{"broken off", list("{\n  \"web\": ["), "inv --list:3:1: the JSON ends too early"},
		{"more than one", list("{} {}"), "inv --list:1:4: there is more text after the JSON value"},
		{"a key twice", list(`{"web": [], "web": []}`), `inv --list:1:13: key "web" is given twice`},
		{"deep", list(strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)), "inv --list:1:502: nested more than 100 levels deep"},
		{"unsafe host", list("{\"web\": [\n\"ok\", \"-oProxyCommand=x\"]}"), "inv --list:2:7: \"-oProxyCommand=x\" cannot be a host name" + badNameHint},
		{"escape in a host", list(`{"web": ["a\u001b[2J"]}`), "inv --list:1:10: \"a\\x1b[2J\" cannot be a host name" + badNameHint},
		{"range", list(`{"web": ["h[1:3]"]}`), "inv --list:1:10: \"h[1:3]\" cannot be a host name" + badNameHint},
		{"a number for a host", list(`{"web": [12]}`), "inv --list:1:10: host name 12 is read as a number\n  hint: quote it: \"12\""},
		{"a map for a host", list(`{"web": [{}]}`), `inv --list:1:10: "hosts" must be a list of names, not a map`},
		{"hosts as a map", list(`{"web": {"hosts": {"a": {}}}}`), `inv --list:1:19: "hosts" must be a list of names, not a map`},
		{"unsafe group", list(`{"web;": []}`), "inv --list:1:2: \"web;\" cannot be a group name" + badNameHint},
		{"unsafe child", list(`{"web": {"children": ["a b"]}}`), "inv --list:1:23: \"a b\" cannot be a group name" + badNameHint},
		{"text for a group", list(`{"web": "a"}`), "inv --list:1:9: the group \"web\" must be a map or a list of hosts, not the text \"a\""},
		{"unknown key", list(`{"web": {"hosts": [], "host": []}}`), "inv --list:1:23: unknown key \"host\"\n  hint: a group has the keys hosts, children and vars"},
		{"list of vars", list(`{"web": {"vars": []}}`), "inv --list:1:18: \"vars\" must be a map, not a list\n  hint: write a map, such as key: value"},
		{"bad value", list(`{"web": {"hosts": ["a"]}, "_meta": {"hostvars": {"a": {"ansible_port": 0}}}}`), `inv --list:1:72: "ansible_port" must be from 1 to 65535, not 0`},
		{"hostvars of text", list(`{"web": ["a"], "_meta": {"hostvars": {"a": "x"}}}`), "inv --list:1:44: the host \"a\" must be a map, not the text \"x\"\n  hint: write its variables as a map, or nothing"},
		{"a host fails", "#!/bin/sh\n[ $1 = --list ] && echo '{\"web\": [\"a\", \"b\"]}' && exit\n[ $2 = a ] || { echo no >&2; exit 1; }\n", "inv --host b: the inventory script failed: exit status 1: no"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := wrongWith(loadScript(t, tt.text))
			require.EqualError(t, err, tt.want)
		})
	}
}

func TestScriptEndsWithTheContext(t *testing.T) {
	dir := tree(t, files{"slow": "#!/bin/sh\nsleep 1000 & sleep 1000\n"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Load(ctx, below(dir, "slow"), Options{})
	require.EqualError(t, err, "reading the inventory: context canceled")
	require.ErrorIs(t, err, context.Canceled)
}

func FuzzScriptList(f *testing.F) {
	for _, text := range []string{
		`{"web": {"hosts": ["a"], "vars": {"x": 1}, "children": ["b"]}, "_meta": {"hostvars": {"a": {"y": [1.5, null]}}}}`,
		`{"web": ["a", "a"]}`, `{"h": {"x": 1}}`, "[", `{"a": {"hosts": {}}}`, "{} {}", `{"a" 1}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := yamlpos.ParseJSON("list", []byte(text))
		if err != nil {
			return
		}
		n.Any()
		if n.Kind != yamlpos.Map {
			return
		}
		b := newBuilder(Options{AllowNameClash: true})
		b.scriptGroups(n)
		inv, err := b.finish()
		if err == nil && len(inv.Warnings()) == 0 {
			requireRoundTrip(t, inv)
		}
	})
}

func TestFolders(t *testing.T) {
	dir := tree(t, files{
		"i/b.yml": "web: {vars: {x: b}}", "i/a": "[web]\nh x=1\n[web:vars]\nx=a\ny=a\n", "i/c.d/z.yml": "web: {vars: {z: c}}",
		"i/.hidden": "-", "i/x.bak": "-", "i/x.orig": "-", "i/x.retry": "-", "i/x.cfg": "-", "i/x.txt": "-", "i/x.md": "-", "i/x.rst": "-",
		"i/x.rpm": "-", "i/x.pyc": "-", "i/x.swp": "-", "i/x.yml~": "-", "i/group_vars/all": "g: 1", "i/host_vars/h": "k: 1", "i/vars_plugins/x.py": "-",
	})
	inv, err := Load(t.Context(), below(dir, "i"), Options{})
	require.NoError(t, err)
	require.Empty(t, inv.Warnings())
	require.Equal(t, "all( | ungrouped web) ungrouped() web(h)", graph(inv))
	require.Equal(t, map[string]any{"x": int64(1), "y": "a", "z": "c", "g": int64(1), "k": int64(1)}, inv.Host("h").Vars())

	t.Run("scripts", func(t *testing.T) {
		t.Chdir(tree(t, files{"i/a": scriptOf(`{"web": ["a"], "_meta": {"hostvars": {}}}`), "i/b.yml": "db: {hosts: {b: }}"}))
		_, err := Load(t.Context(), []string{"i"}, Options{})
		require.EqualError(t, err, "i/a: is a script, and scripts in a folder do not run by default\n  hint: pass --allow-inventory-scripts, or name it: -i i/a")
		inv, err := Load(t.Context(), []string{"i"}, Options{AllowScripts: true})
		require.NoError(t, err)
		require.Equal(t, "a b", namesOf(inv.Hosts()))
		inv, err = Load(t.Context(), []string{"i/a", "i/b.yml"}, Options{})
		require.NoError(t, err)
		require.Equal(t, "a b", namesOf(inv.Hosts()))
	})
	t.Run("errors", func(t *testing.T) {
		t.Chdir(tree(t, files{"empty/x.txt": "", "ini/a.ini": "h\n", "ini/b": "h\n", "bad/a.yml": "hosts:\n  h:", "bad/b": "a;b\n", "plugin/aws.yml": "plugin: aws_ec2\n"}))
		_, err := Load(t.Context(), []string{"empty"}, Options{})
		require.EqualError(t, err, "empty: the folder contains no inventory\n  hint: these files are ignored: names that begin with . or end in .pyc .pyo .swp .bak ~ .rpm .md .txt .rst .orig .ini .cfg .retry")
		inv, err := Load(t.Context(), []string{"ini"}, Options{})
		require.NoError(t, err)
		require.Equal(t, []string{"ini/a.ini: is not read, as Ansible ignores .ini files in a folder; name it with -i, or rename it"}, inv.Warnings())
		_, err = Load(t.Context(), []string{"bad", "plugin"}, Options{})
		require.EqualError(t, err, "bad/a.yml:2:3: unknown key \"h\"\n  hint: a group has the keys \"hosts\", \"children\", \"vars\" and \"connect\"; variables go under vars:, groups under children:\n"+
			"bad/b:1:1: \"a;b\" cannot be a host name"+badNameHint+"\nplugin/aws.yml:1:9: inventory plugins are not supported\n  hint: "+pluginHint)
	})
}
