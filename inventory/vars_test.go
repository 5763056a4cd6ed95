package inventory

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVars(t *testing.T) {
	for _, tt := range []struct {
		name, text, host string
		want             map[string]any
	}{
		{"the deeper group wins", fixture, "web01",
			map[string]any{"v": "web", "only_all": "yes", "http_port": int64(80), "env": "prod", "dc": "one"}},
		{"all alone", fixture, "lonely01", map[string]any{"v": "all", "only_all": "yes"}},
		{"the host wins", fixture, "db-a", map[string]any{"v": "host_db_a", "only_all": "yes", "env": "prod", "dc": "one"}},
		{"priority between equal depths", `
prio: {vars: {x: prio, ansible_group_priority: 10}, hosts: {h: }}
zzz: {vars: {x: zzz}, hosts: {h: }}
`, "h", map[string]any{"x": "prio"}},
		{"priority as text", `
aa: {vars: {y: aa, ansible_group_priority: "5"}, hosts: {h: }}
bb: {vars: {y: bb}, hosts: {h: }}
`, "h", map[string]any{"y": "aa"}},
		{"depth before priority", `
aaa: {vars: {x: aaa, ansible_group_priority: 10}, hosts: {h: }}
top: {children: {low: {vars: {x: low}, hosts: {h: }}}}
`, "h", map[string]any{"x": "low"}},
		{"names last", "b: {vars: {x: b}, hosts: {h: }}\na: {vars: {x: a}, hosts: {h: }}", "h", map[string]any{"x": "b"}},
		{"values are replaced whole", "all: {vars: {d: {a: 1}}, hosts: {h: {d: {f: 3}}}}", "h", map[string]any{"d": map[string]any{"f": int64(3)}}},
		{"a group repeated later adds", "all: {children: {web: {vars: {a: 1}, hosts: {h: }}}}\nweb: {vars: {zz: 2}}", "h",
			map[string]any{"a": int64(1), "zz": int64(2)}},
		{"a host repeated later wins", "a: {hosts: {h: {x: 1, y: 1}}}\nb: {hosts: {h: {x: 2}}}", "h", map[string]any{"x": int64(2), "y": int64(1)}},
		{"vars of ungrouped", "ungrouped: {vars: {x: 1}}\nall: {hosts: {h: }}", "h", map[string]any{"x": int64(1)}},
		{"the longest way counts", `
flat: {vars: {z: flat}, hosts: {h: }}
one: {children: {two: {children: {leaf: {vars: {z: leaf}, hosts: {h: }}}}}}
all: {children: {leaf: }}
`, "h", map[string]any{"z": "leaf"}},
		{"scalars", "all: {hosts: {h: {yes: yes, octal: 0755, date: 2024-01-02, exp: 1e3, none: , list: [1, a]}}}", "h",
			map[string]any{"yes": "yes", "octal": int64(493), "date": "2024-01-02", "exp": 1000.0, "none": nil, "list": []any{int64(1), "a"}}},
		{"connect is no variable", "all: {hosts: {h: {connect: {port: 22}, x: 1}}}", "h", map[string]any{"x": int64(1)}},
		{"ansible names are variables too", "all: {hosts: {h: {ansible_port: 22}}}", "h", map[string]any{"ansible_port": int64(22)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, load(t, tt.text).Host(tt.host).Vars())
		})
	}
}

func TestVarsAreFresh(t *testing.T) {
	h := load(t, "all: {vars: {d: {a: 1}}, hosts: {h: }}").Host("h")
	h.Vars()["d"].(map[string]any)["a"] = "changed"
	require.Equal(t, map[string]any{"d": map[string]any{"a": int64(1)}}, h.Vars())
}

// TestVariableConnect checks group variables named connect that cannot be mistaken for connection settings.
func TestVariableConnect(t *testing.T) {
	const warning = "hosts.yml:1:14: \"connect\" is only a variable here, and has no effect on connections; " +
		"write connect: next to vars:, not in it; choose another name for a variable"
	for value, tt := range map[string]struct {
		want   any
		warned bool
	}{
		"https://db.example.com":         {"https://db.example.com", false},
		"{}":                             {map[string]any{}, false},
		"[user]":                         {[]any{"user"}, false},
		"{retries: 3}":                   {map[string]any{"retries": int64(3)}, false},
		"{user: x, database: {size: 5}}": {map[string]any{"user": "x", "database": map[string]any{"size": int64(5)}}, true},
		"{port: 5432, host: db}":         {map[string]any{"port": int64(5432), "host": "db"}, true},
		"{prt: 22}":                      {map[string]any{"prt": int64(22)}, true},
		"{Adress: h, prt: 22}":           {map[string]any{"Adress": "h", "prt": int64(22)}, true},
		"{retries: 3, host: db}":         {map[string]any{"retries": int64(3), "host": "db"}, false},
	} {
		inv := load(t, "all: {vars: {connect: "+value+"}, hosts: {h: }}")
		h := inv.Host("h")
		require.Equal(t, map[string]any{"connect": tt.want}, h.Vars(), value)
		require.Empty(t, h.Connection().User, value)
		if tt.warned {
			require.Equal(t, []string{warning}, inv.Warnings(), value)
		} else {
			require.Empty(t, inv.Warnings(), value)
		}
	}
}

func TestWarnings(t *testing.T) {
	inv := load(t, `all:
  vars:
    ansible_python_interpreter: /usr/bin/python3
    ansible_hostname: web
  hosts:
    h1: {ansible_hosst: 10.0.0.1, ansible_pipelining: true}
    h[2:9]: {ansible_usr: x, ansible_pipelining: true}
`)
	require.Equal(t, []string{
		`hosts.yml:6:10: "ansible_hosst" is an ordinary variable (did you mean "ansible_host"?)`,
		`hosts.yml:7:14: "ansible_usr" is an ordinary variable (did you mean "ansible_user"?)`,
		`hosts.yml:3:5: ignored, as no host needs Python or a setting of its shell: ansible_pipelining, ansible_python_interpreter`,
	}, inv.Warnings())
	require.Empty(t, load(t, fixture).Warnings())
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	one := write("one.yml", "web: {vars: {x: 1}, hosts: {a: {y: 1}, b: }}")
	two := write("two.yml", "web: {vars: {x: 2}, hosts: {a: {y: 2}}}\ndb: {hosts: {c: }}")

	t.Run("the later file wins", func(t *testing.T) {
		inv, err := Load(t.Context(), []string{one, two}, Options{})
		require.NoError(t, err)
		require.Equal(t, "a b c", namesOf(inv.Hosts()))
		require.Equal(t, map[string]any{"x": int64(2), "y": int64(2)}, inv.Host("a").Vars())

		inv, err = Load(t.Context(), []string{two, one}, Options{})
		require.NoError(t, err)
		require.Equal(t, map[string]any{"x": int64(1), "y": int64(1)}, inv.Host("a").Vars())
	})
	t.Run("lists of hosts", func(t *testing.T) {
		for list, want := range map[string]string{"a,b,": "a b", "a,": "a", " a , b": "a b", "h[1:3],": "h1 h2 h3"} {
			inv, err := Load(t.Context(), []string{list}, Options{})
			require.NoError(t, err)
			require.Equal(t, want, namesOf(inv.Hosts()))
		}
		inv, err := Load(t.Context(), []string{"a:2222,"}, Options{})
		require.NoError(t, err)
		require.Equal(t, 2222, inv.Host("a").Connection().Port)
		require.Equal(t, "ungrouped", inv.Host("a").Groups[1].Name)
	})
	t.Run("errors", func(t *testing.T) {
		absent := filepath.Join(dir, "absent")
		script := write("script", "#!/bin/sh\n")
		toml := write("hosts.toml", "[web]\n")
		bad := write("bad.yml", "web: {hots: }\n")
		for _, tt := range []struct {
			paths []string
			want  string
		}{
			{nil, "no inventory is given"},
			{[]string{absent}, absent + ": no such file\n  hint: if " + absent + " is the name of a host, add a comma: -i " + absent + ","},
			{[]string{script}, script + " --list: is a script that cannot be run: permission denied; make it executable with chmod +x, or remove its #! line if it is not a script"},
			{[]string{"a b,"}, "-i a b,: \"a b\" cannot be a host name" + badNameHint},
			{[]string{toml, bad}, bad + ":1:7: unknown key \"hots\" (did you mean \"hosts\"?)\n" + toml + ": TOML inventories are not supported\n  hint: write it as YAML: ansible-inventory -i " + toml + " --list --yaml"},
		} {
			_, err := Load(t.Context(), tt.paths, Options{})
			require.EqualError(t, err, tt.want)
		}
	})
}

func TestLimit(t *testing.T) {
	inv := load(t, fixture)
	file := filepath.Join(t.TempDir(), "limit.txt")
	require.NoError(t, os.WriteFile(file, []byte("# some\nweb02 \n\n# a comment\n db-b \n"), 0o600))
	for _, tt := range []struct{ pattern, limit, want, warning, err string }{
		{pattern: "all", limit: "web01,db-a", want: "web01 db-a"},
		{pattern: "all", limit: "db-a,web01", want: "web01 db-a"},
		{pattern: "all", limit: "!web", want: "lonely01 bastion.example.com db-a db-b db-c " + fixtureStages},
		{pattern: "all", limit: "@" + file, want: "web02 db-b"},
		{pattern: "all", limit: "@" + file + ",!web02", want: "db-b"},
		{pattern: "web", limit: "web[0]", want: "web01", warning: `pattern "web[0]": in a limit, an index counts all hosts of the inventory, not the selected hosts`},
		{pattern: "web", limit: "nosuch", err: `pattern "nosuch": selects no host: "nosuch" matches no host or group`},
		{pattern: "web", limit: "db", err: `pattern "db": the limit excludes all selected hosts`},
		{pattern: "db", limit: "all[0]", err: `pattern "all[0]": the limit excludes all selected hosts
  hint: pattern "all[0]": in a limit, an index counts all hosts of the inventory, not the selected hosts`},
		{pattern: "web", limit: "@/absent/limit", err: `pattern "@/absent/limit": cannot read /absent/limit: no such file`},
		{pattern: "web", limit: "@" + filepath.Dir(file), err: fmt.Sprintf("pattern %q: %s: is a folder, not a file", "@"+filepath.Dir(file), filepath.Dir(file))},
	} {
		t.Run(tt.pattern+" -l "+filepath.Base(tt.limit), func(t *testing.T) {
			hosts, _, err := inv.Select(tt.pattern)
			require.NoError(t, err)
			left, warnings, err := inv.Limit(hosts, tt.limit)
			if tt.err != "" {
				require.EqualError(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, namesOf(left))
			if tt.warning != "" {
				require.Equal(t, []string{tt.warning}, warnings)
			} else {
				require.Empty(t, warnings)
			}
		})
	}
}

// TestTyping checks literals: YAML files use YAML 1.2, where Ansible uses YAML 1.1; INI files use Python's.
func TestTyping(t *testing.T) {
	for _, tt := range []struct {
		literal   string
		yaml, ini any
	}{
		{"yes", "yes", "yes"},
		{"on", "on", "on"},
		{"true", true, "true"},
		{"True", true, true},
		{"0755", int64(493), "0755"},
		{"012", int64(10), "012"},
		{"0o17", int64(15), int64(15)},
		{"0x1f", int64(31), int64(31)},
		{"1e3", 1000.0, 1000.0},
		{"1_000", int64(1000), int64(1000)},
		{"1:30", "1:30", "1:30"},
		{"2024-01-02", "2024-01-02", "2024-01-02"},
		{"2024-01-02 03:04:05", "2024-01-02 03:04:05", "2024-01-02 03:04:05"},
		{"~", nil, "~"},
		{"null", nil, "null"},
		{"None", "None", nil},
		{"1.10", 1.1, 1.1},
		{"'1.10'", "1.10", "1.10"},
		{"[1, 'a']", []any{int64(1), "a"}, []any{int64(1), "a"}},
	} {
		t.Run(tt.literal, func(t *testing.T) {
			require.Equal(t, map[string]any{"x": tt.yaml}, load(t, "all: {hosts: {h: }, vars: {x: "+tt.literal+"}}").Host("h").Vars())
			require.Equal(t, map[string]any{"x": tt.ini}, loadINI(t, "h\n[all:vars]\nx="+tt.literal+"\n").Host("h").Vars())
		})
	}
}

// Where a boolean is meant, the words of YAML 1.1 are ones, in quotes and without.
func TestTypingOfConnections(t *testing.T) {
	for word, want := range map[string]bool{"yes": true, "on": true, "True": true, "'yes'": true, "no": false, "off": false, "false": false} {
		require.Equal(t, want, load(t, "all: {hosts: {h: {ansible_become: "+word+"}}}").Host("h").Connection().Become, word)
		require.Equal(t, want, loadINI(t, "h\n[all:vars]\nansible_become="+word+"\n").Host("h").Connection().Become, word)
	}
}

// TestTypingOfKeys checks keys that are not text: below vars their text is used, as names they are refused.
func TestTypingOfKeys(t *testing.T) {
	require.Equal(t, map[string]any{"d": map[string]any{"12": int64(1), "true": int64(2)}}, load(t, "all: {hosts: {h: {d: {12: 1, true: 2}}}}").Host("h").Vars())
}
