package reach

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/sshconfig"
)

// sshConfig reads a text as the user's file, and returns its path, which its warnings contain.
func sshConfig(t *testing.T, text string) (config *sshconfig.Config, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ssh_config")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	config, err := sshconfig.Load(sshconfig.Environment{LocalUser: "me", Home: "/home/me"}, sshconfig.File{Path: path, User: true, Named: true})
	require.NoError(t, err)
	return config, path
}

func parseInventory(t *testing.T, text string) *inventory.Inventory {
	t.Helper()
	inv, err := inventory.Parse("hosts.yaml", []byte(text))
	require.NoError(t, err)
	return inv
}

const everything = `Host web1
  HostName web1.example.com
  Port 2201
  User config
  IdentityFile ~/.ssh/id
  CertificateFile /cert
  IdentitiesOnly yes
  IdentityAgent /agent
  UserKnownHostsFile ~/known /known2
  GlobalKnownHostsFile /global
  RevokedHostKeys /revoked
  StrictHostKeyChecking accept-new
  HostKeyAlias Web
  HashKnownHosts yes
  ConnectTimeout 1m
  ConnectionAttempts 4
  ServerAliveInterval 20
  ServerAliveCountMax 5
  AddressFamily inet6
  BindAddress ::1
  Ciphers aes256-ctr
  KexAlgorithms ^ecdh-sha2-nistp521
  MACs -*etm*,hmac-sha1
  HostKeyAlgorithms ssh-ed25519,ssh-rsa
  PubkeyAcceptedAlgorithms ssh-ed25519*
  PreferredAuthentications password,gssapi-with-mic,publickey
  ProxyCommand nc %h %p
Host gate
  User jumper
  ProxyJump outer:2200
Host outer
  ProxyCommand nc %h
`

func TestTargetOfSSHConfig(t *testing.T) {
	config, path := sshConfig(t, everything)
	inv := parseInventory(t, `
all:
  hosts:
    web1:
    web2: {connect: {address: web1, port: 22, user: inv, private_key: /inv, known_hosts: /invknown}, ansible_timeout: 9, ansible_host_key_checking: true}
    web3: {connect: {address: web1}, ansible_ssh_common_args: "-o Ciphers=aes128-ctr -o HostKeyAlias=other -o ProxyJump=u@gate:1,two"}
    web4: {connect: {address: web1, jump: none}}
`)
	kex := slices.Concat([]string{"ecdh-sha2-nistp521"}, slices.DeleteFunc(slices.Clone(algorithmLists(&transport.Algorithms{})[0].defaults),
		func(name string) bool { return name == "ecdh-sha2-nistp521" }))
	web1 := transport.Target{
		Host: "web1", Address: "web1.example.com", Port: 2201, User: "config",
		PrivateKeys: []string{"/home/me/.ssh/id"}, PrivateKeysOptional: true, Certificates: []string{"/cert"}, IdentitiesOnly: true, Agent: "/agent",
		KnownHosts: []string{"/home/me/known", "/known2"}, GlobalKnownHosts: []string{"/global"}, RevokedHostKeys: "/revoked",
		HostKeys: transport.AcceptNew, HostKeyAlias: "web", HashKnownHosts: true,
		Limits: transport.Limits{Dial: time.Minute, Handshake: time.Minute}, Retries: 3, Keepalive: 20 * time.Second, KeepaliveCount: 5,
		AddressFamily: "inet6", BindAddress: "::1", ProxyCommand: "nc web1.example.com 2201",
		Methods: []string{"password", "publickey"},
		Algorithms: transport.Algorithms{
			Ciphers: []string{"aes256-ctr"}, KeyExchanges: kex, MACs: []string{"hmac-sha2-256", "hmac-sha2-512"},
			HostKeys: []string{"ssh-ed25519", "ssh-rsa"}, PublicKeys: []string{"ssh-ed25519-cert-v01@openssh.com", "ssh-ed25519"},
		},
	}
	from := func(change func(*transport.Target)) transport.Target {
		t := web1
		change(&t)
		return t
	}
	me := Options{LocalUser: "me", SSH: config}
	given := Options{
		LocalUser: "me", SSH: config, User: "cli", PrivateKeys: []string{"/cli"}, KnownHosts: []string{"/cliknown"}, HostKeysGiven: true,
		Timeout: 5 * time.Second, Limits: transport.Limits{Handshake: time.Second}, RetriesGiven: true,
	}
	for _, c := range []struct {
		name, host string
		connect    Options
		want       transport.Target
	}{
		{"ssh_config", "web1", me, web1},
		{"the command line", "web1", given, from(func(t *transport.Target) {
			t.User, t.PrivateKeys, t.PrivateKeysOptional, t.KnownHosts, t.GlobalKnownHosts = "cli", []string{"/cli"}, false, []string{"/cliknown"}, nil
			t.HostKeys, t.Limits, t.Retries = transport.Strict, transport.Limits{Dial: 5 * time.Second, Handshake: time.Second, Auth: 5 * time.Second}, 0
		})},
		{"the inventory", "web2", me, from(func(t *transport.Target) {
			t.Host, t.Port, t.User, t.PrivateKeys, t.PrivateKeysOptional, t.KnownHosts, t.GlobalKnownHosts = "web2", 22, "inv", []string{"/inv"}, false, []string{"/invknown"}, nil
			t.HostKeys, t.Limits, t.ProxyCommand = transport.Strict, transport.Limits{Dial: 9 * time.Second, Handshake: 9 * time.Second}, "nc web1.example.com 22"
		})},
		{"options of the inventory, and its jump hosts", "web3", me, from(func(t *transport.Target) {
			t.Host, t.Algorithms.Ciphers, t.HostKeyAlias, t.ProxyCommand = "web3", []string{"aes128-ctr"}, "other", ""
			t.Jump = []transport.Target{
				{Host: "outer:2200", Address: "outer", Port: 2200, User: "me", ProxyCommand: "nc outer"},
				{Host: "gate:1", Address: "gate", Port: 1, User: "u"},
				{Host: "two", Address: "two", User: "me"},
			}
		})},
		{"no way round", "web4", me, from(func(t *transport.Target) { t.Host, t.ProxyCommand = "web4", "" })},
	} {
		t.Run(c.name, func(t *testing.T) {
			target, err := targetOf(c.connect, inv, c.host)
			require.NoError(t, err, path)
			require.Equal(t, c.want, target)
			require.Equal(t, c.want.User, c.connect.Login(inv.Host(c.host).Connection()))
			reached, err := c.connect.Explain(inv, inv.Host(c.host))
			require.NoError(t, err)
			require.Len(t, reached.Jump, len(c.want.Jump))
			for _, s := range reached.Settings {
				require.NotEmpty(t, s.Origin, "%s has an origin", s.Setting)
			}
		})
	}
}

func TestUserOfJumpHosts(t *testing.T) {
	config, _ := sshConfig(t, "Host a\n  ProxyJump gate\nHost gate\n  User jumper\n  IdentityFile /gate\n")
	inv := parseInventory(t, "all: {hosts: {a: , b: {connect: {jump: gate}}}}")
	c := Options{LocalUser: "me", User: "cli", SSH: config, Password: transport.NewSecret([]byte("x"))}
	gate := transport.Target{Host: "gate", Address: "gate", User: "jumper", PrivateKeys: []string{"/gate"}, PrivateKeysOptional: true}
	target, err := targetOf(c, inv, "a")
	require.NoError(t, err)
	require.Equal(t, []transport.Target{gate}, target.Jump, "-u is for the hosts, as with ssh; so is -k")
	require.Equal(t, "cli", target.User)
	require.NotNil(t, target.Password)
	gate.User = "cli"
	target, err = targetOf(c, inv, "b")
	require.NoError(t, err)
	require.Equal(t, []transport.Target{gate}, target.Jump, "for what the inventory names, -u counts")
}

func TestRefusedConnections(t *testing.T) {
	for _, c := range []struct{ name, config, inventory, want string }{
		{"a circle of jump hosts", "Host a\nProxyJump b\nHost b\nProxyJump c\nHost c\nProxyJump b\n", "all: {hosts: {a: }}",
			"$FILE:6: the jump hosts form a loop: b -> c -> b\n  hint: remove the jump host of one of these hosts: for example, write ProxyJump none for b"},
		{"a circle that begins in the inventory", "Host c\nProxyJump b\nHost b\nProxyJump c\n", "all: {hosts: {a: {connect: {jump: c}}}}",
			"$FILE:4: the jump hosts form a loop: c -> b -> c\n  hint: remove the jump host of one of these hosts: for example, write ProxyJump none for c"},
		{"no cipher", "Ciphers umac-64@openssh.com,x\n", "all: {hosts: {a: }}",
			"$FILE:1: Ciphers umac-64@openssh.com,x selects no supported algorithm\n  hint: supported are " + strings.Join(algorithmLists(&transport.Algorithms{})[1].defaults, ", ")},
		{"no way to log in", "PubkeyAuthentication no\nPreferredAuthentications publickey,hostbased\n", "all: {hosts: {a: }}",
			"$FILE:2: no login method remains\n  hint: supported: publickey, keyboard-interactive, password"},
		{"an option of the inventory", "", "all: {hosts: {a: {ansible_ssh_common_args: -o ServerAliveInterval=often}}}",
			`hosts.yaml:1:44: ServerAliveInterval: "often" is not a time such as 90 or 1m30s`},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, path := sshConfig(t, c.config)
			inv := parseInventory(t, c.inventory)
			_, err := targetOf(Options{LocalUser: "me", SSH: config}, inv, "a")
			require.EqualError(t, err, strings.ReplaceAll(c.want, "$FILE", path))
		})
	}
}

// TestOrderOfHostKeys: a list that is added to or taken from has no order.
func TestOrderOfHostKeys(t *testing.T) {
	inv := parseInventory(t, "all: {hosts: {a: }}")
	for spec, want := range map[string]bool{"+ssh-rsa": true, "-ssh-rsa": true, "^ssh-ed25519": false, "ssh-ed25519": false} {
		config, _ := sshConfig(t, "HostKeyAlgorithms "+spec+"\n")
		target, err := targetOf(Options{SSH: config}, inv, "a")
		require.NoError(t, err)
		require.Equal(t, want, target.Algorithms.HostKeysInAnyOrder, spec)
	}
}

// TestWildcardsAreSafe: a wildcard does not match algorithms that x/crypto counts as insecure, unlike a name.
func TestWildcardsAreSafe(t *testing.T) {
	for _, list := range algorithmLists(&transport.Algorithms{}) {
		names, _ := list.assemble("+*")
		require.ElementsMatch(t, list.defaults, names, list.option)
		for _, weak := range list.weak {
			names, unknown := list.assemble("+" + weak)
			require.Contains(t, names, weak)
			require.Empty(t, unknown)
		}
	}
}
