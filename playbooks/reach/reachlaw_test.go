package reach

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/transport"
)

// dialled rebuilds the target that an explanation describes, word by word. Settings that it does not mention are
// defaults.
func dialled(t *testing.T, r Reached) transport.Target {
	t.Helper()
	target := transport.Target{Host: r.Host}
	for _, s := range r.Settings {
		text := s.Values[0]
		duration := func() time.Duration {
			d, err := time.ParseDuration(text)
			require.NoError(t, err)
			return d
		}
		number := func() int {
			n, err := strconv.Atoi(text)
			require.NoError(t, err)
			return n
		}
		switch s.Setting {
		case "address":
			target.Address = text
		case "port":
			target.Port = number()
		case "user":
			target.User = text
		case "connection":
			target.Local = text == "local"
		case "private_key":
			if s.Origin != "default" {
				target.PrivateKeys = append(target.PrivateKeys, s.Values...)
				target.PrivateKeysOptional = strings.Contains(s.Origin, "ssh_config")
			}
		case "certificate":
			target.Certificates = append(target.Certificates, s.Values...)
		case "identities_only":
			target.IdentitiesOnly = text == "yes"
		case "agent":
			if text != "SSH_AUTH_SOCK" { // which is the default
				target.Agent = text
			}
		case "known_hosts":
			if s.Origin != "default" {
				target.KnownHosts = append(target.KnownHosts, s.Values...)
			}
		case "global_known_hosts":
			switch {
			case text == "none":
				target.GlobalKnownHosts = []string{}
			case s.Origin != "default" || target.KnownHosts != nil:
				target.GlobalKnownHosts = append(target.GlobalKnownHosts, s.Values...)
			}
		case "host_key_checking":
			if text == "accept-new" {
				target.HostKeys = transport.AcceptNew
			}
		case "host_key_alias":
			target.HostKeyAlias = text
		case "hash_known_hosts":
			target.HashKnownHosts = text == "yes"
		case "revoked_host_keys":
			target.RevokedHostKeys = text
		case "dial_timeout":
			target.Limits.Dial = duration()
		case "handshake_timeout":
			target.Limits.Handshake = duration()
		case "auth_timeout":
			target.Limits.Auth = duration()
		case "keepalive":
			target.Keepalive = duration()
		case "keepalive_count":
			target.KeepaliveCount = number()
		case "connection_attempts":
			target.Retries = max(1, number()) - 1
			if target.Retries == 0 {
				target.Retries = -1
			}
		case "address_family":
			if text != "any" {
				target.AddressFamily = text
			}
		case "bind_address":
			target.BindAddress = text
		case "proxy_command":
			target.ProxyCommand = text
		case "ciphers":
			target.Algorithms.Ciphers = s.Values
		case "methods":
			target.Methods = s.Values
		case "password":
			target.Password = someSecret
			require.Equal(t, fmt.Sprint(someSecret), text)
		case "jump", "become", "become_user", "become_method":
		default:
			t.Fatalf("what is the setting %s?", s.Setting)
		}
	}
	for _, hop := range r.Jump {
		target.Jump = append(target.Jump, dialled(t, hop))
	}
	return target
}

var someSecret = transport.NewSecret([]byte("any"))

// spelledOut returns a target without the parts that an explanation withholds, and with the defaults that it prints.
func spelledOut(t transport.Target) transport.Target {
	if t.Password != nil {
		t.Password = someSecret
	}
	if t.Port == 0 && !t.Local {
		t.Port = 22
	}
	jump := t.Jump
	t.Jump = nil
	for _, hop := range jump {
		t.Jump = append(t.Jump, spelledOut(hop))
	}
	if t.Local { // without a login
		t.Address, t.User = "", ""
	}
	return t
}

// a layered world has random settings in each layer for a host and for the jump host gate, and the expected result.
type layered struct {
	*rand.Rand
	connect Options
	host    [2][]string // inventory settings of web1 and gate
	config  [2][]string // what ssh_config says
}

func (l *layered) often() bool { return l.IntN(3) == 0 }

var sshWords = []string{
	"HostName %h.example.com", "Port 2201", "Port 22", "User config", "IdentityFile ~/.ssh/id", "IdentityFile /two", "CertificateFile /cert",
	"IdentitiesOnly yes", "IdentitiesOnly no", "IdentityAgent /agent", "IdentityAgent none", "IdentityAgent SSH_AUTH_SOCK",
	"UserKnownHostsFile ~/k1 ~/k2", "UserKnownHostsFile /dev/null", "UserKnownHostsFile none", "UserKnownHostsFile /dev//null",
	"GlobalKnownHostsFile /g1 /g2", "GlobalKnownHostsFile none", "RevokedHostKeys /revoked", "RevokedHostKeys none",
	"StrictHostKeyChecking no", "StrictHostKeyChecking accept-new", "StrictHostKeyChecking ask", "StrictHostKeyChecking yes",
	"HostKeyAlias Web", "HashKnownHosts yes", "HashKnownHosts no", "ConnectTimeout 60", "ConnectTimeout 0", "ConnectionAttempts 4",
	"ConnectionAttempts 1", "ConnectionAttempts 0", "ServerAliveInterval 20", "ServerAliveInterval 0", "ServerAliveCountMax 5", "ServerAliveCountMax 0",
	"AddressFamily inet", "AddressFamily any", "BindAddress ::1", "Ciphers aes256-ctr", "Ciphers +aes128-ctr", "KbdInteractiveAuthentication no",
	"PreferredAuthentications password", "ProxyCommand nc %h %p", "ProxyCommand none", "ProxyJump none",
}

var inventoryWords = []string{
	"address: 10.0.0.9", "port: 2222", "port: 22", "user: inv", "private_key: /inv", "known_hosts: /invknown", "password: secret", "become: true",
}

func newLayered(seed uint64) *layered {
	l := &layered{Rand: rand.New(rand.NewPCG(seed, 1))}
	for n := range l.config {
		for _, word := range sshWords {
			if l.IntN(8) == 0 {
				l.config[n] = append(l.config[n], word)
			}
		}
		for i, word := range inventoryWords {
			if l.often() && !(i == 2 && strings.Contains(strings.Join(l.host[n], " "), "port")) {
				l.host[n] = append(l.host[n], word)
			}
		}
	}
	c := &l.connect
	c.LocalUser = "me"
	if l.often() {
		c.User = "cli"
	}
	if l.often() {
		c.PrivateKeys = []string{"/cli"}
	}
	if l.often() {
		c.KnownHosts = []string{"/cliknown"}
	}
	if l.often() {
		c.HostKeysGiven, c.HostKeys = true, transport.HostKeyPolicy(l.IntN(2))
	}
	if l.often() {
		c.Timeout = 5 * time.Second
	}
	if l.often() {
		c.Limits.Handshake = 7 * time.Second
	}
	c.RetriesGiven = l.often()
	if l.often() {
		c.Password = transport.NewSecret([]byte("cli"))
	}
	return l
}

// inventory returns an inventory with web1, which uses gate if the inventory or ssh_config sets that.
func (l *layered) inventory(way string) string {
	web1 := l.host[0]
	if way == "inventory" {
		web1 = append(web1, "jump: gate")
	}
	return fmt.Sprintf("all:\n  hosts:\n    web1: {connect: {%s}}\n    gate: {connect: {%s}}\n", strings.Join(web1, ", "), strings.ReplaceAll(strings.Join(l.host[1], ", "), "10.0.0.9", "10.0.0.8"))
}

func (l *layered) sshConfig(way string) string {
	web1, gate := l.config[0], l.config[1]
	if way == "ssh_config" {
		web1 = append([]string{"ProxyJump gate"}, web1...)
	}
	address := func(host []string, name string) string {
		if strings.Contains(strings.Join(host, " "), "address") {
			return "10.0.0.9 " + name
		}
		return name
	}
	return fmt.Sprintf("Host gate 10.0.0.8\n  %s\nHost %s !gate\n  %s\n", strings.Join(gate, "\n  "), address(l.host[0], "web1"), strings.Join(web1, "\n  "))
}

// TestExplanationsAreWhatIsDialled has hosts and jump hosts of which all layers say
// something at random.
func TestExplanationsAreWhatIsDialled(t *testing.T) {
	for seed := range uint64(150) {
		l := newLayered(seed)
		for _, way := range []string{"none", "inventory", "ssh_config"} {
			text, hosts := l.sshConfig(way), l.inventory(way)
			inv, err := inventory.Parse("hosts.yaml", []byte(hosts))
			require.NoError(t, err, hosts)
			l.connect.SSH, _ = sshConfig(t, text)
			about := fmt.Sprintf("seed %d, way %s\n%s\n%s\n%+v", seed, way, text, hosts, l.connect)
			for _, name := range []string{"web1", "gate"} {
				target, err := targetOf(l.connect, inv, name)
				require.NoError(t, err, about)
				reached, err := l.connect.Explain(inv, inv.Host(name))
				require.NoError(t, err, about)
				require.Equal(t, spelledOut(target), spelledOut(dialled(t, reached)), about)
			}
		}
	}
}

// precedences are settings that every layer can have, with the text of each layer.
var precedences = []struct {
	name           string
	cli            func(*Options)
	inventory, ssh string
	of             func(transport.Target) any
	want           [4]any // expected for the command line, the inventory, ssh_config, the default
}{
	{
		"user", func(c *Options) { c.User = "cli" }, "user: inv", "User config",
		func(t transport.Target) any { return t.User }, [4]any{"cli", "inv", "config", "me"},
	},
	{
		"private keys", func(c *Options) { c.PrivateKeys = []string{"/cli"} }, "private_key: /inv", "IdentityFile /config",
		func(t transport.Target) any { return strings.Join(t.PrivateKeys, " ") }, [4]any{"/cli", "/inv", "/config", ""},
	},
	{
		"known_hosts", func(c *Options) { c.KnownHosts = []string{"/cli"} }, "known_hosts: /inv", "UserKnownHostsFile /config",
		func(t transport.Target) any { return strings.Join(t.KnownHosts, " ") }, [4]any{"/cli", "/inv", "/config", ""},
	},
	{
		"host key checking, laxer", func(c *Options) { c.HostKeysGiven, c.HostKeys = true, transport.AcceptNew }, "", "StrictHostKeyChecking yes",
		func(t transport.Target) any { return t.HostKeys }, [4]any{transport.AcceptNew, nil, transport.Strict, transport.Strict},
	},
	{
		"host key checking, stricter", func(c *Options) { c.HostKeysGiven = true }, "", "StrictHostKeyChecking accept-new",
		func(t transport.Target) any { return t.HostKeys }, [4]any{transport.Strict, nil, transport.AcceptNew, transport.Strict},
	},
	{
		"timeout", func(c *Options) { c.Timeout = time.Second }, "", "ConnectTimeout 3",
		func(t transport.Target) any { return t.Limits.Dial }, [4]any{time.Second, nil, 3 * time.Second, time.Duration(0)},
	},
	{
		"deadline", func(c *Options) { c.Limits.Handshake = time.Second }, "", "ConnectTimeout 3",
		func(t transport.Target) any { return t.Limits.Handshake }, [4]any{time.Second, nil, 3 * time.Second, time.Duration(0)},
	},
	{
		"retries", func(c *Options) { c.RetriesGiven = true }, "", "ConnectionAttempts 3",
		func(t transport.Target) any { return t.Retries }, [4]any{0, nil, 2, 0}, // 0 means the Dialer's
	},
	{
		"port", nil, "port: 2", "Port 3",
		func(t transport.Target) any { return t.Port }, [4]any{nil, 2, 3, 0},
	},
}

// TestPrecedence has each setting said by every choice of layers, of a host, of a
// jump host of the inventory, and of one that ssh_config names: there the inventory
// has no say, and neither has -u.
func TestPrecedence(t *testing.T) {
	for _, p := range precedences {
		for choice := range 8 {
			cli, inventorySays, sshSays := choice&1 != 0 && p.cli != nil, choice&2 != 0 && p.inventory != "", choice&4 != 0
			said, config := "", ""
			c := Options{LocalUser: "me"}
			if cli {
				p.cli(&c)
			}
			if inventorySays {
				said = p.inventory
			}
			if sshSays {
				config = p.ssh
			}
			inv := parseInventory(t, fmt.Sprintf("all: {hosts: {gate: {connect: {%s}}, web1: {connect: {jump: gate}}, web2: }}", said))
			c.SSH, _ = sshConfig(t, "Host web2\n  ProxyJump gate\nHost gate\n  "+config+"\n")
			want := func(layers ...bool) any {
				for i, says := range layers {
					if says {
						return p.want[i]
					}
				}
				return p.want[3]
			}
			about := fmt.Sprintf("%s: command line %v, inventory %v, ssh_config %v", p.name, cli, inventorySays, sshSays)
			target := func(name string) transport.Target {
				target, err := targetOf(c, inv, name)
				require.NoError(t, err)
				return target
			}
			require.Equal(t, want(cli, inventorySays, sshSays), p.of(target("gate")), about)
			require.Equal(t, want(cli, inventorySays, sshSays), p.of(target("web1").Jump[0]), about)
			require.Equal(t, want(cli && p.name != "user", false, sshSays), p.of(target("web2").Jump[0]), about)
		}
	}
}

// TestEndlessWays has jump hosts that lead to ever new ones.
func TestEndlessWays(t *testing.T) {
	config, path := sshConfig(t, "Host *\n  ProxyJump x-%h\n")
	inv := parseInventory(t, "all: {hosts: {web1: }}")
	_, err := targetOf(Options{LocalUser: "me", SSH: config}, inv, "web1")
	require.EqualError(t, err, path+":2: jump hosts lead to ever more of them: web1 -> x-web1 -> x-x-web1 -> …\n"+
		"  hint: remove the jump host of one of these hosts: for example, write ProxyJump none for x-web1")
	config, path = sshConfig(t, "Host *\n  ProxyJump %h%h%h%h%h%h%h%h%h%h\n")
	_, err = targetOf(Options{LocalUser: "me", SSH: config}, inv, "web1")
	require.EqualError(t, err, path+":2: ProxyJump: a host name has 4000 bytes, more than 1025")
}

// TestNoKnownHosts has files without any keys in all the ways to say so.
func TestNoKnownHosts(t *testing.T) {
	inv := parseInventory(t, "all: {hosts: {web1: }}")
	for _, file := range []string{"none", "None", "/dev/null", "/dev//null", "/dev/./null"} {
		config, path := sshConfig(t, "UserKnownHostsFile "+file+"\nGlobalKnownHostsFile "+file+"\n")
		var warned []string
		target, err := targetOf(Options{LocalUser: "me", SSH: config, Warn: func(text string) { warned = append(warned, text) }}, inv, "web1")
		require.NoError(t, err)
		require.Equal(t, transport.Target{Host: "web1", Address: "web1", User: "me", GlobalKnownHosts: []string{}}, target)
		require.Equal(t, []string{path + ":1: UserKnownHostsFile " + file + " is ignored, because ccm-push always verifies host keys, here with the default known_hosts files"}, warned)
	}
}
