package dial

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/knownhosts"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

func TestScan(t *testing.T) {
	edKey, ecdsaKey, rsaKey := newSigner(t, ""), newSigner(t, "ecdsa"), newSigner(t, "rsa")
	other, authority := newSigner(t, ""), newSigner(t, "")
	all := []ssh.Signer{edKey, ecdsaKey, rsaKey}
	cert := certificate(t, edKey, authority, "127.0.0.1")
	for _, test := range []struct {
		name  string
		keys  []ssh.Signer
		known []string // without the name
		want  []ssh.Signer
		at    string
		err   string
		bad   string // certificate
	}{
		{name: "new", keys: all, want: all},
		{name: "new with one key", keys: []ssh.Signer{rsaKey}, want: []ssh.Signer{rsaKey}},
		{name: "known", keys: all, known: []string{publicText(edKey)}, want: all, at: "FILE:1"},
		{name: "known by another type", keys: all, known: []string{"# nothing", publicText(rsaKey)}, want: all, at: "FILE:2"},
		{name: "an old key besides", keys: all, known: []string{publicText(other), publicText(edKey)}, want: all, at: "FILE:2"},
		{name: "changed", keys: all, known: []string{publicText(other)}, want: all,
			err: "web1: host key ADDR: the host key has changed: ssh-ed25519 ED is not the key in FILE:1"},
		{name: "one of two has changed", keys: all, known: []string{publicText(rsaKey), publicText(other)}, want: all,
			err: "web1: host key ADDR: the host key has changed: ssh-ed25519 ED is not the key in FILE:2"},
		{name: "only another type is known", keys: []ssh.Signer{edKey}, known: []string{publicText(rsaKey)}, want: []ssh.Signer{edKey},
			err: "web1: host key ADDR: the host key has changed: ssh-ed25519 ED is not the key in FILE:1"},
		{name: "revoked", keys: all, known: []string{"@revoked " + publicText(edKey), publicText(rsaKey)}, want: all,
			err: "web1: host key ADDR: the host key is revoked: ssh-ed25519 ED in FILE:1"},
		{name: "certified", keys: []ssh.Signer{cert}, known: []string{"@cert-authority " + publicText(authority)}, at: "FILE:1"},
		{name: "certified by somebody else", keys: []ssh.Signer{certificate(t, edKey, other, "127.0.0.1")}, known: []string{"@cert-authority " + publicText(authority)},
			want: []ssh.Signer{edKey}, bad: "its certificate is signed by ssh-ed25519 OTHER, which is not an authority for it"},
		{name: "an authority, and no certificate", keys: all, known: []string{"@cert-authority " + publicText(authority)}, want: all},
		{name: "a revoked authority", keys: []ssh.Signer{cert}, known: []string{"@cert-authority " + publicText(authority), "@revoked " + publicText(authority)},
			err: "web1: host key ADDR: the host key is revoked: ssh-ed25519 CA in FILE:2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			srv := sshtest.Start(t, sshtest.HostKeys(test.keys...))
			var known strings.Builder
			for _, l := range test.known {
				marker, key, marked := strings.Cut(l, " ssh-")
				if marked && strings.HasPrefix(l, "@") {
					fmt.Fprintf(&known, "%s [127.0.0.1]:%d ssh-%s\n", marker, srv.Port, key)
				} else {
					fmt.Fprintf(&known, "[127.0.0.1]:%d %s\n", srv.Port, l)
				}
			}
			target := targetOf(srv)
			target.KnownHosts = []string{writeFile(t, known.String())}
			target.User, target.PrivateKeys = "", []string{"no such file"} // neither is needed
			s, err := (&Dialer{}).Scan(t.Context(), target)
			mask := []string{srv.Addr, "ADDR", target.KnownHosts[0], "FILE", ssh.FingerprintSHA256(edKey.PublicKey()), "ED",
				ssh.FingerprintSHA256(authority.PublicKey()), "CA", ssh.FingerprintSHA256(other.PublicKey()), "OTHER"}
			got, _, _ := strings.Cut(masked(err, mask...), "\n")
			require.Equal(t, test.err, got)
			var shown, want []string
			for _, k := range s.Keys {
				shown = append(shown, knownhosts.Fingerprint(k))
			}
			for _, k := range test.want {
				want = append(want, knownhosts.Fingerprint(k.PublicKey()))
			}
			require.Equal(t, want, shown)
			require.Equal(t, test.at, strings.ReplaceAll(s.Known, target.KnownHosts[0], "FILE"))
			require.Equal(t, test.bad, masked(s.Certificate, mask...))
		})
	}
}

func TestScanOfHostsThatMisbehave(t *testing.T) {
	for name, option := range map[string]sshtest.Option{"closes": sshtest.CloseAtBanner(), "malformed": sshtest.Malformed()} {
		t.Run(name, func(t *testing.T) {
			srv := sshtest.Start(t, option)
			s, err := (&Dialer{}).Scan(t.Context(), targetOf(srv))
			require.Error(t, err)
			require.True(t, transport.Unreachable(err))
			require.Empty(t, s)
		})
	}
}

func TestScanThroughJumpHost(t *testing.T) {
	gate, srv := sshtest.Start(t), sshtest.Start(t)
	d := &Dialer{}
	defer d.Close()
	jumpHost, target := targetOf(gate), targetOf(srv)
	target.KnownHosts = []string{writeFile(t, "")}
	target.Jump = []transport.Target{jumpHost}
	s, err := d.Scan(t.Context(), target)
	require.NoError(t, err)
	require.Len(t, s.Keys, 1)

	jumpHost.Host, jumpHost.KnownHosts = "gate", target.KnownHosts
	target.Jump = []transport.Target{jumpHost}
	other := &Dialer{TrustHint: func(t transport.Target, _ ssh.PublicKey) string { return "trust " + t.Host }}
	defer other.Close()
	_, err = other.Scan(t.Context(), target)
	require.ErrorIs(t, err, transport.ErrHostKeyUnknown, "a jump host is logged in to, so it must be known")
	require.Contains(t, err.Error(), "hint: trust gate")
}

// TestTrust adds keys of many hosts at once, while others append to the file too.
func TestTrust(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "hosts"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(file, []byte("# mine\nold ssh-ed25519 AAAA # no end"), 0o640))
	require.NoError(t, os.Chmod(file, 0o640))
	require.NoError(t, os.Symlink("hosts", link))
	const writers, each = 4, 5
	var work sync.WaitGroup
	var want []string
	for w := range writers {
		var hosts []Trusted
		for i := range each {
			target := transport.Target{Host: "h", Address: fmt.Sprintf("web%d-%d", w, i), KnownHosts: []string{link}}
			key := newSigner(t, "").PublicKey()
			hosts = append(hosts, Trusted{target, []ssh.PublicKey{key, newSigner(t, "ecdsa").PublicKey()}})
			want = append(want, target.KnownHost().Line(key))
		}
		work.Go(func() {
			for _, err := range new(Dialer).Trust(t.Context(), hosts) {
				require.NoError(t, err)
			}
		})
		late := transport.Target{Host: "h", Address: fmt.Sprint("late", w), KnownHosts: []string{link}}
		key := newSigner(t, "").PublicKey()
		want = append(want, late.KnownHost().Line(key))
		work.Go(func() {
			k, err := new(Dialer).openKnown(late)
			require.NoError(t, err)
			require.NoError(t, k.Accept(t.Context(), late.KnownHost(), key))
		})
	}
	work.Wait()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	require.Equal(t, []string{"# mine", "old ssh-ed25519 AAAA # no end"}, lines[:2])
	require.Subset(t, lines, want)
	require.Len(t, lines, 2+writers*(2*each+1))
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode())
	info, err = os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2, "nothing is left over")
}

func TestTrustKeepsOutOfTheWay(t *testing.T) {
	file := filepath.Join(t.TempDir(), ".ssh", "known_hosts")
	d := &Dialer{}
	target := func(address string) transport.Target {
		return transport.Target{Host: address, Address: address, KnownHosts: []string{file}, HashKnownHosts: address == "c"}
	}
	keys := []ssh.PublicKey{newSigner(t, "").PublicKey(), newSigner(t, "").PublicKey()}
	require.Equal(t, []error{nil, nil, nil}, d.Trust(t.Context(), []Trusted{
		{target("a"), keys[:1]}, {target("b"), keys[1:]}, {target("a"), keys[:1]}}))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, target("a").KnownHost().Line(keys[0])+"\n"+target("b").KnownHost().Line(keys[1])+"\n", string(text), "no line stands twice")
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())

	// A key that has become known meanwhile counts.
	errs := new(Dialer).Trust(t.Context(), []Trusted{{target("a"), keys[1:]}, {target("b"), keys[1:]}, {target("c"), keys[:1]}})
	require.ErrorIs(t, errs[0], transport.ErrHostKeyChanged)
	require.NoError(t, errs[1])
	require.NoError(t, errs[2])
	again, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Regexp(t, `^\|1\|[^ ]+ ssh-ed25519 [^ \n]+\n$`, strings.TrimPrefix(string(again), string(text)))

	// Nothing happens without the lock, or without a file.
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	errs = d.Trust(ctx, []Trusted{{target("d"), keys[:1]}, {transport.Target{Host: "e", Address: "e"}, keys[:1]}})
	require.EqualError(t, errs[0], "d: host key d:22: adding to "+file+": locking: context canceled")
	require.EqualError(t, errs[1], "e: host key e:22: no known_hosts file to add the key to\n  hint: name a known_hosts file of your own, to which the key can be added")
}

// TestTrustInFolderThatTakesNothing has a file that cannot be replaced.
func TestTrustInFolderThatTakesNothing(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("NOT TESTED: root can write to any folder")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "known_hosts")
	require.NoError(t, os.WriteFile(file, []byte("# mine"), 0o600))
	require.NoError(t, os.Chmod(dir, 0o500))
	defer os.Chmod(dir, 0o700)
	target := transport.Target{Host: "a", Address: "a", KnownHosts: []string{file}}
	key := newSigner(t, "").PublicKey()
	require.Equal(t, []error{nil}, new(Dialer).Trust(t.Context(), []Trusted{{target, []ssh.PublicKey{key}}}))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "# mine\n"+target.KnownHost().Line(key)+"\n", string(text))
}

// TestScanOfRealSSHD takes what OpenSSH has in its files.
func TestScanOfRealSSHD(t *testing.T) {
	d, target, _ := realSSHD(t)
	dir := filepath.Dir(target.KnownHosts[0])
	s, err := d.Scan(t.Context(), target)
	require.NoError(t, err)
	require.Equal(t, target.KnownHosts[0]+":1", s.Known)
	target.KnownHosts = []string{filepath.Join(dir, "new")}
	s, err = d.Scan(t.Context(), target)
	require.NoError(t, err)
	require.Len(t, s.Keys, 1)
	require.Empty(t, s.Known)
	require.Equal(t, []error{nil}, d.Trust(t.Context(), []Trusted{{target, s.Keys}}))
	require.NoError(t, dialOnce(t, d, target))

	silent := func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED }
	_, err = (&Dialer{DialContext: silent}).Scan(t.Context(), target)
	require.EqualError(t, err, "web1: dial real.example:22: connection refused\n  hint: no program listens on port 22: is sshd running, and does it use this port?")
}
