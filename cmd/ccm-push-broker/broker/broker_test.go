package broker

import (
	"context"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ccm-push/ccm-push/playbooks/natsconn"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// It waits for ever if all messages were acknowledged before it began to run (nats.go 1.55).
		goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"))
}

// running is a broker under way.
type running struct {
	*Broker
	address string
	end     func() error

	mu   sync.Mutex
	said []string
}

func start(t *testing.T, dir string) *running { return startAt(t, dir, "127.0.0.1:0") }

func startAt(t *testing.T, dir, address string) *running {
	t.Helper()
	return run(t, &Broker{Dir: dir, Listen: address})
}

func run(t *testing.T, b *Broker) *running {
	t.Helper()
	r := &running{Broker: b}
	listening := make(chan string, 1)
	b.Listening = func(a string) { listening <- a }
	b.Say = func(text string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.said = append(r.said, text)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	r.end = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { require.NoError(t, r.end()) })
	select {
	case r.address = <-listening:
	case err := <-ended:
		ended <- err
		require.NoError(t, err)
	}
	return r
}

// link returns the connection of a user with a seed.
func (r *running) link(t *testing.T, seed string) *natsconn.Link {
	l := natsconn.New(natsconn.Config{Servers: "tls://" + r.address, CA: r.CA(), NKey: seed})
	t.Cleanup(l.Close)
	return l
}

func TestBroker(t *testing.T) {
	dir, seeds := filepath.Join(t.TempDir(), "broker"), t.TempDir()
	ops, late := filepath.Join(seeds, "ops.nk"), filepath.Join(seeds, "late.nk")
	require.NoError(t, (&Broker{Dir: dir}).AddUser("ops", Operator, ops))
	r := start(t, dir)

	js, err := r.link(t, ops).JetStream(t.Context())
	require.NoError(t, err)
	kv, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "B", Storage: jetstream.FileStorage})
	require.NoError(t, err)
	_, err = kv.PutString(t.Context(), "key", "value")
	require.NoError(t, err)

	// Others cannot log in, and nothing is sent in clear text.
	_, err = r.link(t, "").Conn(t.Context())
	require.ErrorContains(t, err, "Authorization Violation")
	_, err = natsconn.New(natsconn.Config{Servers: "nats://" + r.address}).Conn(t.Context())
	require.ErrorContains(t, err, "certificate signed by unknown authority")
	socket, err := net.Dial("tcp", r.address)
	require.NoError(t, err)
	defer socket.Close()
	require.NoError(t, socket.SetDeadline(time.Now().Add(time.Minute)))
	_, err = socket.Write([]byte("CONNECT {}\r\nPING\r\n"))
	require.NoError(t, err)
	said := make([]byte, 1<<16)
	var all strings.Builder
	for {
		n, err := socket.Read(said)
		all.Write(said[:n])
		if err != nil {
			break
		}
	}
	require.NotContains(t, all.String(), "PONG")

	// Users come and go while it runs.
	require.NoError(t, r.AddUser("late", Operator, late))
	require.Eventually(t, func() bool {
		l := natsconn.New(natsconn.Config{Servers: "tls://" + r.address, CA: r.CA(), NKey: late})
		defer l.Close()
		_, err := l.Conn(t.Context())
		return err == nil
	}, time.Minute, 50*time.Millisecond)
	conn, err := nats.Connect("tls://"+r.address, nats.RootCAs(r.CA()), option(t, late), nats.NoReconnect())
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, r.RemoveUser("late"))
	require.Eventually(t, conn.IsClosed, time.Minute, 50*time.Millisecond, "a connection of somebody who was removed")

	// A second broker refuses to run in the same folder, and a later one has the stored data, under the same authority.
	require.EqualError(t, (&Broker{Dir: dir, Listen: "127.0.0.1:0"}).Run(t.Context()), "another broker is running in "+dir)
	before, err := os.ReadFile(r.CA())
	require.NoError(t, err)
	require.NoError(t, r.end())
	again := start(t, dir)
	after, err := os.ReadFile(again.CA())
	require.NoError(t, err)
	require.Equal(t, before, after)
	js, err = again.link(t, ops).JetStream(t.Context())
	require.NoError(t, err)
	kv, err = js.KeyValue(t.Context(), "B")
	require.NoError(t, err)
	entry, err := kv.Get(t.Context(), "key")
	require.NoError(t, err)
	require.Equal(t, "value", string(entry.Value()))

	// Others on the machine see nothing of it, and the seeds are nowhere in it.
	seed, err := os.ReadFile(ops)
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		require.NotContains(t, string(text), strings.TrimSpace(string(seed)), path)
		return err
	}))
	for path, mode := range map[string]fs.FileMode{dir: 0o700, ops: 0o600, filepath.Join(dir, "ca.key"): 0o600} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm(), path)
	}
}

func option(t *testing.T, seed string) nats.Option {
	t.Helper()
	opt, err := nats.NkeyOptionFromSeed(seed)
	require.NoError(t, err)
	return opt
}

func TestNobodyYet(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "broker")
	r := start(t, dir)
	_, err := r.link(t, "").Conn(t.Context())
	require.ErrorContains(t, err, "Authorization Violation")
	r.mu.Lock()
	defer r.mu.Unlock()
	require.GreaterOrEqual(t, len(r.said), 2)
	require.Regexp(t, `^listening on 127\.0\.0\.1:\d+; the authority .*/ca\.pem is sha256:[0-9a-f]{64}$`, r.said[0])
	require.Equal(t, "no users yet; add one: ccm-push-broker user add NAME --dir "+dir, r.said[1])
}

func TestNotify(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	socket, err := net.ListenPacket("unixgram", path)
	require.NoError(t, err)
	defer socket.Close()
	require.NoError(t, socket.SetDeadline(time.Now().Add(time.Minute)))
	ctx, cancel := context.WithCancel(t.Context())
	b := &Broker{Dir: filepath.Join(t.TempDir(), "b"), Listen: "127.0.0.1:0", Notify: path, Say: func(string) {}}
	b.Listening = func(string) { cancel() }
	require.NoError(t, b.Run(ctx))
	for _, want := range []string{"READY=1", "STOPPING=1"} {
		text := make([]byte, 100)
		n, _, err := socket.ReadFrom(text)
		require.NoError(t, err)
		require.Equal(t, want, string(text[:n]))
	}
}

func TestWrong(t *testing.T) {
	open := t.TempDir()
	require.NoError(t, os.Chmod(open, 0o755))
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	run := func(b *Broker) error { return b.Run(t.Context()) }
	fresh := func() string { return filepath.Join(t.TempDir(), "b") }
	twice := fresh()
	for _, c := range []struct {
		name   string
		broker Broker
		call   func(*Broker) error
		err    string
	}{
		{"a folder of all", Broker{Dir: open}, run, "other users can enter " + open + " (mode 0755): chmod 0700 " + open},
		{"no address", Broker{Dir: fresh(), Listen: "4222"}, run, "--listen 4222: write HOST:PORT or :PORT"},
		{"no port", Broker{Dir: fresh(), Listen: ":nats"}, run, "--listen :nats: write HOST:PORT or :PORT"},
		{"a port that is taken", Broker{Dir: fresh(), Listen: taken.Addr().String()}, run, "--listen: listen tcp " + taken.Addr().String() + ": bind: address already in use"},
		{"a path for a name", Broker{Dir: fresh()}, func(b *Broker) error { return b.AddUser("../x", Operator, "x") }, `user "../x": write letters, digits and . _ @ - in a name`},
		{"no such user", Broker{Dir: "/nowhere"}, func(b *Broker) error { return b.RemoveUser("ann") }, `unknown user "ann" in /nowhere`},
		{"twice", Broker{Dir: twice}, func(b *Broker) error {
			require.NoError(t, b.AddUser("ann", Operator, filepath.Join(t.TempDir(), "ann.nk")))
			return b.AddUser("ann", Operator, "x")
		}, `the user "ann" already exists; to remove it: ccm-push-broker user remove ann --dir ` + twice},
		{"a file that is there", Broker{Dir: fresh()}, func(b *Broker) error { return b.AddUser("ann", Operator, open) }, "writing what ann logs in with: open " + open + ": file exists"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.broker.Say = func(string) {}
			require.EqualError(t, c.call(&c.broker), c.err)
		})
	}
}

// TestCertificates checks that certificates are renewed before they expire, for the given names.
func TestCertificates(t *testing.T) {
	ca, err := openAuthority(t.TempDir(), time.Now())
	require.NoError(t, err)
	cert, err := ca.sign([]string{"nats.example.com", "192.0.2.1"}, time.Now())
	require.NoError(t, err)
	require.NoError(t, cert.Leaf.VerifyHostname("nats.example.com"))
	require.NoError(t, cert.Leaf.VerifyHostname("192.0.2.1"))
	require.Error(t, cert.Leaf.VerifyHostname("other.example.com"))
	get := ca.config([]string{"localhost"}).GetCertificate
	one, err := get(nil)
	require.NoError(t, err)
	same, err := get(nil)
	require.NoError(t, err)
	require.Same(t, one, same)
	one.Leaf.NotAfter = time.Now().Add(certificateLife / 3)
	next, err := get(nil)
	require.NoError(t, err)
	require.NotSame(t, one, next)
}
