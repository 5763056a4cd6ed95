package dial

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/knownhosts"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// TestHostKeyAlias checks that only the alias is looked up, without a port.
func TestHostKeyAlias(t *testing.T) {
	host, authority := newSigner(t, ""), newSigner(t, "ecdsa")
	hashed := xknownhosts.HashHostname("gate.example")
	for _, test := range []struct {
		name, known string
		keys        []ssh.Signer
		err         string
	}{
		{name: "alias", known: "gate.example " + publicText(host)},
		{name: "in another case", known: "GATE.example " + publicText(host)},
		{name: "hashed", known: hashed + " " + publicText(host)},
		{name: "a pattern", known: "*.example " + publicText(host)},
		{name: "certificate", known: "@cert-authority *.example " + publicText(authority), keys: []ssh.Signer{certificate(t, host, authority, "Gate.Example")}},
		{name: "with a port", known: "[gate.example]:PORT " + publicText(host),
			err: "web1: host key 127.0.0.1:PORT: the host key is unknown: ssh-ed25519 FINGER"},
		{name: "the address", known: "[127.0.0.1]:PORT " + publicText(host),
			err: "web1: host key 127.0.0.1:PORT: the host key is unknown: ssh-ed25519 FINGER"},
		{name: "certificate for the address", known: "@cert-authority *.example " + publicText(authority), keys: []ssh.Signer{certificate(t, host, authority, "127.0.0.1")},
			err: `web1: host key 127.0.0.1:PORT: the host key is unknown: ssh-ed25519 FINGER: its certificate is for ["127.0.0.1"], not for "Gate.Example"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.keys == nil {
				test.keys = []ssh.Signer{host}
			}
			srv := sshtest.Start(t, sshtest.HostKeys(test.keys...))
			target := targetOf(srv)
			target.HostKeyAlias = "Gate.Example"
			target.KnownHosts = []string{writeFile(t, strings.ReplaceAll(test.known, "PORT", fmt.Sprint(srv.Port)))}
			err := dialOnce(t, &Dialer{}, target)
			got, _, _ := strings.Cut(masked(err, ssh.FingerprintSHA256(host.PublicKey()), "FINGER", fmt.Sprint(":", srv.Port), ":PORT"), "\n")
			require.Equal(t, test.err, got)
		})
	}
}

func TestRevokedHostKeysFile(t *testing.T) {
	host, other := newSigner(t, ""), newSigner(t, "rsa")
	srv := sshtest.Start(t, sshtest.HostKeys(host))
	for _, test := range []struct{ name, text, err string }{
		{"others", "# old ones\n\n" + publicText(other) + " root@old\n", ""},
		{"its key", publicText(other) + "\n" + publicText(host) + "\n", "web1: host key ADDR: the host key is revoked: ssh-ed25519 FINGER in FILE:2"},
		{"a key revocation list", "SSHKRL\n\x00\x00\x00", "web1: host key ADDR: revoked host keys FILE: it is a binary key revocation list (KRL), which is not read\n" +
			"  hint: list the public keys, one a line, as ssh_config(5) also allows"},
		{"a line that is no key", publicText(other) + "\nssh-ed25519 AAAA\n", "web1: host key ADDR: revoked host keys FILE: line 2 is not a public key\n  hint: write a public key as in a .pub file"},
		{"known_hosts", "web1 " + publicText(other) + "\n", "web1: host key ADDR: revoked host keys FILE: line 1 is not a public key\n  hint: write a public key as in a .pub file"},
		{"missing", "", "web1: host key ADDR: revoked host keys FILE: no such file or directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			target := targetOf(srv)
			target.RevokedHostKeys = writeFile(t, test.text)
			if test.text == "" {
				require.NoError(t, os.Remove(target.RevokedHostKeys))
			}
			d := &Dialer{}
			err := dialOnce(t, d, target)
			require.Equal(t, test.err, masked(err, target.RevokedHostKeys, "FILE", srv.Addr, "ADDR", ssh.FingerprintSHA256(host.PublicKey()), "FINGER"))
			if strings.Contains(test.err, "revoked host keys FILE") {
				found := d.CheckFiles(target)
				require.Len(t, found, 1)
				require.Equal(t, "revoked_host_keys", found[0].Setting)
			}
		})
	}
}

// TestGlobalKnownHosts is read and never written.
func TestGlobalKnownHosts(t *testing.T) {
	srv := sshtest.Start(t)
	target := targetOf(srv)
	target.GlobalKnownHosts = target.KnownHosts
	target.KnownHosts = []string{filepath.Join(t.TempDir(), "own")}
	require.NoError(t, dialOnce(t, &Dialer{}, target))

	target.GlobalKnownHosts = []string{writeFile(t, "# global\n")}
	target.HostKeys, target.HashKnownHosts = transport.AcceptNew, true
	require.NoError(t, dialOnce(t, &Dialer{}, target))
	text, err := os.ReadFile(target.GlobalKnownHosts[0])
	require.NoError(t, err)
	require.Equal(t, "# global\n", string(text))
	text, err = os.ReadFile(target.KnownHosts[0])
	require.NoError(t, err)
	require.Regexp(t, `^\|1\|[^ ]+ ssh-ed25519 [^ ]+\n$`, string(text), "the name is hidden")
	target.HostKeys = transport.Strict
	require.NoError(t, dialOnce(t, &Dialer{}, target))

	target.KnownHosts, target.HostKeys, target.GlobalKnownHosts = nil, transport.AcceptNew, []string{writeFile(t, "")}
	err = dialOnce(t, &Dialer{}, target)
	require.Regexp(t, "the host key is unknown: ssh-ed25519 SHA256:[^ ]+, and no known_hosts file to add it to\n  hint: name a known_hosts file of your own, to which the key can be added$", err.Error())
}

// TestKnownNames checks the names of hosts in known_hosts and in certificates.
func TestKnownNames(t *testing.T) {
	for _, test := range []struct {
		target transport.Target
		want   knownhosts.Host
	}{
		{transport.Target{Address: "2001:DB8::1"}, knownhosts.Host{Name: "2001:db8::1", Principal: "2001:DB8::1"}},
		{transport.Target{Address: "2001:db8::1", Port: 2222}, knownhosts.Host{Name: "[2001:db8::1]:2222", Principal: "2001:db8::1"}},
		{transport.Target{Address: "Web1", Port: 22, HashKnownHosts: true}, knownhosts.Host{Name: "web1", Principal: "Web1", Hidden: true}},
		{transport.Target{Address: "Web1", Port: 2222, HostKeyAlias: "Gate"}, knownhosts.Host{Name: "gate", Principal: "Gate"}},
		{transport.Target{Address: "web1", Port: 2222, KnownAt: "Old1:22"}, knownhosts.Host{Name: "old1", Principal: "Old1"}},
		{transport.Target{Address: "web1", KnownAt: "[::1]:23", HostKeyAlias: "gate"}, knownhosts.Host{Name: "gate", Principal: "gate"}},
	} {
		require.Equal(t, test.want, test.target.KnownHost())
	}
}

// TestHostKeyOrder checks that a list of host key algorithms keeps its order, unless the order has no meaning for the
// target.
func TestHostKeyOrder(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public, err := ssh.NewPublicKey(private.Public())
	require.NoError(t, err)
	target := transport.Target{Host: "web1", Address: "web1", User: "me"}
	target.KnownHosts = []string{writeFile(t, target.KnownHost().Line(public)+"\n")}
	list := []string{ssh.CertAlgoED25519v01, ssh.KeyAlgoED25519, ssh.KeyAlgoRSA, ssh.KeyAlgoECDSA256, "no-such-algorithm"}
	for _, c := range []struct {
		anyOrder bool
		want     []string
	}{
		{false, []string{ssh.CertAlgoED25519v01, ssh.KeyAlgoED25519, ssh.KeyAlgoRSA, ssh.KeyAlgoECDSA256}},
		{true, []string{ssh.KeyAlgoECDSA256, ssh.KeyAlgoED25519, ssh.KeyAlgoRSA}},
	} {
		target.Algorithms = transport.Algorithms{HostKeys: list, HostKeysInAnyOrder: c.anyOrder}
		a := &attempt{dialer: &Dialer{}, target: target}
		require.NoError(t, a.prepare())
		require.Equal(t, c.want, a.hostKeyAlgorithms())
	}
}
