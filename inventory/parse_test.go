package inventory

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rangeVectors are host keys and the names that ansible-core 2.14.18 expands them to.
var rangeVectors = []struct {
	key  string
	want string
	port int
}{
	{"web[1:3]", "web1 web2 web3", 0},
	{"web[01:03]", "web01 web02 web03", 0},
	{"web[1:10:3]", "web1 web4 web7 web10", 0},
	{"web[01:10:3]", "web01 web04 web07 web10", 0},
	{"web[08:11]", "web08 web09 web10 web11", 0},
	{"web[:2]", "web0 web1 web2", 0},
	{"db[a:d]", "dba dbb dbc dbd", 0},
	{"db[a:g:2]", "dba dbc dbe dbg", 0},
	{"db[A:C]", "dbA dbB dbC", 0},
	{"x[y:B]", "xy xz xA xB", 0},
	{"w[0:0]", "w0", 0},
	{"n[1:2]-[a:b]", "n1-a n1-b n2-a n2-b", 0},
	{"rack[1:2]node[01:02].example.com", "rack1node01.example.com rack1node02.example.com rack2node01.example.com rack2node02.example.com", 0},
	{"10.0.0.[1:3]", "10.0.0.1 10.0.0.2 10.0.0.3", 0},
	{"web[1:3]:2222", "web1 web2 web3", 2222},
	{"web1:2222", "web1", 2222},
	{"fe80::[1:3]", "fe80::1 fe80::2 fe80::3", 0},
	{"fe80::1%eth0", "fe80::1%eth0", 0},
	{"2001:db8::1", "2001:db8::1", 0},
	{"[2001:db8::1]:22", "2001:db8::1", 22},
	{"[2001:db8::1]", "2001:db8::1", 0},
	{"10.0.0.1:2222", "10.0.0.1", 2222},
}

func TestHostKeys(t *testing.T) {
	for _, tt := range rangeVectors {
		t.Run(tt.key, func(t *testing.T) {
			inv := load(t, fmt.Sprintf("web: {hosts: {%q: {v: 1}}}", tt.key))
			require.Equal(t, tt.want, namesOf(inv.Hosts()))
			for _, h := range inv.Hosts() {
				want := map[string]any{"v": int64(1)}
				if tt.port > 0 {
					want["ansible_port"] = int64(tt.port)
				}
				require.Equal(t, want, h.Vars())
				require.Equal(t, tt.port, h.Connection().Port)
			}
		})
	}
}

const badRangeHint = "\n  hint: write a range as [begin:end] or [begin:end:step], such as web[01:20]"
const badNameHint = "\n  hint: letters, digits and _ . - are allowed, and a name does not begin with -"

var hostKeyErrors = []struct{ key, want string }{
	{`web[001:3]`, `host "web[001:3]": [001:3]: begin and end must have the same number of digits` + badRangeHint},
	{`db[c:a]`, `host "db[c:a]": [c:a]: c comes after a` + badRangeHint},
	{`web[3:1]`, `host "web[3:1]": [3:1]: 3 is greater than 1` + badRangeHint},
	{`web[1-3]`, "host \"web[1-3]\": [1-3] is not a range\n  hint: write [1:3]"},
	{`web[1]`, `host "web[1]": [1] is not a range` + badRangeHint},
	{`web[1,3]`, `host "web[1,3]": [1,3] is not a range` + badRangeHint},
	{`h[1:3:0]`, `host "h[1:3:0]": [1:3:0]: step "0" is not a number from 1 on` + badRangeHint},
	{`h[1:3:1:1]`, `host "h[1:3:1:1]": [1:3:1:1]: too many colons` + badRangeHint},
	{`h[aa:ac]`, `host "h[aa:ac]": [aa:ac]: begin and end must be numbers or single letters` + badRangeHint},
	{`h[1:]`, `host "h[1:]": [1:]: begin and end must be numbers or single letters` + badRangeHint},
	{`h[1:99999999999999999999]`, `host "h[1:99999999999999999999]": [1:99999999999999999999]: a number is too large` + badRangeHint},
	{`h[1:9999][1:9999]`, `host "h[1:9999][1:9999]": more than 1000000 names`},
	{`h[1:2`, `host "h[1:2": the bracket [ has no closing ]` + badRangeHint},
	{`h]1:2[`, `host "h]1:2[": the bracket ] has no opening [` + badRangeHint},
	{`web 01`, `"web 01" cannot be a host name` + badNameHint},
	{`-oProxyCommand=x`, `"-oProxyCommand=x" cannot be a host name` + badNameHint},
	{`-h`, `"-h" cannot be a host name` + badNameHint},
	{`a;b`, `"a;b" cannot be a host name` + badNameHint},
	{`a\x1b[31m`, `host "a\x1b[31m": the bracket [ has no closing ]` + badRangeHint},
	{`a\x07`, `"a\a" cannot be a host name` + badNameHint},
	{`..`, `".." cannot be a host name` + badNameHint},
	{``, `"" cannot be a host name` + badNameHint},
	{`web:ssh`, "\"web:ssh\" cannot be a host name\n  hint: a colon is allowed in IPv6 addresses, and before a port from 1 to 65535"},
	{`h:0`, `host "h:0": "port" must be from 1 to 65535, not 0`},
	{`h:70000`, `host "h:70000": "port" must be from 1 to 65535, not 70000`},
	{`[2001:db8::1]:70000`, `host "[2001:db8::1]:70000": "port" must be from 1 to 65535, not 70000`},
	{`h:99999999999999999999`, `host "h:99999999999999999999": "port" must be from 1 to 65535, not 99999999999999999999`},
}

func TestHostKeyErrors(t *testing.T) {
	for _, tt := range hostKeyErrors {
		t.Run(tt.key, func(t *testing.T) {
			_, err := Parse("hosts.yml", []byte(`web: {hosts: {"`+tt.key+`": }}`))
			require.EqualError(t, err, "hosts.yml:1:15: "+tt.want)
		})
	}
}

var shapeErrors = []struct{ name, text, want string }{
	{"hosts as a list", "web:\n  hosts: [h1]\n", "hosts.yml:2:10: \"hosts\" must be a map, not a list\n  hint: use a mapping: each name on a line of its own, followed by a colon"},
	{"unknown key", "web:\n  host: {h1: }\n", `hosts.yml:2:3: unknown key "host" (did you mean "hosts"?)`},
	{"unlike any key", "web:\n  port: 80\n", "hosts.yml:2:3: unknown key \"port\"\n  hint: a group has the keys \"hosts\", \"children\", \"vars\" and \"connect\"; variables go under vars:, groups under children:"},
	{"duplicate key", "web:\n  hosts:\n    h1:\n    h1:\n", `hosts.yml:4:5: key "h1" is given twice, first at line 3`},
	{"cycle", "a: {children: {b: }}\nb: {children: {c: }}\nc: {children: {a: }}\n", "hosts.yml:3:16: groups contain each other: a -> b -> c -> a\n  hint: remove one of these children"},
	{"cycle of one", "a: {children: {a: }}\n", "hosts.yml:1:16: groups contain each other: a -> a\n  hint: remove one of these children"},
	{"all as a child", "a: {children: {all: }}\n", "hosts.yml:1:16: groups contain each other: all -> a -> all\n  hint: remove one of these children"},
	{"name clash", "web: {hosts: {db: }}\ndb:\n", "hosts.yml:1:15: \"db\" is a host and a group at hosts.yml:2:1\n  hint: rename one of the two: in a pattern, the name would be ambiguous"},
	{"host called all", "web: {hosts: {all: }}\n", "hosts.yml:1:15: \"all\" is a host and a group that always exists\n  hint: rename one of the two: in a pattern, the name would be ambiguous"},
	{"plugin", "plugin: aws_ec2\n", "hosts.yml:1:9: inventory plugins are not supported\n  hint: " + pluginHint},
	{"empty", "", "hosts.yml: the inventory is empty\n  hint: an inventory is a map of groups: all: {hosts: {web1: }}"},
	{"only a comment", "# none\n", "hosts.yml: the inventory is empty\n  hint: an inventory is a map of groups: all: {hosts: {web1: }}"},
	{"null", "---\n", "hosts.yml:2:1: an inventory is a map of groups, not nothing\n  hint: an inventory is a map of groups: all: {hosts: {web1: }}"},
	{"list", "- web1\n", "hosts.yml:1:1: an inventory is a map of groups, not a list\n  hint: an inventory is a map of groups: all: {hosts: {web1: }}"},
	{"two documents", "a:\n---\nb:\n", "hosts.yml:3:1: an inventory is one document, not 2\n  hint: remove the --- between them"},
	{"numeric host", "web: {hosts: {12: }}\n", "hosts.yml:1:15: host name 12 is read as a number\n  hint: quote it: \"12\""},
	{"boolean group", "true: {hosts: {h: }}\n", "hosts.yml:1:1: group name true is read as a boolean\n  hint: quote it: \"true\""},
	{"null group", "a: {children: {~: }}\n", "hosts.yml:1:16: group name ~ is read as null\n  hint: write a name"},
	{"group with a colon", "\"os:debian\":\n", "hosts.yml:1:1: \"os:debian\" cannot be a group name" + badNameHint},
	{"scalar group", "web: h1\n", "hosts.yml:1:6: the group \"web\" must be a map, not the text \"h1\"\n  hint: write hosts:, children:, vars: or connect: below it"},
	{"scalar host", "web: {hosts: {h1: x}}\n", "hosts.yml:1:19: the host \"h1\" must be a map, not the text \"x\"\n  hint: write its variables as a map, or nothing"},
	{"list of vars", "web: {vars: [a]}\n", "hosts.yml:1:13: \"vars\" must be a map, not a list\n  hint: write a map, such as key: value"},
	{"priority", "web: {vars: {ansible_group_priority: high}}\n", "hosts.yml:1:38: \"ansible_group_priority\" must be an integer, not the text \"high\""},
	{"connect below vars", "all:\n  vars:\n    connect: {user: x, jump: gate}\n", `hosts.yml:3:5: a variable named "connect" would have no effect on connections` + connectBesideHint},
	{"connect below vars, an alias", "web: {vars: &v {connect: {become: true}}}\ndb: {vars: {<<: *v}}\n", `hosts.yml:1:17: a variable named "connect" would have no effect on connections` + connectBesideHint +
		"\nhosts.yml:1:17: a variable named \"connect\" would have no effect on connections" + connectBesideHint},
	{"connect below vars, beside a real one", "web: {connect: {port: 22}, vars: {connect: {password: hunter2}}}\n", `hosts.yml:1:35: a variable named "connect" would have no effect on connections` + connectBesideHint},
	{"all at once", "web:\n  hots:\n  hosts:\n    a b:\n    h1: {connect: {prt: 0}}\n",
		"hosts.yml:2:3: unknown key \"hots\" (did you mean \"hosts\"?)\nhosts.yml:4:5: \"a b\" cannot be a host name" + badNameHint + "\nhosts.yml:5:20: unknown key \"prt\" (did you mean \"port\"?)"},
}

const connectBesideHint = "\n  hint: write connect: next to vars:, not in it; choose another name for a variable"

func TestShapeErrors(t *testing.T) {
	for _, tt := range shapeErrors {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("hosts.yml", []byte(tt.text))
			require.EqualError(t, err, tt.want)
		})
	}
}

func TestShapes(t *testing.T) {
	for _, tt := range []struct{ name, text, pattern, want string }{
		{"hosts as text", "web: {hosts: h1}", "web", "h1"},
		{"children as text", "web: {children: eu}\neu: {hosts: h1}", "web", "h1"},
		{"null bodies", "web:\ndb: {hosts: , children: , vars: }\neu: {hosts: h1}", "all", "h1"},
		{"a group repeated", "all: {children: {web: {hosts: {a: }}}}\nweb: {hosts: {b: }}", "web", "a b"},
		{"dashes and digits", "0-web: {hosts: h1}", "0-web", "h1"},
		{"in ungrouped and a group", "ungrouped: {hosts: {a: , b: }}\nweb: {hosts: {b: }}", "ungrouped", "a"},
		{"own hosts before those of children", "web: {children: {eu: {hosts: {a: }}}, hosts: {b: }}", "web", "b a"},
		{"merge keys and aliases", "web: &w {hosts: {a: }}\ndb: {<<: *w}", "db", "a"},
		{"quoted numbers", "web: {hosts: {\"12\": }}", "web", "12"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hosts, _, err := load(t, tt.text).Select(tt.pattern)
			require.NoError(t, err)
			require.Equal(t, tt.want, namesOf(hosts))
		})
	}
}

func TestGroupOrder(t *testing.T) {
	inv := load(t, fixture)
	var list []string
	for _, g := range inv.Groups() {
		list = append(list, fmt.Sprintf("%s/%d", g.Name, g.Depth))
	}
	require.Equal(t, "all/0 ungrouped/1 web/2 db/2 prod/1 dc1/1 dc2/1 canary/1 webby_empty/1 stage/1", strings.Join(list, " "))

	list = nil
	for _, g := range inv.Host("web01").Groups {
		list = append(list, g.Name)
	}
	require.Equal(t, "all canary dc1 prod web", strings.Join(list, " "))
	require.Nil(t, inv.Host("nosuch"))
	require.Equal(t, "hosts.yml:13:9", inv.Host("web03").Pos())
}
