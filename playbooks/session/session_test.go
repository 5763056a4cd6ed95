package session

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A puppet is a host program in the hands of a test.
type puppet struct {
	out  *io.PipeWriter // output of the puppet
	in   *io.PipeReader // input of the puppet
	conn *wire.Conn

	stdout *bufio.Reader
	stdin  *io.PipeWriter
	once   sync.Once
	gone   chan struct{}
}

func newPuppet() *puppet {
	heard, say := io.Pipe()
	hear, sent := io.Pipe()
	p := &puppet{out: say, in: hear, stdout: bufio.NewReader(heard), stdin: sent, gone: make(chan struct{})}
	p.conn = wire.NewConn(bufio.NewReader(hear), say, wire.MaxFromController)
	return p
}

func (p *puppet) Stdout() *bufio.Reader       { return p.stdout }
func (p *puppet) Write(b []byte) (int, error) { return p.stdin.Write(b) }
func (p *puppet) CloseWrite() error           { return p.stdin.Close() }
func (p *puppet) Wait() error                 { <-p.gone; return errors.New("the connection was closed") }

// Close closes both ends, in the same way as the end of a process.
func (p *puppet) Close() error {
	p.stdin.Close()
	return p.out.CloseWithError(io.EOF)
}

// cut ends the connection that it is on.
func (p *puppet) cut() {
	p.once.Do(func() { close(p.gone) })
	p.in.Close()
	p.Close()
}

// one is a catalog of a single resource.
func one() *catalog.Compiled {
	return &catalog.Compiled{Catalog: wire.Catalog{Entries: []wire.Entry{{Type: "exec", Name: "true"}}}}
}

// task is a catalog whose results are dropped.
func task(c *catalog.Compiled) Task {
	return Task{Compiled: c, Emit: func(*wire.Result) {}, Flush: func() {}, Sync: func() bool { return true }}
}

// converse runs one catalog on a puppet and returns how it ended.
func converse(t *testing.T, act func(*puppet)) (whole bool, err error) {
	return converseOn(t, task(one()), act)
}

// converseOn is converse on a task.
func converseOn(t *testing.T, task Task, act func(*puppet)) (whole bool, err error) {
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		s := New(t.Context(), p, time.Now, 0)
		var host sync.WaitGroup
		host.Go(func() { act(p) })
		whole, err = s.Apply(t.Context(), nil, task)
		p.cut()
		s.Close()
		host.Wait()
	})
	return whole, err
}

func TestSilence(t *testing.T) {
	_, err := converse(t, func(p *puppet) { io.Copy(io.Discard, p.in) })
	require.EqualError(t, err, "nothing was heard from the host for 1m")
}

// TestIdleTimeout is one of another length, and pings come often enough for it.
func TestIdleTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		s := New(t.Context(), p, time.Now, 6*time.Second)
		start, pings := time.Now(), 0
		var host sync.WaitGroup
		host.Go(func() {
			for {
				if m, err := p.conn.Receive(); err != nil {
					return
				} else if m.Ping != nil {
					pings++
				}
			}
		})
		_, err := s.Apply(t.Context(), nil, task(one()))
		require.EqualError(t, err, "nothing was heard from the host for 6s")
		require.InDelta(t, 6*time.Second, time.Since(start), float64(time.Millisecond))
		p.cut()
		s.Close()
		host.Wait()
		require.GreaterOrEqual(t, pings, 2)
	})
}

func TestClosedOutput(t *testing.T) {
	_, err := converse(t, func(p *puppet) {
		p.out.Close()
		io.Copy(io.Discard, p.in)
	})
	require.EqualError(t, err, "the host closed its output in the middle of the run")
}

// TestBrokenConnection checks that a broken connection is not reported as a wrong message, whichever error it has.
func TestBrokenConnection(t *testing.T) {
	for _, broken := range []error{
		io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed,
		&net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.ECONNRESET)},
		&net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded},
		syscall.EPIPE, syscall.ECONNRESET, syscall.ETIMEDOUT,
		&fs.PathError{Op: "read", Path: "|0", Err: os.ErrClosed},
	} {
		_, err := converse(t, func(p *puppet) {
			p.once.Do(func() { close(p.gone) })
			p.out.CloseWithError(broken)
			io.Copy(io.Discard, p.in)
		})
		require.EqualError(t, err, "the connection was closed", "%v", broken)
		_, isBreach := errors.AsType[Breach](err)
		require.False(t, isBreach, "%v", broken)
	}
}

// TestLongResource is silent for an hour, except for its pongs.
func TestLongResource(t *testing.T) {
	whole, err := converse(t, func(p *puppet) {
		_, err := p.conn.Receive()
		require.NoError(t, err)
		for end := time.Now().Add(time.Hour); time.Now().Before(end); {
			m, err := p.conn.Receive()
			require.NoError(t, err)
			require.NotNil(t, m.Ping)
			require.NoError(t, p.conn.Send(&wire.Message{Pong: &wire.Empty{}}))
		}
		require.NoError(t, p.conn.Send(&wire.Message{Result: &wire.Result{}}, &wire.Message{Done: &wire.Done{}}))
		io.Copy(io.Discard, p.in)
	})
	require.NoError(t, err)
	require.True(t, whole)
}

// TestDeafHost takes no input any more; the reason it gave is heard.
func TestDeafHost(t *testing.T) {
	_, err := converse(t, func(p *puppet) {
		_, err := p.conn.Receive()
		require.NoError(t, err)
		p.in.Close()
		time.Sleep(wire.PingInterval(0) + time.Second)
		require.NoError(t, p.conn.Send(&wire.Message{Refused: &wire.Refused{Phase: "lock", Error: "taken"}}))
	})
	require.Equal(t, Refused{Phase: "lock", Reason: "taken"}, err)
}

// TestHostThatTakesNothing never reads: pings pile up and it is not heard.
func TestHostThatTakesNothing(t *testing.T) {
	_, err := converse(t, func(*puppet) {})
	require.EqualError(t, err, "nothing was heard from the host for 1m")
}

// TestKillGrace uses a host that does not obey.
func TestKillGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, kill := context.WithCancel(t.Context())
		p := newPuppet()
		s := New(ctx, p, time.Now, 0)
		var host sync.WaitGroup
		host.Go(func() {
			p.conn.Receive()
			kill()
			m, err := p.conn.Receive()
			require.NoError(t, err)
			require.NotNil(t, m.Kill)
			io.Copy(io.Discard, p.in)
		})
		start := time.Now()
		_, err := s.Apply(ctx, nil, task(one()))
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, killGrace, time.Since(start))
		p.cut()
		s.work.Wait()
		host.Wait()
	})
}

// TestStoppedByRequest uses a host that skips the remaining resources on request.
func TestStoppedByRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		s := New(t.Context(), p, time.Now, 0)
		stop := make(chan struct{})
		var host sync.WaitGroup
		host.Go(func() {
			p.conn.Receive()
			close(stop)
			m, err := p.conn.Receive()
			require.NoError(t, err)
			require.NotNil(t, m.Stop)
			require.NoError(t, p.conn.Send(&wire.Message{Done: &wire.Done{Stopped: true}}))
		})
		whole, err := s.Apply(t.Context(), stop, task(one()))
		require.NoError(t, err)
		require.False(t, whole)
		p.cut()
		s.Close()
		host.Wait()
	})
}
