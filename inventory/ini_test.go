package inventory

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func loadINI(t testing.TB, text string) *Inventory {
	t.Helper()
	inv, err := Parse("hosts.ini", []byte(text))
	require.NoError(t, err)
	return inv
}

// graph lists groups with their hosts and children: "web(a b | eu)".
func graph(inv *Inventory) string {
	var list []string
	for _, g := range inv.Groups() {
		text := g.Name + "(" + namesOf(g.hosts)
		if len(g.Children) > 0 {
			text += " | " + strings.Join(groupNames(g.Children), " ")
		}
		list = append(list, text+")")
	}
	return strings.Join(list, " ")
}

func TestINIGroups(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"hosts before any section", "a\nb:22\n", "all( | ungrouped) ungrouped(a b)"},
		{"sections", "lonely\n[web]\nw[1:2]\n[db:children]\npg\n[pg]\np1\n", "all( | ungrouped web db) ungrouped(lonely) web(w1 w2) db( | pg) pg(p1)"},
		{"children in the order of their sections", "[a:children]\nx\ny\n[y]\nh1\n[x]\nh2\n", "all( | ungrouped a) ungrouped() a( | y x) y(h1) x(h2)"},
		{"children that are known", "[x]\nh\n[a:children]\nx # a comment\n", "all( | ungrouped a) ungrouped() x(h) a( | x)"},
		{"vars before the section", "[web:vars]\nx=1\n[web]\nh\n", "all( | ungrouped web) ungrouped() web(h)"},
		{"an empty section", "[web]\n[db]\n", "all( | ungrouped web db) ungrouped() web() db()"},
		{"a section twice", "[web]\na\n[db]\nb\n[web]\nc\n", "all( | ungrouped web db) ungrouped() web(a c) db(b)"},
		{"hosts by name of the section", "[web:hosts]\na\n", "all( | ungrouped web) ungrouped() web(a)"},
		{"in the group all", "[all]\na\n[all:vars]\nx=1\n", "all(a | ungrouped) ungrouped(a)"},
		{"comments", "# one\n; two\n  # three\n[web] # four\na # five\n", "all( | ungrouped web) ungrouped() web(a)"},
		{"blanks and line ends", "\ufeff[web]\r\n  a \r\n\r\n\tb\r\n", "all( | ungrouped web) ungrouped() web(a b)"},
		{"addresses", "[2001:db8::1]:2222\n2001:db8::2\n10.0.0.[1:2]\n", "all( | ungrouped) ungrouped(2001:db8::1 2001:db8::2 10.0.0.1 10.0.0.2)"},
		{"odd bytes in a comment", "# caf\xe9\na\n", "all( | ungrouped) ungrouped(a)"},
		{"nothing", "", "all( | ungrouped) ungrouped()"},
	} {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, graph(loadINI(t, tt.text))) })
	}
}

func TestINIVariables(t *testing.T) {
	for _, tt := range []struct {
		name, text, host string
		want             map[string]any
	}{
		{"types on a host line", `a x=1 y=yes z=True q='[1, 2]' d="{'a': 1}" n=None o=010 s=" x " e= p='"1"'`, "a", map[string]any{
			"x": int64(1), "y": "yes", "z": true, "q": []any{int64(1), int64(2)}, "d": map[string]any{"a": int64(1)}, "n": nil, "o": "010", "s": " x ", "e": "", "p": "1"}},
		{"quotes", `a w="a b" v='c "d"' u=e\ f t="g\"h"`, "a", map[string]any{"w": "a b", "v": `c "d"`, "u": "e f", "t": `g"h`}},
		{"equals signs", "a x=b=c", "a", map[string]any{"x": "b=c"}},
		{"a variable twice", "a x=1 x=2", "a", map[string]any{"x": int64(2)}},
		{"a host twice", "a x=1 y=1\n[web]\na x=2\n", "a", map[string]any{"x": int64(2), "y": int64(1)}},
		{"a range", "a[1:2]:2222 rack=7", "a2", map[string]any{"ansible_port": int64(2222), "rack": int64(7)}},
		{"types below :vars", "[g]\na\n[g:vars]\nx=1\ny = \"quoted\" # no part of it\nw='a' 'b'\nv=a=b\nsp= [1,2]\ne=\nhash=a # b\nnum=0755\np=\"a\n", "a", map[string]any{
			"x": int64(1), "y": "quoted", "w": "ab", "v": "a=b", "sp": []any{int64(1), int64(2)}, "e": "", "hash": "a # b", "num": "0755", "p": `"a`}},
		{"the host wins", "[g]\na x=1\n[g:vars]\nx=2\n", "a", map[string]any{"x": int64(1)}},
		{"priority", "[a]\nh\n[b]\nh\n[a:vars]\nx=a\nansible_group_priority=10\n[b:vars]\nx=b\n", "h", map[string]any{"x": "a"}},
		{"no password", "a ansible_password=hunter2 x=1\n[all:vars]\nansible_become_password=hunter2\n", "a", map[string]any{"x": int64(1)}},
	} {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, loadINI(t, tt.text).Host(tt.host).Vars()) })
	}
}

func TestINIConnections(t *testing.T) {
	inv := loadINI(t, `a ansible_host=192.0.2.1 ansible_port=2222 ansible_become=yes ansible_password='#hunter2'
[all:vars]
ansible_user = deploy
ansible_become_password=hun ter2
ansible_ssh_common_args='-o ProxyJump=gate -o ServerAliveInterval=5'
`)
	c := inv.Host("a").Connection()
	require.Equal(t, map[string]string{
		"address": "hosts.ini:1:16", "port": "hosts.ini:1:39", "become": "hosts.ini:1:59", "password": "hosts.ini:1:80",
		"user": "hosts.ini:3:16", "become_password": "hosts.ini:4:25", "jump": "hosts.ini:5:25",
	}, c.Pos)
	c.Pos = nil
	require.Equal(t, Connection{
		Address: "192.0.2.1", Port: 2222, User: "deploy", Password: "#hunter2", Become: true, BecomePassword: "hun ter2",
		Jump: []JumpHost{{Host: "gate"}}, Options: []Option{{Name: "ServerAliveInterval", Value: "5", Pos: "hosts.ini:5:25"}},
	}, c)
	require.NotContains(t, fmt.Sprintf("%v %+v %#v %s", c, c, &c, c), "ter2")
	require.NotContains(t, string(inv.Encode()), "ter2")
}

const (
	sectionHint  = "\n  hint: write [group], [group:children] or [group:vars], without blanks"
	sectionWords = "\n  hint: write [group], [group:children] or [group:vars]"
	sectionsHint = "\n  hint: sections are [group], [group:children] and [group:vars]"
)

var iniErrors = []struct{ name, text, want string }{
	{"blank in a section", "[web servers]\na\n", `hosts.ini:1:1: "[web servers]" is not a section` + sectionHint},
	{"unknown section", "[web:var]\nx=1\n", `hosts.ini:1:6: section "var" is unknown` + sectionsHint},
	{"group name", "[web;]\n", `hosts.ini:1:2: "web;" cannot be a group name` + badNameHint},
	{"open section", "[web\na b\n", `hosts.ini:1:1: section "[web" has no ] at its end` + sectionWords},
	{"undefined group", "[a:vars]\nx=1\n", "hosts.ini:1:2: unknown group a\n  hint: write [a] somewhere"},
	{"undefined child", "[a:children]\n b\nc\n", "hosts.ini:2:2: unknown group b\n  hint: write [b] somewhere\nhosts.ini:3:1: unknown group c\n  hint: write [c] somewhere"},
	{"two children on a line", "[a:children]\nb c\n", "hosts.ini:2:1: [a:children] contains names of groups\n  hint: write one name on each line"},
	{"no value", "[a]\n[a:vars]\nhunter2\n", "hosts.ini:3:1: [a:vars] contains variables\n  hint: write NAME=VALUE"},
	{"no name", "[a]\n[a:vars]\n = hunter2\n", "hosts.ini:3:2: [a:vars] contains variables\n  hint: write NAME=VALUE"},
	{"no variable behind a host", "a ansible_password=hun ter2\n", "hosts.ini:1:24: write variables after a host as NAME=VALUE\n  hint: quote a value that has blanks: NAME=\"a b\""},
	{"open quote", "a ansible_password='hunter2\n", "hosts.ini:1:1: a quote is opened and not closed\n  hint: quote as in a shell"},
	{"backslash", "a x=\\\n", "hosts.ini:1:1: a backslash is at the end\n  hint: quote as in a shell"},
	{"unsafe name", "  a;b\n", `hosts.ini:1:3: "a;b" cannot be a host name` + badNameHint},
	{"option as a name", "-oProxyCommand=x\n", `hosts.ini:1:1: "-oProxyCommand=x" cannot be a host name` + badNameHint},
	{"range", "web[3:1]\n", `hosts.ini:1:1: host "web[3:1]": [3:1]: 3 is greater than 1` + badRangeHint},
	{"port", "é ö=1\nh:0\n", "hosts.ini:1:1: \"é\" cannot be a host name" + badNameHint + "\nhosts.ini:2:1: host \"h:0\": \"port\" must be from 1 to 65535, not 0"},
	{"YAML in an INI file", "---\nall:\n", `hosts.ini:1:1: "---" cannot be a host name` + badNameHint + "\nhosts.ini:2:1: \"all:\" cannot be a host name\n  hint: a colon is allowed in IPv6 addresses, and before a port from 1 to 65535"},
	{"connection value", "[a]\nh\n[a:vars]\n  ansible_port = x\n", `hosts.ini:4:18: the value "x" of "ansible_port" is not a number`},
	{"connection value on a host line", "h1 x=é\nh2  x=é   ansible_port=99999\n", `hosts.ini:2:24: "ansible_port" must be from 1 to 65535, not 99999`},
	{"connect as a variable", "[web]\n[web:vars]\nconnect={'user': 'x'}\n", "hosts.ini:3:1: a variable named \"connect\" would have no effect on connections\n  hint: here a group uses \"ansible_user\", \"ansible_become\" and so on; choose another name for a variable"},
	{"Jinja", "h ansible_host=\"{{ x }}\"\n", "hosts.ini:1:16: \"ansible_host\" cannot be an expression\n  hint: write the value itself: ccm-push reads connection settings before it evaluates expressions"},
	{"escape", "h x=\x1b[2J\n", "hosts.ini:1:5: the file is not UTF-8 text\n  hint: save the file as UTF-8 text"},
	{"Latin-1", "h x=caf\xe9\n", "hosts.ini:1:8: the file is not UTF-8 text\n  hint: save the file as UTF-8 text"},
	{"priority", "[a]\n[a:vars]\nansible_group_priority=high\n", `hosts.ini:3:24: "ansible_group_priority" must be an integer, not the text "high"`},
	{"cycle", "[a:children]\nb\n[b:children]\na\n", "hosts.ini:4:1: groups contain each other: a -> b -> a\n  hint: remove one of these children"},
	{"name clash", "[web]\nweb\n", "hosts.ini:2:1: \"web\" is a host and a group at hosts.ini:1:2\n  hint: rename one of the two: in a pattern, the name would be ambiguous"},
}

func TestINIErrors(t *testing.T) {
	for _, tt := range iniErrors {
		t.Run(tt.name, func(t *testing.T) {
			err := wrongWith(Parse("hosts.ini", []byte(tt.text)))
			require.EqualError(t, err, tt.want)
			require.NotContains(t, err.Error(), "ter2")
		})
	}
}

func TestINIWarnsOfCutWords(t *testing.T) {
	inv := loadINI(t, "a x=pass#word\n")
	require.Equal(t, map[string]any{"x": "pass"}, inv.Host("a").Vars())
	require.Equal(t, []string{"hosts.ini:1:9: a comment begins within a word, as in Ansible; quote a value that holds #"}, inv.Warnings())
}

func FuzzINI(f *testing.F) {
	for _, tt := range iniErrors {
		f.Add(tt.text)
	}
	f.Add("lonely ansible_host=192.0.2.1\n[web]\nweb[1:2]:2222 rack=7 name=\"a b\" # c\n[db:children]\npg\n[pg]\np1\n[pg:vars]\nx={'a': [1, None]}\n")
	f.Fuzz(func(t *testing.T, text string) {
		inv, err := Parse("fuzz.ini", []byte(text))
		if err != nil || inv.size() > 10_000 {
			return
		}
		requireRoundTrip(t, inv)
	})
}
