package relays

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/sshtest"
	"github.com/ccm-push/ccm-push/transport/start"
	"github.com/ccm-push/ccm-push/transport/usercert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newBuild(t *testing.T) start.Build {
	t.Helper()
	program := make([]byte, 100<<10)
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

// hostsOf are hosts of an inventory.
func hostsOf(t *testing.T, names ...string) []*inventory.Host {
	t.Helper()
	inv, err := inventory.Parse("hosts.yaml", []byte("all: {hosts: {"+strings.Join(names, ": , ")+": }}"))
	require.NoError(t, err)
	return inv.Hosts()
}

func TestSites(t *testing.T) {
	h := hostsOf(t, "gate", "n1", "n2", "alone")
	gate, other := h[:1], h[1:3]
	r := New(Options{})
	members := []Member{
		{"a1", "deploy", "", gate}, {"a2", "root", "paris", gate}, {"a3", "deploy", "", gate}, {"gate", "admin", "", nil},
		{"n1", "deploy", "", other}, {"n2", "deploy", "", other}, {"b", "deploy", "", h[3:]}, {"c", "deploy", "", nil},
	}
	sites := r.sitesOf(members)
	require.Len(t, sites, 6)
	require.Same(t, sites["a1"], sites["gate"], "a jump host shares what it is sent")
	require.Equal(t, []string{"deploy", "deploy@", "root", "root@paris", "admin", "admin@"}, sites["a1"].principals)
	require.Same(t, sites["n1"], sites["n2"])
	require.Nil(t, sites["b"], "nobody would share anything with it")
	require.Nil(t, sites["c"])
	require.Equal(t, []string{"a1", "n1"}, oneOfEach(members, sites))
}

func TestNoRelays(t *testing.T) {
	var none *Relays
	require.Empty(t, none.Bring(t.Context(), "a", nil, start.Build{}, nil))
	none.Close()
	New(Options{Members: func() []Member { t.Error("asked although no host lacks anything"); return nil }}).Close()
}

// A fleet is hosts with real sshds, and relays for them.
type fleet struct {
	*testing.T
	*Relays
	host   *sshtest.SSHD
	to     *transport.Client
	gates  map[string]*sshtest.Server
	build  start.Build
	broken map[string]error // relays that cannot be dialled

	mu     sync.Mutex
	warned []string
	dialed []string
	first  []string // told once
}

// newFleet has a site of hosts, all of which are one, with relays. authority is nil for one that the hosts trust.
func newFleet(t *testing.T, authority *usercert.Authority, gates ...string) *fleet {
	t.Helper()
	needs.Program(t, "ssh")
	f := &fleet{T: t, host: sshtest.StartSSHD(t), gates: map[string]*sshtest.Server{}, build: newBuild(t), broken: map[string]error{}}
	for _, name := range gates {
		f.gates[name] = sshtest.Start(t)
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	signer, err := ssh.NewSignerFromKey(key)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(f.host.Authorities, ssh.MarshalAuthorizedKey(signer.PublicKey()), 0o600))
	if authority == nil {
		ring := agent.NewKeyring()
		require.NoError(t, ring.Add(agent.AddedKey{PrivateKey: key}))
		authority = usercert.ByAgent(sshtest.ServeAgent(t, ring), signer.PublicKey())
	}
	f.to = f.connect(transport.Target{
		Host: "web1", Address: "127.0.0.1", Port: f.host.Listen(t), User: f.host.User, HostKeyAlias: f.host.Address,
		PrivateKeys: []string{f.host.KeyFile}, KnownHosts: []string{f.host.KnownHosts},
	})
	candidates := hostsOf(t, gates...)
	var members []Member
	for i := range 9 {
		members = append(members, Member{fmt.Sprintf("web%d", i+1), f.host.User, "", candidates})
	}
	f.Relays = New(Options{
		Authority: authority, Dial: f.dialGate, First: func(hosts []string) { f.first = append(f.first, hosts...) }, NewNonce: rand.Text, Run: "RUN", Members: func() []Member { return members },
		Warn: func(text string) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.warned = append(f.warned, text)
		},
	})
	t.Cleanup(f.Close)
	return f
}

func (f *fleet) connect(to transport.Target) *transport.Client {
	f.Helper()
	d := &dial.Dialer{}
	c, err := d.Dial(f.Context(), to)
	require.NoError(f, err)
	f.Cleanup(func() {
		c.Close()
		d.Close()
	})
	return c
}

func (f *fleet) dialGate(_ context.Context, h *inventory.Host) (*transport.Client, error) {
	f.mu.Lock()
	f.dialed = append(f.dialed, h.Name)
	err := f.broken[h.Name]
	f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	gate := f.gates[h.Name]
	return f.connect(transport.Target{
		Host: h.Name, Address: gate.Host, Port: gate.Port, User: gate.User, PrivateKeys: []string{gate.KeyFile}, KnownHosts: []string{gate.KnownHosts},
	}), nil
}

func (f *fleet) bring(host string) string {
	return f.Bring(f.Context(), host, f.to, f.build, func(int64, int64) {})
}

func (f *fleet) delivered() string {
	return filepath.Join(f.host.Home, ".cache/ccm-push", f.build.CompressedSHA256+".gz")
}

func TestBring(t *testing.T) {
	f := newFleet(t, nil, "gate")
	var hosts sync.WaitGroup
	for i := range 9 {
		hosts.Go(func() {
			if got := f.bring(fmt.Sprintf("web%d", i+1)); got != f.delivered() {
				t.Errorf("%q", got)
			}
		})
	}
	hosts.Wait()
	require.Equal(t, []string{"gate"}, f.dialed)
	require.Equal(t, []string{"web1"}, f.first)
	require.Empty(t, f.warned)
	require.Less(t, f.gates["gate"].Stats().Received, 2*f.build.CompressedSize, "it was sent the program once")
	require.Empty(t, f.bring("another"), "it has no relay")
	kept := func() []string {
		list, err := filepath.Glob(filepath.Join(f.gates["gate"].Home, ".cache/ccm-push/.relay-*"))
		require.NoError(t, err)
		return list
	}
	require.Len(t, kept(), 1)
	f.Close()
	require.Empty(t, f.bring("web1"), "they are closed")
}

// TestNextRelay has relays fail one after the other, in different ways.
func TestNextRelay(t *testing.T) {
	f := newFleet(t, nil, "g1", "g2", "g3", "g4")
	f.broken["g1"] = (transport.Target{Host: "g1", Address: "192.0.2.1"}).Fail(transport.OpDial, errors.New("no route to host"), "x")
	require.NoError(t, os.WriteFile(filepath.Join(f.gates["g2"].Home, ".cache"), nil, 0o600))
	require.Equal(t, f.delivered(), f.bring("web1"))
	require.Equal(t, []string{"g1", "g2", "g3"}, f.dialed)
	require.Equal(t, []string{
		"relay g1 is not used: dial 192.0.2.1:22: no route to host",
		"relay g2 is not used: making a key to deliver with: no directory for the key in the home of the login user",
	}, f.warned)
	f.gates["g3"].Close()
	require.Equal(t, f.delivered(), f.bring("web2"))
	require.Len(t, f.warned, 3)
	require.Contains(t, f.warned[2], "relay g3 is not used any more: ")
	require.Contains(t, f.warned[2], "the connection was lost")
	f.gates["g4"].Close()
	require.Empty(t, f.bring("web3"))
	require.Empty(t, f.bring("web4"))
	require.Equal(t, []string{"g1", "g2", "g3", "g4"}, f.dialed, "none is asked twice")
	require.Len(t, f.warned, 4)
}

func TestHostsThatDoNotTrustTheAuthority(t *testing.T) {
	f := newFleet(t, nil, "g1", "g2")
	require.NoError(t, os.WriteFile(f.host.Authorities, nil, 0o600))
	for i := range 9 {
		require.Empty(t, f.bring(fmt.Sprintf("web%d", i+1)))
	}
	require.Equal(t, []string{"g1", "g2"}, f.dialed)
	require.Len(t, f.warned, 3, "%s", f.warned)
	require.Regexp(t, "^relay g1: delivering to web1: .*Permission denied.*; the controller sends the host program to this host, and to all hosts with this error$", f.warned[0])
	require.Regexp(t, "^relay g1 is not used any more: it has delivered to none of 3 hosts: delivering to web1: ", f.warned[1])
	require.Regexp(t, "^relay g2 is not used any more: ", f.warned[2])
}

func TestAuthorityRefuses(t *testing.T) {
	f := newFleet(t, usercert.ByCommand("echo the vault is sealed >&2; exit 2", "/bin/sh", nil), "g1", "g2")
	require.Empty(t, f.bring("web1"))
	require.Empty(t, f.bring("web2"))
	require.Equal(t, []string{`no host is a relay in this run: the command of the authority: exit status 2: it last wrote "the vault is sealed"`}, f.warned)
	require.Equal(t, []string{"g1"}, f.dialed)
}

// TestRelayThatLies has a relay report a delivery that it has not made.
func TestRelayThatLies(t *testing.T) {
	f := newFleet(t, nil, "g1", "g2")
	require.NotEmpty(t, f.bring("web1"))
	f.Refused("web1")
	require.Equal(t, []string{"relay g1 is not used any more: it has delivered other data to web1 than it was sent"}, f.warned)
	require.NotEmpty(t, f.bring("web2"))
	require.Equal(t, []string{"g1", "g2"}, f.dialed)
}

// TestRelayItself has a relay lack the program, which it takes once for itself and for others.
func TestRelayItself(t *testing.T) {
	f := newFleet(t, usercert.ByCommand("exit 1", "/bin/sh", nil), "web1", "web2")
	path := filepath.Join(f.gates["web1"].Home, ".cache/ccm-push", f.build.CompressedSHA256+".gz")
	require.Equal(t, path, f.bring("web1"), "nothing has to be certified for that")
	require.Empty(t, f.warned)
}
