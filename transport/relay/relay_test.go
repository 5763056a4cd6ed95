package relay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/sshtest"
	"github.com/ccm-push/ccm-push/transport/start"
	"github.com/ccm-push/ccm-push/transport/usercert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newBuild is something to deliver.
func newBuild(t *testing.T) start.Build {
	t.Helper()
	program := make([]byte, 200<<10)
	rand.Read(program)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write(program)
	require.NoError(t, w.Close())
	sum, packedSum := sha256.Sum256(program), sha256.Sum256(packed.Bytes())
	return start.Build{
		OS: "linux", Arch: "amd64", SHA256: hex.EncodeToString(sum[:]), Size: int64(len(program)),
		Compressed:     func() ([]byte, error) { return packed.Bytes(), nil },
		CompressedSize: int64(packed.Len()), CompressedSHA256: hex.EncodeToString(packedSum[:]),
	}
}

// A site is a relay, and a host with a real sshd which trusts an authority.
type site struct {
	*testing.T
	relay     *sshtest.Server
	host      *sshtest.SSHD
	to        *transport.Client // the host
	key       ed25519.PrivateKey
	authority *usercert.Authority
	build     start.Build
}

func newSite(t *testing.T) *site {
	t.Helper()
	needs.Program(t, "ssh")
	s := &site{T: t, host: sshtest.StartSSHD(t), relay: sshtest.Start(t), build: newBuild(t)}
	_, s.key, _ = ed25519.GenerateKey(rand.Reader)
	signer, err := ssh.NewSignerFromKey(s.key)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(s.host.Authorities, ssh.MarshalAuthorizedKey(signer.PublicKey()), 0o600))
	ring := agent.NewKeyring()
	require.NoError(t, ring.Add(agent.AddedKey{PrivateKey: s.key}))
	s.authority = usercert.ByAgent(sshtest.ServeAgent(t, ring), signer.PublicKey())
	port := s.host.Listen(t)
	known, err := os.ReadFile(s.host.KnownHosts)
	require.NoError(t, err)
	files := filepath.Join(t.TempDir(), "known_hosts")
	require.NoError(t, os.WriteFile(files, bytes.ReplaceAll(known, []byte(s.host.Address), []byte("127.0.0.1")), 0o600))
	s.to = s.dial(transport.Target{
		Host: "web1", Address: "127.0.0.1", Port: port, User: s.host.User, HostKeyAlias: "127.0.0.1",
		PrivateKeys: []string{s.host.KeyFile}, KnownHosts: []string{files},
	})
	return s
}

// dial opens a connection that ends with the test.
func (s *site) dial(to transport.Target) *transport.Client {
	s.Helper()
	d := &dial.Dialer{}
	c, err := d.Dial(s.Context(), to)
	require.NoError(s, err)
	s.Cleanup(func() {
		c.Close()
		d.Close()
	})
	return c
}

// open makes a relay of the host that is one.
func (s *site) open() *Relay {
	s.Helper()
	r, err := s.tryOpen()
	require.NoError(s, err)
	return r
}

func (s *site) tryOpen() (*Relay, error) {
	s.Helper()
	c := s.dial(transport.Target{
		Host: "gate", Address: s.relay.Host, Port: s.relay.Port, User: s.relay.User,
		PrivateKeys: []string{s.relay.KeyFile}, KnownHosts: []string{s.relay.KnownHosts},
	})
	return Open(s.Context(), c, rand.Text())
}

// ready is a relay that has the build, and the certificate for its key.
func (s *site) ready() (*Relay, *ssh.Certificate) {
	s.Helper()
	r := s.open()
	_, err := r.Take(s.Context(), s.build, func(int64, int64) {})
	require.NoError(s, err)
	cert, err := r.Certify(s.Context(), s.authority, s.build, []string{s.host.User}, "test")
	require.NoError(s, err)
	return r, cert
}

func (s *site) requireDelivered(path string) {
	s.Helper()
	want, err := s.build.Compressed()
	require.NoError(s, err)
	require.Equal(s, filepath.Join(s.host.Home, ".cache/ccm-push", s.build.CompressedSHA256+".gz"), path)
	have, err := os.ReadFile(path)
	require.NoError(s, err)
	require.Equal(s, want, have)
}

func TestRelay(t *testing.T) {
	s := newSite(t)
	r := s.open()
	var told []int64
	path, err := r.Take(t.Context(), s.build, func(n, size int64) {
		require.Equal(t, s.build.CompressedSize, size)
		told = append(told, n)
	})
	require.NoError(t, err)
	cache := filepath.Join(s.relay.Home, ".cache/ccm-push")
	require.Equal(t, filepath.Join(cache, s.build.CompressedSHA256+".gz"), path)
	require.Equal(t, s.build.CompressedSize, told[len(told)-1])

	cert, err := r.Certify(t.Context(), s.authority, s.build, []string{s.host.User}, "test")
	require.NoError(t, err)
	before := s.relay.Stats().Received
	path, err = r.Deliver(t.Context(), cert, s.build, s.to)
	require.NoError(t, err)
	s.requireDelivered(path)
	path, err = r.Deliver(t.Context(), cert, s.build, s.to)
	require.NoError(t, err, "it has it")
	s.requireDelivered(path)
	_, err = r.Take(t.Context(), s.build, func(int64, int64) { t.Error("it has it") })
	require.NoError(t, err)
	require.Less(t, s.relay.Stats().Received-before, int64(64<<10), "the build went to the relay once")

	requireFolders := func(n int) {
		t.Helper()
		require.Eventually(t, func() bool {
			kept, err := filepath.Glob(filepath.Join(cache, ".relay-*"))
			require.NoError(t, err)
			return len(kept) == n
		}, time.Minute, 5*time.Millisecond)
	}
	requireFolders(1)
	require.NoError(t, r.Close())
	requireFolders(0)
}

func TestManyDeliveries(t *testing.T) {
	s := newSite(t)
	r, cert := s.ready()
	r.free = make(chan struct{}, 4)
	var deliveries sync.WaitGroup
	for range 12 {
		deliveries.Go(func() {
			_, err := r.Deliver(t.Context(), cert, s.build, s.to)
			if err != nil {
				t.Error(err)
			}
		})
	}
	deliveries.Wait()
	entries, err := os.ReadDir(filepath.Join(s.host.Home, ".cache/ccm-push"))
	require.NoError(t, err)
	require.Len(t, entries, 1, "parts are left")
}

// stolen returns the key of a relay, as an attacker on the relay has it, with a certificate.
func (s *site) stolen(cert *ssh.Certificate) ssh.Signer {
	s.Helper()
	files, err := filepath.Glob(filepath.Join(s.relay.Home, ".cache/ccm-push/.relay-*/key"))
	require.NoError(s, err)
	require.Len(s, files, 1)
	text, err := os.ReadFile(files[0])
	require.NoError(s, err)
	key, err := ssh.ParsePrivateKey(text)
	require.NoError(s, err)
	signer, err := ssh.NewCertSigner(cert, key)
	require.NoError(s, err)
	return signer
}

// login logs in to the host with a key.
func (s *site) login(signer ssh.Signer) (*ssh.Client, error) {
	s.Helper()
	t := s.to.Target()
	c, err := ssh.Dial("tcp", t.Addr(), &ssh.ClientConfig{
		User: t.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: ssh.FixedHostKey(s.to.HostKey()),
	})
	if err == nil {
		s.Cleanup(func() { c.Close() })
	}
	return c, err
}

// TestRelayIsBrokenInto uses the key of a relay for other purposes.
func TestRelayIsBrokenInto(t *testing.T) {
	s := newSite(t)
	_, cert := s.ready()
	c, err := s.login(s.stolen(cert))
	require.NoError(t, err)
	session := func(ask func(*ssh.Session) error, stdin string) (out, stderr string) {
		t.Helper()
		one, err := c.NewSession()
		require.NoError(t, err)
		defer one.Close()
		var said, warned bytes.Buffer
		one.Stdin, one.Stdout, one.Stderr = strings.NewReader(stdin), &said, &warned
		require.NoError(t, ask(one))
		_ = one.Wait()
		return said.String(), warned.String()
	}
	const refused = "nothing but one file is taken here\n"
	marker := filepath.Join(s.host.Home, "marker")
	for _, command := range []string{"touch " + marker, "/bin/sh", "scp -t " + marker, "take; touch " + marker} {
		out, stderr := session(func(one *ssh.Session) error { return one.Start(command) }, "")
		require.Equal(t, []string{"", refused}, []string{out, stderr}, command)
	}
	_, err = sftp.NewClient(c)
	require.Error(t, err)
	out, _ := session(func(one *ssh.Session) error { return one.Shell() }, "touch "+marker+"\n")
	require.Regexp(t, "^want [A-Z0-9]+\nfail [A-Z0-9]+ hash\n$", out, "what is typed into a shell is no file of that hash")
	out, _ = session(func(one *ssh.Session) error { return one.Start("take") }, strings.Repeat("x", int(s.build.CompressedSize)))
	require.Regexp(t, "^want [A-Z0-9]+\nfail [A-Z0-9]+ hash\n$", out)
	require.NoFileExists(t, marker)
	entries, err := os.ReadDir(filepath.Join(s.host.Home, ".cache/ccm-push"))
	require.NoError(t, err)
	require.Empty(t, entries)

	one, err := c.NewSession()
	require.NoError(t, err)
	defer one.Close()
	require.Error(t, one.RequestPty("dumb", 24, 80, nil))
	_, err = c.Dial("tcp", s.relay.Addr)
	require.ErrorContains(t, err, "prohibited")
	_, err = c.Listen("tcp", "127.0.0.1:0")
	require.Error(t, err)
	require.Error(t, agent.RequestAgentForwarding(one))
	one.Setenv("SSH_ORIGINAL_COMMAND", "take")
	ok, err := one.SendRequest("x11-req", true, ssh.Marshal(struct {
		Single        bool
		Protocol, Key string
		Screen        uint32
	}{false, "MIT-MAGIC-COOKIE-1", "00", 0}))
	require.NoError(t, err)
	require.False(t, ok)
}

// TestCertificateElsewhere has the certificate of a relay used at another time, from another address and as another
// user, which the authority has signed all the same.
func TestCertificateElsewhere(t *testing.T) {
	s := newSite(t)
	r, cert := s.ready()
	ca, err := ssh.NewSignerFromKey(s.key)
	require.NoError(t, err)
	require.LessOrEqual(t, cert.ValidBefore, uint64(time.Now().Add(Validity).Unix()))
	for name, change := range map[string]func(*ssh.Certificate){
		"":                        func(*ssh.Certificate) {},
		"it has expired":          func(c *ssh.Certificate) { c.ValidBefore = uint64(time.Now().Add(-time.Second).Unix()) },
		"it is of another host":   func(c *ssh.Certificate) { c.CriticalOptions["source-address"] = "192.0.2.1/32" },
		"it is for another login": func(c *ssh.Certificate) { c.ValidPrincipals = []string{"other"} },
	} {
		changed := *cert
		changed.CriticalOptions = map[string]string{}
		for option, value := range cert.CriticalOptions {
			changed.CriticalOptions[option] = value
		}
		change(&changed)
		require.NoError(t, changed.SignCert(rand.Reader, ca))
		_, err := s.login(s.stolen(&changed))
		if name == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, "unable to authenticate", name)
		_, err = r.Deliver(t.Context(), &changed, s.build, s.to)
		require.ErrorContains(t, err, "delivering to web1: ssh on the relay reports", name)
		require.ErrorContains(t, err, "Permission denied", name)
	}
}

// TestAnotherHostInItsPlace has another host answer the relay than has answered the controller.
func TestAnotherHostInItsPlace(t *testing.T) {
	s := newSite(t)
	r, cert := s.ready()
	other := sshtest.NewKey(t, "").PublicKey()
	_, err := r.deliver(t.Context(), cert, s.build, s.to.Target(), other)
	require.ErrorContains(t, err, "Host key verification failed")
	require.NoDirExists(t, filepath.Join(s.host.Home, ".cache/ccm-push"))
}

// TestRelayChangesTheFile has a relay deliver something else.
func TestRelayChangesTheFile(t *testing.T) {
	s := newSite(t)
	r, cert := s.ready()
	file := filepath.Join(s.relay.Home, ".cache/ccm-push", s.build.CompressedSHA256+".gz")
	require.NoError(t, os.WriteFile(file, bytes.Repeat([]byte("x"), int(s.build.CompressedSize)), 0o600))
	_, err := r.Deliver(t.Context(), cert, s.build, s.to)
	require.EqualError(t, err, `delivering to web1: it cannot take the file: "hash"`)
	path, err := r.Take(t.Context(), s.build, func(int64, int64) {})
	require.NoError(t, err, "it is given the file anew")
	have, err := os.ReadFile(path)
	require.NoError(t, err)
	want, err := s.build.Compressed()
	require.NoError(t, err)
	require.Equal(t, want, have)
}

func TestRelayIsLost(t *testing.T) {
	s := newSite(t)
	r, cert := s.ready()
	s.relay.Cut()
	<-r.Done()
	_, err := r.Deliver(t.Context(), cert, s.build, s.to)
	require.ErrorIs(t, err, transport.ErrLost)
	_, err = r.Take(t.Context(), s.build, func(int64, int64) {})
	require.ErrorIs(t, err, transport.ErrLost)
}

func TestRelayIsGivenUp(t *testing.T) {
	s := newSite(t)
	r, cert := s.ready()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Deliver(ctx, cert, s.build, s.to)
	require.ErrorIs(t, err, context.Canceled)
}

// TestSlowHost has a delivery take too long, which is not the fault of the relay.
func TestSlowHost(t *testing.T) {
	s := newSite(t)
	r, cert := s.ready()
	r.limit = time.Nanosecond
	_, err := r.Deliver(t.Context(), cert, s.build, s.to)
	require.EqualError(t, err, "delivering to web1: it is not done yet, after 1ns")
	r.limit = deliverTime
	path, err := r.Deliver(t.Context(), cert, s.build, s.to)
	require.NoError(t, err)
	s.requireDelivered(path)
}

// TestHostThatPrints has a host print without an end, which ends with it.
func TestHostThatPrints(t *testing.T) {
	for _, prints := range []string{"yes x", "head -c 65530 /dev/zero | tr '\\0' x; echo"} {
		s := newSite(t)
		s.relay = sshtest.Start(t, sshtest.Env("PATH="+s.command("ssh", "case $1 in -G) exit;; esac; "+prints)+":"+os.Getenv("PATH")))
		r, cert := s.ready()
		_, err := r.Deliver(t.Context(), cert, s.build, s.to)
		require.EqualError(t, err, "delivering to web1: it does not confirm that it has the file")
		require.NoError(t, r.client.Ping(), "and the relay is still one")
	}
}

// command writes a shell script, and returns its folder.
func (s *site) command(name, text string) (dir string) {
	s.Helper()
	dir = s.TempDir()
	require.NoError(s, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	return dir
}

func TestHostWithoutSSH(t *testing.T) {
	s := newSite(t)
	bin := t.TempDir()
	s.relay = sshtest.Start(t, sshtest.Env("PATH="+bin))
	_, err := s.tryOpen()
	require.EqualError(t, err, "making a key to deliver with: no ssh or ssh-keygen on the host")
	s.relay = sshtest.Start(t)
	require.NoError(t, os.WriteFile(filepath.Join(s.relay.Home, ".cache"), nil, 0o600))
	_, err = s.tryOpen()
	require.EqualError(t, err, "making a key to deliver with: no directory for the key in the home of the login user")
}

func TestRoutesThatRelaysDoNotKnow(t *testing.T) {
	s := newSite(t)
	r := &Relay{}
	_, err := r.Deliver(t.Context(), nil, s.build, transport.NewLocal(transport.Target{Local: true}, nil))
	require.ErrorIs(t, err, errNoRoute)
}

func TestSources(t *testing.T) {
	r := &Relay{}
	for _, line := range []string{
		"inet 127.0.0.1", "1: lo    inet 127.0.0.1/8 scope host lo\\       valid_lft forever", "1: lo    inet6 ::1/128 scope host",
		"2: eth0    inet 192.0.2.7/24 brd 192.0.2.255 scope global eth0", "2: eth0    inet6 2001:db8::7/64 scope global", "2: eth0    inet6 fe80::1/64 scope link",
		"\tinet 198.51.100.7 netmask 0xffffff00 broadcast 198.51.100.255", "\tinet6 fe80::1%lo0 prefixlen 64", "inet addr:203.0.113.7  Bcast:203.0.113.255",
		"inet 0.0.0.0/0", "inet ::/0", "inet 224.0.0.1", "inet", "inet x", "inet 192.0.2.7/0", "inet6 ::ffff:192.0.2.7",
	} {
		r.addSources(line)
	}
	var texts []string
	for _, p := range r.sources {
		texts = append(texts, p.String())
	}
	require.Equal(t, []string{"127.0.0.1/32", "192.0.2.7/32", "2001:db8::7/128", "198.51.100.7/32", "203.0.113.7/32"}, texts)
	for i := range 300 {
		r.addSources("inet " + netip.AddrFrom4([4]byte{10, 0, byte(i / 256), byte(i)}).String())
	}
	require.Len(t, r.sources, maxSources)
}

func TestPlaces(t *testing.T) {
	for line, places := range map[string]int{
		"MemAvailable:    8000000 kB": atOnce, "MemAvailable:      393216 kB": atOnce, "MemAvailable:      131072 kB": 10,
		"MemAvailable:       12000 kB": 1, "MemAvailable: 0 kB": 1, "MemAvailable: -5 kB": 1,
		"MemAvailable: x kB": atOnce, "MemAvailable: 1 MB": atOnce, "": atOnce,
	} {
		r := &Relay{places: atOnce}
		r.bound(line)
		require.Equal(t, places, r.places, line)
	}
}

// TestKeyExchange has the ssh of a relay take a key exchange that costs it little, if it knows that.
func TestKeyExchange(t *testing.T) {
	for _, known := range []string{"mlkem768x25519-sha256,curve25519-sha256", "curve25519-sha256", ""} {
		s := newSite(t)
		asked := filepath.Join(t.TempDir(), "asked")
		s.relay = sshtest.Start(t, sshtest.Env("PATH="+s.command("ssh", fmt.Sprintf(`
case $1 in
-G) case "$*" in *"=^%s "*) exit 0;; *) exit 255;; esac;;
-oKexAlgorithms=*) echo $1 >%[2]s;;
*) echo none >%[2]s;;
esac`, known, asked))+":"+os.Getenv("PATH")))
		r, cert := s.ready()
		_, err := r.Deliver(t.Context(), cert, s.build, s.to)
		require.Error(t, err)
		text, err := os.ReadFile(asked)
		require.NoError(t, err)
		want := "none\n"
		if known != "" {
			want = "-oKexAlgorithms=^" + known + "\n"
		}
		require.Equal(t, want, string(text))
	}
}

func TestScriptsHaveNothingThatAShellWouldChange(t *testing.T) {
	for _, text := range []string{keepScript} {
		require.NotRegexp(t, "['`\\\\\n!]", text)
	}
}

// FuzzRelay has a host say anything of itself.
func FuzzRelay(f *testing.F) {
	key := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(sshtest.NewKey(f, "").PublicKey())))
	f.Add("addr NONCE1234 inet 192.0.2.1\nkey NONCE1234 " + key + "\n")
	f.Add("fail NONCE1234 nossh\n")
	f.Fuzz(func(t *testing.T, said string) {
		r := &Relay{nonce: "NONCE1234"}
		if err := r.read(bufio.NewReader(strings.NewReader(said))); err == nil {
			require.NotNil(t, r.key)
			require.NotEmpty(t, r.sources)
			for _, s := range r.sources {
				require.True(t, s.IsSingleIP())
			}
		}
	})
}
