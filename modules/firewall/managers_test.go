package firewall

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// called is the variable with the path of the script by which the type has run this program.
const called = "FIREWALL_TEST_CALLED"

// script returns a program of the tree, by which the type runs this program.
func script(t *testing.T, name string) modtest.Node {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	return modtest.Node{Path: "bin/" + name, Mode: 0o755, Text: "#!/bin/sh\n" + called + `="$0" exec ` + program + ` "$@"` + "\n"}
}

// below is a file below the root of the test.
func below(name string) string { return filepath.Join(filepath.Dir(os.Getenv(called)), "..", name) }

// firewallCmd is the firewall-cmd of the tests: the rules in force and the stored ones are in two lists, in words of
// the type.
func firewallCmd() int {
	at, list := below("inforce"), false
	for _, arg := range os.Args[1:] {
		if arg == "--permanent" {
			at = below("etc/firewalld/zones/public.xml")
		}
		list = list || arg == "--list-all"
	}
	var rules []string
	text, err := os.ReadFile(at)
	if err == nil {
		err = json.Unmarshal(text, &rules)
	}
	if list && err == nil {
		words := map[string][]string{}
		for _, r := range rules {
			kind, value, _ := strings.Cut(r, " ")
			words[kind] = append(words[kind], value)
		}
		fmt.Printf("public\n  services: %s\n  ports: %s\n  rich rules: \n", strings.Join(words["service"], " "), strings.Join(words["port"], " "))
		for _, r := range words["rule"] {
			fmt.Printf("\trule %s\n", r)
		}
		return 0
	}
	option, value, _ := strings.Cut(os.Args[len(os.Args)-1], "=")
	verb, kind, _ := strings.Cut(strings.TrimPrefix(option, "--"), "-")
	word := kind + " " + value
	if kind == "rich-rule" {
		word = value
	}
	if verb == "add" {
		rules = append(rules, word)
	} else {
		rules = slices.DeleteFunc(rules, func(r string) bool { return r == word })
	}
	return wrote(at, rules, err)
}

func wrote(at string, what any, err error) int {
	if err == nil {
		var text []byte
		if text, err = json.Marshal(what); err == nil {
			err = os.WriteFile(at, text, 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// ufwCmd is the ufw of the tests. It stores rules as ufw does; the rules in force are a copy, in the form of iptables.
func ufwCmd() int {
	args := os.Args[1:]
	file := below("etc/ufw/user.rules")
	six := args[0] != "reload" && strings.Contains(args[slices.Index(args, "from")+1], ":")
	if six {
		file = below("etc/ufw/user6.rules")
	}
	const end = "### END RULES ###\n"
	text, err := os.ReadFile(file)
	if err != nil {
		return wrote(file, nil, err)
	}
	all := strings.TrimSuffix(string(text), end)
	switch {
	case args[0] == "reload":
	case args[0] == "delete":
		all = strings.Replace(all, ufwBlock(args[1:], six), "", 1)
	case args[0] == "prepend":
		all = ufwBlock(args[1:], six) + all
	default:
		all += ufwBlock(args, six)
	}
	if err := os.WriteFile(file, []byte(all+end), 0o640); err != nil {
		return wrote(file, nil, err)
	}
	live := ""
	for _, name := range []string{"etc/ufw/user.rules", "etc/ufw/user6.rules"} {
		text, _ := os.ReadFile(below(name))
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "-A ") {
				live += strings.Replace(line, "-p tcp", "-p tcp -m tcp", 1)
			}
		}
	}
	_ = os.WriteFile(below("live"), []byte(live), 0o644)
	return 0
}

// ufwBlock is ufw's note of a rule.
func ufwBlock(args []string, six bool) string {
	proto, port, source, iface := "any", "any", "", ""
	for i, word := range args[:len(args)-1] {
		switch word {
		case "proto":
			proto = args[i+1]
		case "port":
			port = args[i+1]
		case "from":
			source = args[i+1]
		case "on":
			iface = "_" + args[i+1]
		}
	}
	anywhere, chain := "0.0.0.0/0", "ufw-user-input"
	if six {
		anywhere, chain = "::/0", "ufw6-user-input"
	}
	line := "-A " + chain
	if port != "any" {
		line += " -p " + proto + " --dport " + port
	}
	if source != anywhere {
		line += " -s " + source
	}
	return tuple + strings.Join([]string{args[0], proto, port, anywhere, "any", source, "in" + iface}, " ") + "\n" + line + " -j " + args[0] + "\n\n"
}

func withPrograms(t *testing.T, programs []string, more ...modtest.Node) []modtest.Node {
	t.Helper()
	all := []modtest.Node{{Path: "bin", Dir: true}}
	for _, name := range programs {
		all = append(all, script(t, name))
	}
	return append(all, more...)
}

func ufwTree(t *testing.T, enabled string) []modtest.Node {
	const rules = tuple + "allow tcp 22 0.0.0.0/0 any 0.0.0.0/0 in comment=6f7572\n-A ufw-user-input -p tcp --dport 22 -j allow\n\n### END RULES ###\n"
	return withPrograms(t, []string{"ufw", "iptables", "ip6tables"},
		modtest.Node{Path: "etc", Dir: true}, modtest.Node{Path: "etc/ufw", Dir: true}, modtest.Node{Path: "etc/ufw/ufw.conf", Text: "ENABLED=" + enabled + "\n"},
		modtest.Node{Path: "etc/ufw/user.rules", Text: rules, Mode: 0o640}, modtest.Node{Path: "etc/ufw/user6.rules", Text: "### END RULES ###\n", Mode: 0o640},
		modtest.Node{Path: "live", Text: "-A ufw-user-input -p tcp -m tcp --dport 22 -j allow\n"})
}

func firewalldTree(t *testing.T, inForce, kept string) []modtest.Node {
	return append(withPrograms(t, []string{"firewall-cmd"}, running("firewalld.service")...),
		modtest.Node{Path: "inforce", Text: inForce}, modtest.Node{Path: "etc", Dir: true}, modtest.Node{Path: "etc/firewalld", Dir: true}, modtest.Node{Path: "etc/firewalld/zones", Dir: true},
		modtest.Node{Path: "etc/firewalld/zones/public.xml", Text: kept},
		modtest.Node{Path: "etc/firewalld/services", Dir: true}, modtest.Node{Path: "etc/firewalld/services/ssh.xml", Text: "<service/>"})
}

func TestManagersConverge(t *testing.T) {
	const https, both = "allow proto tcp from 0.0.0.0/0 to any port 443", "allow proto tcp from 0.0.0.0/0 to any port 443; allow proto tcp from ::/0 to any port 443"
	const rich = `rule priority="-24" family="ipv4" source address="192.0.2.0/24" port port="80" protocol="tcp" accept`
	modtest.Converges(t, modtest.Rooted(Type()), modtest.Kept("[il]*", "", []modtest.Fixture{
		{
			Name: "ufw", Tree: ufwTree(t, "yes"), Properties: with1(`"name":"https","service":"https"`), Action: "added the rule",
			Changes: []modules.Change{modtest.Change("in force", absent, both), modtest.Change("kept", absent, both)},
		},
		{
			Name: "ufw, from somewhere", Tree: ufwTree(t, "yes"), Properties: with1(`"name":"web","port":"80","source":["192.0.2.7"],"action":"drop"`), Action: "added the rule",
			Changes: []modules.Change{modtest.Change("in force", absent, "deny proto tcp from 192.0.2.7 to any port 80"), modtest.Change("kept", absent, "deny proto tcp from 192.0.2.7 to any port 80")},
		},
		{
			Name: "ufw, flushed by somebody", Stays: "live", Past: true, Tree: ufwTree(t, "yes"), Properties: with1(`"name":"ssh","port":"22","source":["0.0.0.0/0"]`), Prepare: func(t *testing.T, root string) {
				apply(t, root, `"name":"ssh","port":"22"`)
				require.NoError(t, os.WriteFile(filepath.Join(root, "live"), nil, 0o644))
			},
			Action: "added the rule", Changes: []modules.Change{modtest.Change("in force", absent, sshWords)},
		},
		{Name: "ufw, as it shall be", Tree: ufwTree(t, "yes"), Prepare: settled(`"name":"https","service":"https"`), Properties: with1(`"name":"https","service":"https"`)},
		{
			Name: "ufw, absent", Tree: ufwTree(t, "yes"), Prepare: settled(`"name":"https","service":"https"`), Properties: with1(`"name":"https","service":"https","ensure":"absent"`), Action: "removed the rule",
			Changes: []modules.Change{modtest.Change("in force", both, absent), modtest.Change("kept", both, absent)},
		},
		{
			Name: "ufw, absent by name", Tree: ufwTree(t, "yes"), Properties: with1(`"name":"https","ensure":"absent"`),
			Err: `ufw identifies a rule by its contents, not by a name: write "port", "service", "source" or "interface" of the rule to remove`,
		},
		{
			Name: "ufw, of a zone", Tree: ufwTree(t, "yes"), Properties: with1(`"name":"https","port":"443","zone":"internal"`),
			Err: "zone needs firewalld, which does not run on this host",
		},
		{
			Name: "firewalld", Tree: firewalldTree(t, `["service ssh"]`, `["service ssh","port 443/tcp"]`), Properties: with1(`"name":"https","port":"443"`), Action: "added the rule",
			Changes: []modules.Change{modtest.Change("in force", absent, "port 443/tcp")},
		},
		{
			Name: "firewalld, from somewhere", Tree: firewalldTree(t, `[]`, `[]`), Properties: with1(`"name":"web","port":"80","source":["192.0.2.0/24"]`), Action: "added the rule",
			Changes: []modules.Change{modtest.Change("in force", absent, rich), modtest.Change("kept", absent, rich)},
		},
		{
			Name: "firewalld, absent", Tree: firewalldTree(t, `["service ssh"]`, `["service ssh"]`), Properties: with1(`"name":"ssh","service":"ssh","ensure":"absent"`), Action: "removed the rule",
			Changes: []modules.Change{modtest.Change("in force", "service ssh", absent), modtest.Change("kept", "service ssh", absent)},
		},
		{
			Name: "firewalld, a service that it does not know by this name", Tree: firewalldTree(t, `["service ssh"]`, `["service ssh"]`), Properties: with1(`"name":"mail","service":"submission"`), Action: "added the rule",
			Changes: []modules.Change{modtest.Change("in force", absent, "port 587/tcp"), modtest.Change("kept", absent, "port 587/tcp")},
		},
		{
			Name: "firewalld, by an interface", Tree: firewalldTree(t, `[]`, `[]`), Properties: with1(`"name":"web","port":"80","interface":"eth0"`),
			Err: "firewalld has interfaces in zones: write zone in place of interface",
		},
	})...)
}

const sshWords = "allow proto tcp from 0.0.0.0/0 to any port 22; allow proto tcp from ::/0 to any port 22"

// TestManagersReversal brings back rules that several runs have changed.
func TestManagersReversal(t *testing.T) {
	for name, nodes := range map[string][]modtest.Node{"ufw": ufwTree(t, "yes"), "ufw that is not active": ufwTree(t, "no"), "firewalld": firewalldTree(t, `["service ssh"]`, `["service ssh","port 80/tcp"]`)} {
		t.Run(name, func(t *testing.T) {
			root := modtest.Root(t)
			modtest.Build(t, root, nodes)
			provider, _, _ := strings.Cut(name, " ")
			on := func(port string) modules.Reverser {
				return modtest.In(root, &Firewall{Name: "x", Provider: provider, Port: port})
			}
			modtest.Undone(t, root, on("80"), on("81"))
		})
	}
}
