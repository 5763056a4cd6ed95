package firewall

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// Kernels of hosts: one without rules, and one that drops packets unless it accepts them, by policy and by its last
// rule.
const (
	open   = `{"chains":[]}`
	closed = `{"chains":[{"family":"inet","table":"filter","name":"input","type":"filter","hook":"input","prio":0,"policy":"drop","rules":[` + sshOnly + `]}]}`
	ending = `{"chains":[{"family":"inet","table":"filter","name":"input","type":"filter","hook":"input","prio":0,"policy":"accept","rules":[` + sshOnly + `,{"expr":[{"counter":null},{"drop":null}],"handle":2}]}]}`

	sshOnly = `{"expr":[{"match":{"left":{"payload":{"field":"dport","protocol":"tcp"}},"op":"==","right":22}},{"accept":null}],"handle":1}`
)

// tree is a host; settled makes the kernel after some calls.
func tree(t *testing.T, kernel string, more ...modtest.Node) []modtest.Node {
	t.Helper()
	return append([]modtest.Node{
		{Path: "bin", Dir: true}, script(t, "nft"), {Path: "kernel", Text: kernel},
		{Path: "etc", Dir: true}, {Path: "etc/nftables.conf", Text: "flush ruleset\n"},
	}, more...)
}

// settled applies resources to the root of a fixture.
func settled(properties ...string) func(t *testing.T, root string) {
	return func(t *testing.T, root string) {
		for _, p := range properties {
			apply(t, root, p)
		}
	}
}

func apply(t *testing.T, root, properties string) {
	t.Helper()
	res := modtest.Decode(t, modules.Registry{modtest.Rooted(Type())}, "firewall", with1(properties), root)
	plan, err := res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
	require.NoError(t, err)
	require.NoError(t, res.Apply(t.Context(), modtest.Host(), plan))
}

func with1(more string) string { return `{"root":"$ROOT",` + more + `}` }

func TestConverges(t *testing.T) {
	const https, telnet = `"name":"https","service":"https"`, `"name":"telnet","port":"23","action":"drop"`
	loaded := modtest.Change("loaded at boot", "no", "yes")
	modtest.Converges(t, modtest.Rooted(Type()), modtest.Kept("kernel", "", []modtest.Fixture{
		{
			Name: "dropped", Tree: tree(t, open), Properties: with1(telnet), Action: "added the rule",
			Changes: []modules.Change{modtest.Change("in force", absent, "tcp dport 23 drop"), modtest.Change("kept", absent, "tcp dport 23 drop"), loaded},
		},
		{
			Name: "rejected beside another one", Tree: tree(t, open), Prepare: settled(telnet), Properties: with1(`"name":"more","port":"80, 8000-8100,81","protocol":"both","source":["192.0.2.0/24","2001:db8::1"],"interface":"eth0","action":"reject"`),
			Action:  "added the rule",
			Changes: []modules.Change{modtest.Change("in force", absent, shownMore), modtest.Change("kept", absent, shownMore)},
		},
		{
			Name: "accepted where nothing is dropped", Tree: tree(t, open), Properties: with1(https), Action: "added the rule",
			Changes: []modules.Change{modtest.Change("in force", absent, "tcp dport 443 accept"), modtest.Change("kept", absent, "tcp dport 443 accept"), loaded},
		},
		{
			Name: "accepted where the policy drops", Tree: tree(t, closed), Properties: with1(https), Action: "added the rule",
			Changes: []modules.Change{modtest.Change("in force", absent, "tcp dport 443 accept"), modtest.Change("inet filter input", absent, "tcp dport 443 accept"), modtest.Change("kept", absent, "tcp dport 443 accept"), loaded},
		},
		{
			Name: "accepted where the last rule drops", Tree: tree(t, ending), Properties: with1(https), Action: "added the rule",
			Changes: []modules.Change{modtest.Change("in force", absent, "tcp dport 443 accept"), modtest.Change("inet filter input", absent, "tcp dport 443 accept"), modtest.Change("kept", absent, "tcp dport 443 accept"), loaded},
		},
		{Name: "as it shall be", Tree: tree(t, closed), Prepare: settled(telnet, https), Properties: with1(https)},
		{
			Name: "another port", Tree: tree(t, closed), Prepare: settled(https, telnet), Properties: with1(`"name":"https","port":"8443"`), Action: "updated the rule",
			Changes: []modules.Change{modtest.Change("in force", "tcp dport 443 accept", "tcp dport 8443 accept"), modtest.Change("inet filter input", "tcp dport 443 accept", "tcp dport 8443 accept"), modtest.Change("kept", "tcp dport 443 accept", "tcp dport 8443 accept")},
		},
		{
			Name: "kept, and not in force", Tree: tree(t, open), Prepare: func(t *testing.T, root string) {
				apply(t, root, telnet)
				require.NoError(t, os.WriteFile(filepath.Join(root, "kernel"), []byte(open), 0o644))
			},
			Properties: with1(telnet), Action: "added the rule", Changes: []modules.Change{modtest.Change("in force", absent, "tcp dport 23 drop")},
		},
		{
			Name: "in force, and not kept", Stays: "etc/nftables.conf", Past: true, Tree: tree(t, open), Prepare: func(t *testing.T, root string) {
				apply(t, root, telnet)
				require.NoError(t, os.Remove(filepath.Join(root, "etc/nftables-ccm-push.nft")))
			},
			Properties: with1(telnet), Action: "kept the rule", Changes: []modules.Change{modtest.Change("kept", absent, "tcp dport 23 drop")},
		},
		{
			Name: "one of two goes", Tree: tree(t, closed), Prepare: settled(https, telnet), Properties: with1(`"name":"https","ensure":"absent"`), Action: "removed the rule",
			Changes: []modules.Change{modtest.Change("in force", "tcp dport 443 accept", absent), modtest.Change("inet filter input", "tcp dport 443 accept", absent), modtest.Change("kept", "tcp dport 443 accept", absent)},
		},
		{
			Name: "the last one goes", Tree: tree(t, closed), Prepare: settled(https), Properties: with1(`"name":"https","ensure":"absent"`), Action: "removed the rule",
			Changes: []modules.Change{modtest.Change("in force", "tcp dport 443 accept", absent), modtest.Change("inet filter input", "tcp dport 443 accept", absent), modtest.Change("loaded at boot", "yes", "no"), modtest.Change("kept", "tcp dport 443 accept", absent)},
		},
		{Name: "absent already", Tree: tree(t, closed), Properties: with1(`"name":"https","ensure":"absent"`)},
		{Name: "no nftables, and none needed", Tree: []modtest.Node{{Path: "bin", Dir: true}}, Properties: with1(`"name":"https","ensure":"absent"`)},
		{
			Name: "what drops is iptables'", Tree: tree(t, strings.ReplaceAll(strings.ReplaceAll(closed, `"inet"`, `"ip"`), `"input","type"`, `"INPUT","type"`)), Properties: with1(https),
			Err: "the chain ip filter INPUT, managed by iptables, drops packets that its own rules do not accept; add the rule with iptables, or move the rules of this chain to nftables",
		},
		{
			Name: "somebody else's", Tree: tree(t, open, running("firewalld.service")...), Properties: with1(`"name":"x","port":"1","provider":"nftables"`),
			Err: `firewalld manages the firewall of this host, and would ignore this rule: remove the property "provider"`,
		},
		{
			Name: "the own login", Tree: tree(t, open, loggedIn...), Properties: with1(`"name":"ssh","service":"ssh","action":"drop"`),
			Err: `this change would lock out the login of this run, from 192.0.2.1 to port 22, because the rule "ssh" would drop the login; first add a rule that accepts a narrower source`,
		},
		{
			Name: "everything of the own network", Tree: tree(t, open, loggedIn...), Properties: with1(`"name":"them","source":["192.0.2.0/24"],"action":"reject"`),
			Err: `this change would lock out the login of this run, from 192.0.2.1 to port 22, because the rule "them" would reject the login; first add a rule that accepts a narrower source`,
		},
		{
			Name: "the own login, behind a rule of an interface that drops it too", Tree: tree(t, open, loggedIn...), Prepare: settled(`"name":"from eth9","service":"ssh","interface":"eth9","action":"reject"`),
			Properties: with1(`"name":"ssh","service":"ssh","action":"drop"`),
			Err:        `this change would lock out the login of this run, from 192.0.2.1 to port 22, because the rule "ssh" would drop the login; first add a rule that accepts a narrower source`,
		},
		{
			Name: "all logins but by an interface", Tree: tree(t, open, loggedIn...), Prepare: settled(`"name":"from eth9","service":"ssh","interface":"eth9"`), Properties: with1(`"name":"ssh","service":"ssh","action":"drop"`),
			Action: "added the rule", Changes: []modules.Change{modtest.Change("in force", absent, "tcp dport 22 drop"), modtest.Change("kept", absent, "tcp dport 22 drop")},
		},
		{
			Name: "all logins but the own one", Tree: tree(t, open, loggedIn...), Prepare: settled(`"name":"us","service":"ssh","source":["192.0.2.0/30"]`), Properties: with1(`"name":"ssh","service":"ssh","action":"drop"`),
			Action: "added the rule", Changes: []modules.Change{modtest.Change("in force", absent, "tcp dport 22 drop"), modtest.Change("kept", absent, "tcp dport 22 drop")},
		},
	})...)
}

const shownMore = `iifname "eth0" ip6 saddr 2001:db8::1 tcp dport { 80-81, 8000-8100 } reject; iifname "eth0" ip6 saddr 2001:db8::1 udp dport { 80-81, 8000-8100 } reject; iifname "eth0" ip saddr 192.0.2.0/24 tcp dport {…`

// running is systemd's link of a running unit.
func running(unit string) []modtest.Node {
	return []modtest.Node{
		{Path: "run", Dir: true}, {Path: "run/systemd", Dir: true}, {Path: "run/systemd/units", Dir: true},
		{Path: "run/systemd/units/invocation:" + unit, Link: "0123456789abcdef"},
	}
}

// loggedIn are processes: the host program, a shell, and the sshd that started it.
var loggedIn = []modtest.Node{
	{Path: "proc", Dir: true},
	{Path: "proc/self", Dir: true},
	{Path: "proc/self/environ", Text: "PATH=/bin"},
	{Path: "proc/self/status", Text: "Name:\tccm-module\nPPid:\t7\n"},
	{Path: "proc/7", Dir: true},
	{Path: "proc/7/environ", Text: "PATH=/bin\x00SSH_CONNECTION=192.0.2.1 50000 192.0.2.2 22\x00HOME=/root\x00"},
}

// TestPredicts uses a sequence of rules.
func TestPredicts(t *testing.T) {
	step := func(properties string) modtest.Step {
		return modtest.Step{Type: "firewall", Properties: with1(properties)}
	}
	modtest.Predicts(t, modules.Registry{modtest.Rooted(Type())}, modtest.Scenario{
		Tree: tree(t, closed),
		Steps: []modtest.Step{
			step(`"name":"a","port":"80"`),
			step(`"name":"b","port":"81","action":"drop"`),
			step(`"name":"a","port":"80"`),
			step(`"name":"a","ensure":"absent"`),
			step(`"name":"a","ensure":"absent"`),
			step(`"name":"b","ensure":"absent"`),
		},
		Want: []string{"changed", "changed", "stable", "changed", "stable", "changed"},
	})
}

// TestReversal restores the rules in force and the stored rules, even if they differ.
func TestReversal(t *testing.T) {
	for _, test := range []struct {
		name, before string
		resources    []Firewall
	}{
		{"added", "", []Firewall{{Name: "x", Port: "80"}}},
		{"changed twice", `"name":"x","port":"80"`, []Firewall{{Name: "x", Port: "81", Action: drop}, {Name: "x", Ensure: absent}}},
		{"removed", `"name":"x","port":"80","source":["192.0.2.1","2001:db8::/32"]`, []Firewall{{Name: "x", Ensure: absent}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := modtest.Root(t)
			modtest.Build(t, root, tree(t, closed))
			apply(t, root, `"name":"other","port":"22"`)
			if test.before != "" {
				apply(t, root, test.before)
			}
			var all []modules.Reverser
			for _, f := range test.resources {
				all = append(all, modtest.In(root, &f))
			}
			modtest.Undone(t, root, all...)
		})
	}
}

// TestWarnings uses rules of others that decide before the jump of the type, or elsewhere.
func TestWarnings(t *testing.T) {
	rule := func(expr string) string { return `{"expr":[` + expr + `],"handle":1}` }
	match := func(left, right string) string {
		return `{"match":{"left":` + left + `,"op":"==","right":` + right + `}}`
	}
	tcpPort := `{"payload":{"field":"dport","protocol":"tcp"}}`
	of := func(table, chain, hook string, rules ...string) string {
		return `{"family":"inet","table":"` + table + `","name":"` + chain + `",` + hook + `"rules":[` + strings.Join(rules, ",") + `]}`
	}
	const input = `"type":"filter","hook":"input","prio":0,"policy":"accept",`
	const warning = "packets that this rule accepts may still be dropped by "
	for _, test := range []struct{ name, chains, want string }{
		{"none", of("x", "input", input, rule(match(tcpPort, "443")+`,{"accept":null}`)), ""},
		{"its port", of("x", "input", input, rule(match(tcpPort, `{"set":[80,{"range":[400,500]}]}`)+`,{"drop":null}`)), warning + "a rule of the chain inet x input"},
		{"another port", of("x", "input", input, rule(match(tcpPort, "22")+`,{"drop":null}`)), ""},
		{"another protocol", of("x", "input", input, rule(match(`{"meta":{"key":"l4proto"}}`, "17")+`,{"drop":null}`)), ""},
		{"invalid packets", of("x", "input", input, rule(match(`{"ct":{"key":"state"}}`, `"invalid"`)+`,{"drop":null}`)), ""},
		{"some addresses", of("f2b", "in", input, rule(match(`{"payload":{"field":"saddr","protocol":"ip"}}`, `"@banned"`)+`,{"reject":null}`)), warning + "a rule of the chain inet f2b in"},
		{"behind a jump", of("x", "input", input, rule(`{"jump":{"target":"deep"}}`)) + "," + of("x", "deep", "", rule(`{"limit":{}},{"drop":null}`)), warning + "a rule of the chain inet x deep"},
		{"accepted before", of("x", "input", input, rule(`{"accept":null}`), rule(`{"drop":null}`)), ""},
		{"before routing", of("x", "pre", `"type":"filter","hook":"prerouting","prio":0,"policy":"drop",`), warning + "the chain inet x pre, which drops packets that none of its rules accepts"},
		{"behind the jump", of("x", "input", strings.Replace(input, `"accept"`, `"drop"`, 1), rule(`{"counter":null},{"drop":null}`)), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := modtest.Root(t)
			modtest.Build(t, root, tree(t, `{"chains":[`+test.chains+`]}`))
			h := modtest.RootedHost(root, modules.ReadOnly(modtest.Host()))
			said := &notes{Reporter: h.Report}
			h.Report = said
			_, err := (&Firewall{Name: "https", Service: "https"}).Check(t.Context(), h)
			require.NoError(t, err)
			require.Equal(t, test.want, strings.Join(said.all, "\n"))
		})
	}
}

// notes collects the messages of a resource.
type notes struct {
	modules.Reporter
	all []string
}

func (n *notes) Message(_, text string) { n.all = append(n.all, text) }

func TestValidate(t *testing.T) {
	modtest.Validates(t, []modtest.Verdict[Firewall]{
		{Of: Firewall{Name: "x", Port: "80,443, 8000-8100", Protocol: both, Source: []string{"192.0.2.7", "2001:db8::/32"}, Interface: "eth0.7"}},
		{Of: Firewall{Name: `a"b`, Port: "1"}, Err: `name: "a\"b" is not a valid rule name: use at most 100 bytes, without quotes, backslashes and control characters`},
		{Of: Firewall{Name: "x", Port: "0"}, Err: `port: "0" is not a port (write ports from 1 to 65535, such as 443, "80,443" or 8000-8100)`},
		{Of: Firewall{Name: "x", Port: "9-8"}, Err: `port: "9-8" is not a port (write ports from 1 to 65535, such as 443, "80,443" or 8000-8100)`},
		{Of: Firewall{Name: "x", Port: "1", Source: []string{"192.0.2.7/24"}}, Err: `source[0]: "192.0.2.7/24" has bits set after its prefix: the network is 192.0.2.0/24 (write an address or a network, such as 192.0.2.7, 192.0.2.0/24 or 2001:db8::/32)`},
		{Of: Firewall{Name: "x", Port: "1", Source: []string{"office"}}, Err: `source[0]: "office" is neither an address nor a network (write an address or a network, such as 192.0.2.7, 192.0.2.0/24 or 2001:db8::/32)`},
		{Of: Firewall{Name: "x", Port: "1", Interface: "eth0; drop"}, Err: `interface: "eth0; drop" is not a valid interface name`},
		{Of: Firewall{Name: "x", Service: "gopher"}, Err: `service: no ports are known of a service "gopher" (write its "port" and "protocol")`},
		{Of: Firewall{Name: "x", Service: "ssh", Port: "22"}, Err: "service: 'port' and 'service' are mutually exclusive"},
		{Of: Firewall{Name: "x", Protocol: udp, Interface: "eth0"}, Err: "protocol: 'protocol' needs 'port'"},
		{Of: Firewall{Name: "x"}, Err: `port: the rule does not select any packets (write "port", "service", "source" or "interface")`},
	})
}

func TestDescribe(t *testing.T) {
	root := modtest.Root(t)
	modtest.Build(t, root, tree(t, closed))
	apply(t, root, `"name":"https","service":"https"`)
	const line = `["tcp dport 443 accept comment \"https\""]`
	modtest.Describes(t, modtest.RootedHost(root, modtest.Host()), &Firewall{Name: "https"}, `{"ensure":"present","in_force":`+line+`,"kept":`+line+`,"gates":["inet filter input"]}`)
}

// FuzzRule checks that a written rule is read back.
func FuzzRule(f *testing.F) {
	for _, text := range []string{
		`tcp dport 443 accept comment "https"`,
		`iifname "eth0" ip saddr 192.0.2.0/24 udp dport { 53, 8000-8100 } reject comment "a: b"`,
		`ip6 saddr 2001:db8::1 drop comment "them"`,
	} {
		r, ok := parseRule(text)
		require.True(f, ok, text)
		require.Equal(f, text, r.String())
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, ok := parseRule(text)
		if !ok {
			return
		}
		again, ok := parseRule(r.String())
		require.True(t, ok, "%q is written as %q", text, r)
		require.Equal(t, r, again)
	})
}
