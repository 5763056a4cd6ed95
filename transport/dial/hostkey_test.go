package dial

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

func writeFile(t testing.TB, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// dialOnce dials and closes again.
func dialOnce(t testing.TB, d *Dialer, target transport.Target) error {
	t.Helper()
	c, err := d.Dial(t.Context(), target)
	if err == nil {
		require.NoError(t, c.Close())
	}
	return err
}

func TestHostKeys(t *testing.T) {
	host, other, authority := newSigner(t, "ed25519"), newSigner(t, "ed25519"), newSigner(t, "ecdsa")
	rsaHost := newSigner(t, "rsa")
	cert := certificate(t, host, authority, "127.0.0.1")
	wrongName := certificate(t, host, authority, "elsewhere")
	expired := certificateUntil(t, host, authority, "127.0.0.1", uint64(time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC).Unix()))
	line := func(addr string, s ssh.Signer) string { return knownhosts.Line([]string{addr}, s.PublicKey()) }
	hashed := func(addr string, s ssh.Signer) string {
		l := line(addr, s)
		name, rest, _ := strings.Cut(l, " ")
		return knownhosts.HashHostname(name) + " " + rest
	}
	hint := "\n  hint: compare the fingerprint, then trust the key: echo 'ADDR KEY' >> FILE"
	changed := "\n  hint: if the host was reinstalled, remove the line FILE:1 and connect again; if not, do not connect: another machine may use the address of the host"

	for _, test := range []struct {
		name  string
		keys  []ssh.Signer
		known func(addr string) string
		err   string
		is    error
	}{
		{name: "known", keys: []ssh.Signer{host}, known: func(a string) string { return line(a, host) }},
		{name: "hashed", keys: []ssh.Signer{host}, known: func(a string) string { return hashed(a, host) }},
		{name: "a pattern", keys: []ssh.Signer{host}, known: func(string) string { return "[127.0.0.*]:* " + publicText(host) }},
		{name: "second of two", keys: []ssh.Signer{host}, known: func(a string) string { return line(a, other) + "\n" + line(a, host) }},
		{name: "after lines that cannot be read", keys: []ssh.Signer{host}, known: func(a string) string { return "what\n* ssh-ed25519 AAAA\n# x\n" + line(a, host) }},
		{name: "only the RSA key is known", keys: []ssh.Signer{host, rsaHost}, known: func(a string) string { return line(a, rsaHost) }},
		{name: "certificate", keys: []ssh.Signer{cert}, known: func(a string) string { return "@cert-authority " + line(a, authority) }},
		{name: "certificate, but the key is known", keys: []ssh.Signer{wrongName}, known: func(a string) string {
			return "@cert-authority " + line(a, authority) + "\n" + line(a, host)
		}},
		{
			name: "unknown", keys: []ssh.Signer{host}, known: func(string) string { return "" },
			err: "web1: host key 127.0.0.1:PORT: the host key is unknown: ssh-ed25519 FINGER" + hint, is: transport.ErrHostKeyUnknown,
		},
		{
			name: "known on another port", keys: []ssh.Signer{host}, known: func(string) string { return line("127.0.0.1:1", host) },
			err: "web1: host key 127.0.0.1:PORT: the host key is unknown: ssh-ed25519 FINGER" + hint, is: transport.ErrHostKeyUnknown,
		},
		{
			name: "the key of an authority is no host key", keys: []ssh.Signer{host}, known: func(a string) string { return "@cert-authority " + line(a, host) },
			err: "web1: host key 127.0.0.1:PORT: the host key is unknown: ssh-ed25519 FINGER" + hint, is: transport.ErrHostKeyUnknown,
		},
		{
			name: "excluded", keys: []ssh.Signer{host}, known: func(a string) string { return "*,!" + line(a, host) },
			err: "web1: host key 127.0.0.1:PORT: the host key is unknown: ssh-ed25519 FINGER" + hint, is: transport.ErrHostKeyUnknown,
		},
		{
			name: "certificate for another name", keys: []ssh.Signer{wrongName}, known: func(a string) string { return "@cert-authority " + line(a, authority) },
			err: `web1: host key 127.0.0.1:PORT: the host key is unknown: ssh-ed25519 FINGER: its certificate is for ["elsewhere"], not for "127.0.0.1"` +
				"\n  hint: sign its certificate again for 127.0.0.1 with the authority in FILE:1; do not trust the key itself", is: transport.ErrHostKeyUnknown,
		},
		{
			name: "expired certificate", keys: []ssh.Signer{expired}, known: func(a string) string { return "@cert-authority " + line(a, authority) },
			err: `web1: host key 127.0.0.1:PORT: the host key is unknown: ssh-ed25519 FINGER: its certificate has expired at 2020-01-02T03:04:05Z` +
				"\n  hint: sign its certificate again for 127.0.0.1 with the authority in FILE:1; do not trust the key itself", is: transport.ErrHostKeyUnknown,
		},
		{
			name: "certificate of another authority", keys: []ssh.Signer{cert}, known: func(a string) string { return "@cert-authority " + line(a, other) },
			err: "web1: host key 127.0.0.1:PORT: the host key is unknown: ssh-ed25519 FINGER: its certificate is signed by ecdsa-sha2-nistp256 CAFINGER, which is not an authority for it" + hint,
			is:  transport.ErrHostKeyUnknown,
		},
		{
			name: "changed", keys: []ssh.Signer{host}, known: func(a string) string { return line(a, other) },
			err: "web1: host key 127.0.0.1:PORT: the host key has changed: ssh-ed25519 FINGER is not the key in FILE:1" + changed, is: transport.ErrHostKeyChanged,
		},
		{
			name: "another type than known", keys: []ssh.Signer{host}, known: func(a string) string { return line(a, rsaHost) },
			err: "web1: host key 127.0.0.1:PORT: the host key has changed: ssh-ed25519 FINGER is not the key in FILE:1" + changed, is: transport.ErrHostKeyChanged,
		},
		{
			name: "revoked", keys: []ssh.Signer{host}, known: func(a string) string { return line(a, host) + "\n@revoked " + line("*", host) },
			err: "web1: host key 127.0.0.1:PORT: the host key is revoked: ssh-ed25519 FINGER in FILE:2", is: transport.ErrHostKeyRevoked,
		},
		{
			name: "revoked authority", keys: []ssh.Signer{cert}, known: func(a string) string {
				return "@cert-authority " + line(a, authority) + "\n@revoked " + line("*", authority)
			},
			err: "web1: host key 127.0.0.1:PORT: the host key is revoked: ecdsa-sha2-nistp256 CAFINGER in FILE:2", is: transport.ErrHostKeyRevoked,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			srv := sshtest.Start(t, sshtest.HostKeys(test.keys...))
			target := targetOf(srv)
			file := writeFile(t, test.known(srv.Addr)+"\n")
			target.KnownHosts = []string{file}
			policies := []transport.HostKeyPolicy{transport.Strict, transport.AcceptNew}
			if errors.Is(test.is, transport.ErrHostKeyUnknown) {
				policies = policies[:1] // another test covers AcceptNew
			}
			for _, target.HostKeys = range policies {
				err := dialOnce(t, &Dialer{}, target)
				got := masked(err, file, "FILE", ssh.FingerprintSHA256(host.PublicKey()), "FINGER", ssh.FingerprintSHA256(authority.PublicKey()), "CAFINGER",
					fmt.Sprintf("[127.0.0.1]:%d", srv.Port), "ADDR", fmt.Sprint(":", srv.Port), ":PORT", publicText(host), "KEY")
				require.Equal(t, test.err, got)
				require.Equal(t, err != nil, transport.Unreachable(err))
				require.ErrorIs(t, err, test.is)
			}
		})
	}
}

func certificate(t testing.TB, key, authority ssh.Signer, name string) ssh.Signer {
	t.Helper()
	return certificateUntil(t, key, authority, name, ssh.CertTimeInfinity)
}

// certificateUntil ends at a number of seconds since 1970.
func certificateUntil(t testing.TB, key, authority ssh.Signer, name string, end uint64) ssh.Signer {
	t.Helper()
	cert := &ssh.Certificate{Key: key.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: []string{name}, ValidBefore: end}
	require.NoError(t, cert.SignCert(rand.Reader, authority))
	signer, err := ssh.NewCertSigner(cert, key)
	require.NoError(t, err)
	return signer
}

func TestTrustHint(t *testing.T) {
	srv := sshtest.Start(t)
	target := targetOf(srv)
	target.KnownHosts = []string{filepath.Join(t.TempDir(), "no such")}
	err := dialOnce(t, &Dialer{TrustHint: func(t transport.Target, k ssh.PublicKey) string { return "trust " + t.Host + " " + k.Type() }}, target)
	require.True(t, strings.HasSuffix(err.Error(), "\n  hint: trust web1 ssh-ed25519"), err)

	err = dialOnce(t, &Dialer{}, target)
	require.True(t, strings.HasSuffix(err.Error(), " >> '"+target.KnownHosts[0]+"'"), err)
}

func TestAcceptNew(t *testing.T) {
	d := &Dialer{Home: filepath.Join(t.TempDir(), "home")}
	file := filepath.Join(d.Home, ".ssh/known_hosts")
	var servers []*sshtest.Server
	for range 8 {
		servers = append(servers, sshtest.Start(t))
	}
	var hosts sync.WaitGroup
	for i := range 16 { // each server twice at the same time
		hosts.Go(func() {
			target := targetOf(servers[i%8])
			target.KnownHosts, target.HostKeys = nil, transport.AcceptNew
			require.NoError(t, dialOnce(t, d, target))
		})
	}
	hosts.Wait()

	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var want []string
	for _, s := range servers {
		line, err := os.ReadFile(s.KnownHosts)
		require.NoError(t, err)
		want = append(want, string(line))
	}
	require.ElementsMatch(t, want, slices.DeleteFunc(strings.SplitAfter(string(text), "\n"), func(s string) bool { return s == "" }))
	for path, mode := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): os.ModeDir | 0o700} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode())
	}

	target := targetOf(servers[0])
	target.KnownHosts = nil
	require.NoError(t, dialOnce(t, d, target), "a strict host of the same run knows it too")
}

func TestAcceptNewSeesWhatAnotherProcessHasAdded(t *testing.T) {
	srv := sshtest.Start(t)
	target := targetOf(srv)
	file := writeFile(t, "other ssh-ed25519 without the end of its line")
	target.KnownHosts, target.HostKeys = []string{file}, transport.AcceptNew
	d := &Dialer{}
	_, err := d.openKnown(target)
	require.NoError(t, err)
	good, err := os.ReadFile(srv.KnownHosts)
	require.NoError(t, err)

	require.NoError(t, os.WriteFile(file, []byte(knownhosts.Line([]string{srv.Addr}, newSigner(t, "").PublicKey())), 0o600))
	require.ErrorIs(t, dialOnce(t, d, target), transport.ErrHostKeyChanged)

	require.NoError(t, os.WriteFile(file, []byte("# no newline"), 0o600))
	require.NoError(t, dialOnce(t, &Dialer{}, target))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "# no newline\n"+string(good), string(text))
}

func TestKnownHostsThatCannotBeRead(t *testing.T) {
	target := transport.Target{Host: "web1", Address: "127.0.0.1", Port: 1, User: "deploy", KnownHosts: []string{t.TempDir()}}
	err := dialOnce(t, &Dialer{}, target)
	require.Equal(t, "web1: host key 127.0.0.1:1: known hosts DIR: is a directory", masked(err, target.KnownHosts[0], "DIR"))
}
