package sshconfig

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// load reads a text as the user's file.
func load(t testing.TB, env Environment, text string) (c *Config, dir string) {
	t.Helper()
	dir = write(t, map[string]string{"config": text})
	c, err := Load(env, File{Path: filepath.Join(dir, "config"), User: true, Named: true})
	require.NoError(t, err)
	return c, dir
}

func TestTokens(t *testing.T) {
	c, dir := load(t, environment("/home/me"), `
Host web1
  HostName %h.example.com
  Port 2201
  User bob
  HostKeyAlias Alias
  IdentityFile ~/k/%C
  IdentityFile %d/%h/%i/%k/%L/%l/%n/%p/%r/%u/%%
  CertificateFile ${SITE}-%r
  IdentityAgent %d/agent-${SITE}
  UserKnownHostsFile ~/known %d/b
  RevokedHostKeys ~/revoked-%h
  ProxyCommand nc -x %n %h %p %r 100%% $HOME
Host web2
  ProxyJump %r@gate-%h:22,two
  IdentityAgent $SITE
Host web3
  IdentityAgent SSH_AUTH_SOCK
  IdentityFile none
Host web4
  IdentityAgent None
`)
	get := func(host string, o Option) string {
		s, err := c.Resolve(Query{Host: host})
		require.NoError(t, err)
		return strings.Join(s.Values(o), " | ")
	}
	// sha1 of desk.example.com web1.example.com 2201 bob, without the blanks
	require.Equal(t, "/home/me/k/bc1f7ed7ade72ad78f5f0e165fcbf7cab7f30025 | /home/me/web1.example.com/1000/alias/desk/desk.example.com/web1/2201/bob/me/%", get("web1", IdentityFile))
	require.Equal(t, "north-bob", get("web1", CertificateFile))
	require.Equal(t, "/home/me/agent-north", get("web1", IdentityAgent))
	require.Equal(t, "/home/me/known | /home/me/b", get("web1", UserKnownHostsFile))
	require.Equal(t, "/home/me/revoked-web1.example.com", get("web1", RevokedHostKeys))
	require.Equal(t, "nc -x web1 web1.example.com 2201 bob 100% $HOME", get("web1", ProxyCommand))
	require.Equal(t, "me@gate-web2:22 | two", get("web2", ProxyJump))
	require.Equal(t, "north", get("web2", IdentityAgent))
	require.Equal(t, "SSH_AUTH_SOCK", get("web3", IdentityAgent))
	require.Equal(t, "none", get("web4", IdentityAgent))
	s, err := c.Resolve(Query{Host: "web2"})
	require.NoError(t, err)
	require.Equal(t, []Hop{{"me", "gate-web2", 22}, {"", "two", 0}}, s.Hops())
	require.Equal(t, dir+"/config:15", s.Origin(ProxyJump))
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name, text string
		query      Query
		want       string
	}{
		{"a token that cannot stand here", "HostName %n\n", Query{Host: "a"}, `$DIR/config:1: HostName: "%n" has the token %n, which is not allowed here`},
		{"a token that there is not", "IdentityFile %z\n", Query{Host: "a"}, `$DIR/config:1: IdentityFile: "%z" has the token %z, which is not allowed here`},
		{"a percent sign alone", "IdentityFile x%\n", Query{Host: "a"}, `$DIR/config:1: IdentityFile: "x%" ends with %`},
		{"a variable that is not set", "CertificateFile ${NOT_SET}\n", Query{Host: "a"}, `$DIR/config:1: CertificateFile: ${NOT_SET} is not set`},
		{"a variable without end", "IdentityFile ${SITE\n", Query{Host: "a"}, `$DIR/config:1: IdentityFile: "${SITE": ${ is not closed, or has no name`},
		{"an agent's variable that is not set", "IdentityAgent $NOT_SET\n", Query{Host: "a"}, `$DIR/config:1: IdentityAgent: $NOT_SET is not set`},
		{"a command in a host", "ProxyCommand nc %h\n", Query{Host: "a`id`"}, `$DIR/config:1: ProxyCommand: %h is "a` + "`id`" + `", which a shell could read as more than a word`},
		{"a command in a user", "ProxyCommand nc %r\n", Query{Host: "a", User: "x;id"}, `$DIR/config:1: ProxyCommand: %r is "x;id", which a shell could read as more than a word`},
		{"an option as a host", "ProxyCommand nc %h\n", Query{Host: "-oProxyCommand=id"}, `$DIR/config:1: ProxyCommand: %h is "-oproxycommand=id", which a shell could read as more than a word`},
		{"a command in a HostName", "HostName $(id)\nProxyCommand nc %h\n", Query{Host: "a"}, `$DIR/config:2: ProxyCommand: %h is "$(id)", which a shell could read as more than a word`},
		{"a blank in a host", "ProxyCommand nc %n\n", Query{Host: "a b"}, `$DIR/config:1: ProxyCommand: %n is "a b", which a shell could read as more than a word`},
		{"unknown options", "Colour red\nHost b\nTint blue\n", Query{Host: "a"}, `$DIR/config:1: unknown option "colour"
  hint: to ignore this option, write above it: IgnoreUnknown colour
$DIR/config:3: unknown option "tint"
  hint: to ignore this option, write above it: IgnoreUnknown tint`},
		{"a command from elsewhere", "", Query{Host: "a", Given: []Given{{"proxycommand", "nc", "hosts.yaml:1:2"}}}, `hosts.yaml:1:2: proxycommand: a command counts in the user's own ssh_config only`},
		{"a file from elsewhere", "", Query{Host: "a", Given: []Given{{"Include", "x", "hosts.yaml:1:2"}}}, `hosts.yaml:1:2: Include: it is allowed only in a file`},
		{"an unknown option from elsewhere", "", Query{Host: "a", Given: []Given{{"Colour", "x", "hosts.yaml:1:2"}}}, `hosts.yaml:1:2: unknown option "Colour"`},
		{"a bad option from elsewhere", "", Query{Host: "a", Given: []Given{{"Port", "x", "hosts.yaml:1:2"}}}, `hosts.yaml:1:2: Port: "x" is not a port`},
		{"too many keys", strings.Repeat("IdentityFile ~/a%h\n", 2) + manyKeys(), Query{Host: "a"}, `$DIR/config:102: IdentityFile: more than 100 files`},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, dir := load(t, environment("/home/me"), c.text)
			_, err := config.Resolve(c.query)
			requireErrors(t, dir, c.want, err)
		})
	}
}

func manyKeys() string {
	var b strings.Builder
	for i := range 110 {
		fmt.Fprintf(&b, "IdentityFile k%d\n", i)
	}
	return b.String()
}

func TestMatchExec(t *testing.T) {
	const text = `Match host web1 exec "test %n = %h -a %r = me"
  Port 1001
Match !exec "false # %p"
  User somebody
Match host other exec nothing
  User never
`
	env := environment("/home/me")
	c, dir := load(t, env, text)
	s, err := c.Resolve(Query{Host: "web1"})
	require.NoError(t, err)
	require.Equal(t, "", s.Text(Port)+s.Text(User))
	require.Equal(t, []string{
		"$DIR/config:1: Match exec is not allowed to run its command, so the lines after it are ignored",
		"$DIR/config:3: Match exec is not allowed to run its command, so the lines after it are ignored",
	}, strings.Split(strings.ReplaceAll(strings.Join(s.Warnings(), "\n"), dir, "$DIR"), "\n"))

	var ran []string
	env.Exec = func(command string) (bool, error) {
		ran = append(ran, command)
		return strings.HasPrefix(command, "test"), nil
	}
	c, _ = load(t, env, text)
	for range 3 {
		s, err = c.Resolve(Query{Host: "web1"})
		require.NoError(t, err)
	}
	require.Equal(t, "1001 somebody", s.Text(Port)+" "+s.Text(User))
	require.Equal(t, []string{"test web1 = web1 -a me = me", "false # 1001"}, ran, "each command once")
	require.Empty(t, s.Warnings())

	_, err = c.Resolve(Query{Host: "web1", User: "x|y"})
	require.ErrorContains(t, err, `config:1: Match exec: %r is "x|y", which a shell could read as more than a word`)

	env.Exec = func(string) (bool, error) { return false, errors.New("it took too long") }
	c, dir = load(t, env, text)
	_, err = c.Resolve(Query{Host: "web1"})
	requireErrors(t, dir, "$DIR/config:1: Match exec: it took too long", err)
}

func TestWarnings(t *testing.T) {
	const text = `PKCS11Provider /lib/x
GSSAPIAuthentication yes
VerifyHostKeyDNS no
KnownHostsCommand none
CanonicalDomains example.com
ForwardAgent yes
Host other
  BindInterface eth0
`
	dir := write(t, map[string]string{"config": text, "ssh_config": text + "Host *\nProxyCommand nc %h\n"})
	texts := func(f File) []string {
		c, err := Load(environment(dir), f)
		require.NoError(t, err)
		s, err := c.Resolve(Query{Host: "web1"})
		require.NoError(t, err)
		require.Nil(t, s.Setting(ProxyCommand))
		return strings.Split(strings.ReplaceAll(strings.Join(s.Warnings(), "\n"), dir, "$DIR"), "\n")
	}
	require.Equal(t, []string{
		"$DIR/config:1: pkcs11provider has no effect here",
		"$DIR/config:2: gssapiauthentication has no effect here",
		"$DIR/config:5: canonicaldomains has no effect here",
	}, texts(File{Path: dir + "/config", User: true}))
	require.Equal(t, []string{
		"$DIR/ssh_config:1: pkcs11provider has no effect here",
		"$DIR/ssh_config:5: canonicaldomains has no effect here",
		"$DIR/ssh_config:10: ProxyCommand has no effect: only the user's own ssh_config may give one",
	}, texts(File{Path: dir + "/ssh_config"}))
}

// TestMatchNewerCriteria has what OpenSSH 9.2 does not know (ssh_config(5) of 9.4).
func TestMatchNewerCriteria(t *testing.T) {
	c, _ := load(t, environment("/home/me"), `Host web1
  Tag blue
Match tagged blue,green
  Port 1001
Match tagged red
  Port 1002
Match localnetwork 192.0.2.0/24,!198.51.100.1
  User there
Match !localnetwork 192.0.2.0/24
  User elsewhere
`)
	c.once.Do(func() {})
	for _, r := range []struct{ host, address, want string }{
		{"web1", "192.0.2.7", "1001 there"}, {"web2", "192.0.2.7", " there"}, {"web2", "198.51.100.1", " elsewhere"},
	} {
		c.local = []netip.Addr{netip.MustParseAddr(r.address)}
		s, err := c.Resolve(Query{Host: r.host})
		require.NoError(t, err)
		require.Equal(t, r.want, s.Text(Port)+" "+s.Text(User))
	}
}

// TestIndex finds the same with and without the index of names.
func TestIndex(t *testing.T) {
	const text = `Host a b
  Port 1001
Host *
  IdentityFile ~/%n
Host b !c
  User b
Host c* d
  User c
Host d
  Include $DIR/inner
  ServerAliveCountMax 4
Host c
  HostKeyAlias c
Match final host d
  Port 1004
`
	dir := write(t, map[string]string{"config": text, "inner": "Host d\n Port 1003\nHost *\n HashKnownHosts yes\n"})
	indexed, err := Load(environment(dir), File{Path: dir + "/config", User: true})
	require.NoError(t, err)
	plain, err := Load(environment(dir), File{Path: dir + "/config", User: true})
	require.NoError(t, err)
	plain.named, plain.others = nil, nil
	for i := range plain.segments {
		plain.others = append(plain.others, i)
	}
	require.NotEmpty(t, indexed.named["b"])
	for _, host := range []string{"a", "b", "c", "d", "e", "cc", "!c", ""} {
		want, wantErr := plain.Resolve(Query{Host: host})
		got, err := indexed.Resolve(Query{Host: host})
		require.Equal(t, wantErr, err)
		require.Equal(t, want, got, host)
	}
}

func TestAssemble(t *testing.T) {
	defaults, all := []string{"a1", "a2", "b1"}, []string{"a1", "a2", "b1", "c1", "c2"}
	for _, c := range []struct {
		list           string
		names, unknown []string
	}{
		{"a2,c1", []string{"a2", "c1"}, nil},
		{"+c1,a1,x", []string{"a1", "a2", "b1", "c1"}, []string{"x"}},
		{"-a*,x", []string{"b1"}, nil},
		{"^c2,b1", []string{"c2", "b1", "a1", "a2"}, nil},
		{"c?,*1", []string{"c1", "c2", "a1", "b1"}, nil},
		{"x,y", nil, []string{"x", "y"}},
		{"-*", nil, nil},
		{"+z*", []string{"a1", "a2", "b1"}, nil},
	} {
		names, unknown := Assemble(c.list, defaults, all)
		require.Equal(t, c.names, names, c.list)
		require.Equal(t, c.unknown, unknown, c.list)
	}
}

func TestMatchPattern(t *testing.T) {
	for _, c := range []struct {
		s, pattern string
		want       bool
	}{
		{"", "", true}, {"", "*", true}, {"", "?", false}, {"abc", "a*c", true}, {"abc", "a*b", false}, {"abc", "*", true},
		{"abc", "???", true}, {"abc", "????", false}, {"abc", "a*b*c*", true}, {"abcbc", "a*bc", true}, {"a", "a**", true},
		{strings.Repeat("a", 5000), strings.Repeat("a*", 2000) + "b", false},
	} {
		require.Equal(t, c.want, matchPattern(c.s, c.pattern), "%.20q %.20q", c.s, c.pattern)
	}
}
