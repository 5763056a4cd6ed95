package start

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shortTimeout is for hosts that never answer.
const shortTimeout = 300 * time.Millisecond

// helloBuild is the program in testdata/hello, built once.
var helloBuild = sync.OnceValues(func() (Build, error) {
	dir, err := os.MkdirTemp("", "hello-")
	if err != nil {
		return Build{}, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "hello")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w", "-o", file, "./testdata/hello")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return Build{}, fmt.Errorf("%w: %s", err, out)
	}
	program, err := os.ReadFile(file)
	if err != nil {
		return Build{}, err
	}
	return packBuild(program)
})

// packBuild makes a build for this system of a program.
func packBuild(program []byte) (Build, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(program); err != nil {
		return Build{}, err
	}
	if err := w.Close(); err != nil {
		return Build{}, err
	}
	sum, packedSum := sha256.Sum256(program), sha256.Sum256(packed.Bytes())
	return Build{
		OS: runtime.GOOS, Arch: runtime.GOARCH,
		SHA256: hex.EncodeToString(sum[:]), Size: int64(len(program)), Compressed: here(packed.Bytes()),
		CompressedSize: int64(packed.Len()), CompressedSHA256: hex.EncodeToString(packedSum[:]),
	}, nil
}

func hello(t testing.TB) Build {
	t.Helper()
	b, err := helloBuild()
	require.NoError(t, err)
	return b
}

// targetOf returns the target to log in to srv.
func targetOf(srv *sshtest.Server) transport.Target {
	return transport.Target{
		Host: "web1", Address: srv.Host, Port: srv.Port, User: srv.User,
		PrivateKeys: []string{srv.KeyFile}, KnownHosts: []string{srv.KnownHosts},
	}
}

// connect opens a connection that ends with the test.
func connect(t testing.TB, srv *sshtest.Server) *transport.Client {
	t.Helper()
	d := &dial.Dialer{}
	c, err := d.Dial(t.Context(), targetOf(srv))
	require.NoError(t, err)
	t.Cleanup(func() {
		c.Close()
		d.Close()
	})
	return c
}

func newStart(builds ...Build) Request {
	nonce := rand.Text()
	return Request{Nonce: nonce, Greeting: fmt.Appendf(nil, `{"hello":{"nonce":%q,`, nonce), Facts: "-", Builds: builds}
}

// requireEcho holds a conversation with the hello program and lets it end.
func requireEcho(t testing.TB, p *Process) {
	t.Helper()
	text := strings.Repeat("ping\n", 1000)
	_, err := io.WriteString(p, text)
	require.NoError(t, err)
	require.NoError(t, p.CloseWrite())
	out, err := io.ReadAll(p.Stdout())
	require.NoError(t, err)
	require.Equal(t, text, string(out))
	require.NoError(t, p.Wait())
	require.Equal(t, "hello on stderr\n", p.Stderr())
}

// masked replaces the changing parts of a message.
func masked(err error, pairs ...string) string {
	if err == nil {
		return ""
	}
	return strings.NewReplacer(pairs...).Replace(err.Error())
}

// here returns bytes that need not be fetched.
func here(b []byte) func() ([]byte, error) { return func() ([]byte, error) { return b, nil } }

// compressed is the program of a build in gzip.
func (b Build) compressed(t testing.TB) []byte {
	t.Helper()
	packed, err := b.Compressed()
	require.NoError(t, err)
	return packed
}

// sent returns the bytes that the controller sends to a script that needs the build.
func (b Build) sent(t testing.TB) []byte {
	t.Helper()
	return append([]byte(b.header()), b.compressed(t)...)
}

// A silence is a start whose host falls silent somewhere: until then it has all the time
// that it needs, however busy this machine is, and from then on it must move within
// shortTimeout.
type silence struct{ idle atomic.Pointer[idleTimeout] }

// falls is called, from any goroutine, when the host has fallen silent.
func (s *silence) falls() { s.idle.Load().allow(shortTimeout) }

// start is [Program].
func (s *silence) start(ctx context.Context, c *transport.Client, r Request) (p *Process, err error) {
	in := installer{newRunner(c, r), r}
	err = in.runner.untilIdle(ctx, func() (err error) {
		s.idle.Store(in.runner.idle)
		p, err = in.start()
		return err
	})
	return p, err
}

// startUntil is start for a host that falls silent when it has made a file.
func (s *silence) startUntil(t *testing.T, file string, c *transport.Client, r Request) (p *Process, err error) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p, err = s.start(t.Context(), c, r)
	}()
	require.Eventually(t, func() bool { return exists(file) }, time.Minute, 5*time.Millisecond)
	for {
		s.falls()
		select {
		case <-ended:
			return p, err
		case <-time.After(2 * shortTimeout): // the runner itself has allowed more meanwhile
		}
	}
}
