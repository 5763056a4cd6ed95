package faultproxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport/sshtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// between returns both ends of a connection through a proxy.
func between(t *testing.T, f Fault) (p *Proxy, client, server *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	p, err = Listen(l.Addr().String(), f)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	conn, err := net.DialTCP("tcp", nil, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: p.Port()})
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	other, err := l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { other.Close() })
	return p, conn, other.(*net.TCPConn)
}

// all reads so many bytes, and then looks for a moment whether there is more, or the end.
func all(t *testing.T, from *net.TCPConn, n int) (string, error) {
	t.Helper()
	require.NoError(t, from.SetReadDeadline(time.Now().Add(30*time.Second)))
	first := make([]byte, n)
	got, err := io.ReadFull(from, first)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return string(first[:got]), err
	}
	require.NoError(t, from.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	more, err := io.ReadAll(from)
	return string(first[:got]) + string(more), err
}

// TestFaults sends a thousand bytes, of which a hundred pass before the fault, and then
// some in the other direction.
func TestFaults(t *testing.T) {
	sent := strings.Repeat("0123456789", 100)
	for _, d := range []Direction{ToServer, FromServer} {
		for kind, want := range map[Kind]struct {
			here, back string // data that arrives in the direction of the fault, and in the other one
			err        error  // error of the reader here; nil means an end
			backErr    error
		}{
			None:      {sent, "answer", os.ErrDeadlineExceeded, os.ErrDeadlineExceeded},
			Cut:       {sent[:100], "", nil, nil},
			Reset:     {"", "", syscall.ECONNRESET, syscall.ECONNRESET},
			HalfClose: {sent[:100], "answer", nil, os.ErrDeadlineExceeded},
			Stall:     {sent[:100], "", os.ErrDeadlineExceeded, os.ErrDeadlineExceeded},
			Drip:      {sent, "answer", os.ErrDeadlineExceeded, os.ErrDeadlineExceeded},
		} {
			t.Run(kind.String()+" "+d.String(), func(t *testing.T) {
				t.Parallel()
				p, from, to := between(t, Fault{Kind: kind, Direction: d, Bytes: 100})
				if d == FromServer {
					from, to = to, from
				}
				_, err := from.Write([]byte(sent))
				require.NoError(t, err)
				require.Eventually(t, func() bool { return p.Struck(0) == (kind != None) }, time.Minute, time.Millisecond)
				if kind != Reset { // a write would take the error from the read
					_, err = to.Write([]byte("answer"))
					require.NoError(t, err)
				}
				if kind == Stall {
					require.NoError(t, from.CloseWrite(), "nobody hears of it")
				}
				got, err := all(t, to, len(want.here))
				require.ErrorIs(t, err, want.err)
				if kind != Reset { // a reset may discard data that had arrived
					require.Equal(t, want.here, got)
				}
				got, err = all(t, from, len(want.back))
				require.ErrorIs(t, err, want.backErr)
				require.Equal(t, want.back, got)
			})
		}
	}
}

// TestAnEndPasses without a fault.
func TestAnEndPasses(t *testing.T) {
	_, client, server := between(t, Fault{})
	require.NoError(t, client.CloseWrite())
	got, err := all(t, server, 0)
	require.NoError(t, err)
	require.Empty(t, got)
	_, err = server.Write([]byte("late"))
	require.NoError(t, err)
	require.NoError(t, server.Close())
	got, err = all(t, client, 4)
	require.NoError(t, err)
	require.Equal(t, "late", got)
}

// run has an SSH client run a command through a proxy.
func run(t *testing.T, srv *sshtest.Server, f Fault) (p *Proxy, output string, err error) {
	t.Helper()
	p, err = Listen(srv.Addr, f)
	require.NoError(t, err)
	t.Cleanup(func() { p.Close() })
	pem, err := os.ReadFile(srv.KeyFile)
	require.NoError(t, err)
	key, err := ssh.ParsePrivateKey(pem)
	require.NoError(t, err)
	conn, err := net.DialTCP("tcp", nil, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: p.Port()})
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	c, channels, requests, err := ssh.NewClientConn(conn, srv.Addr, &ssh.ClientConfig{
		User: srv.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(key)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(),
	})
	if err != nil {
		return p, "", err
	}
	client := ssh.NewClient(c, channels, requests)
	t.Cleanup(func() { client.Close() })
	session, err := client.NewSession()
	if err != nil {
		return p, "", err
	}
	b, err := session.Output("echo hello")
	return p, string(b), err
}

// TestPackets cuts a session of SSH after each of its packets, in both directions: exactly that many pass.
func TestPackets(t *testing.T) {
	srv := sshtest.Start(t)
	whole, output, err := run(t, srv, Fault{})
	require.NoError(t, err)
	require.Equal(t, "hello\n", output)
	for _, d := range []Direction{ToServer, FromServer} {
		count := whole.Passed(0, d).Packets
		require.Greater(t, count, 8, "lengths of encrypted packets are understood")
		for n := range count - 4 { // the last ones have no fixed order
			p, _, err := run(t, srv, Fault{Kind: Cut, Direction: d, Packets: n})
			require.True(t, p.Struck(0))
			require.Equal(t, n, p.Passed(0, d).Packets)
			if n < 6 {
				require.Error(t, err)
			}
			p, _, _ = run(t, srv, Fault{Kind: Cut, Direction: d, Packets: n, Bytes: 3})
			require.True(t, p.Struck(0))
			require.Equal(t, n, p.Passed(0, d).Packets)
		}
	}
}

// TestOtherCiphers have lengths that cannot be read.
func TestOtherCiphers(t *testing.T) {
	var p packets
	for _, b := range []byte("hello\r\nSSH-2.0-x\r\n\x00\x00\x00\x06\x04\x15\x00\x00\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00") {
		p.add(b)
	}
	require.Equal(t, 2, p.count)
	require.True(t, p.encrypted)
	require.True(t, p.lost)
	require.Equal(t, int64(8), p.since)
}

// TestManyConnections each have the fault of their number.
func TestManyConnections(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p, err := Listen(l.Addr().String(), Fault{Kind: Cut, Direction: FromServer, Bytes: 2}, Fault{Kind: Cut, Direction: FromServer, Bytes: 4})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				conn.Write(bytes.Repeat([]byte("x"), 10))
				<-ctx.Done()
			})
		}
	})
	for _, want := range []struct {
		n   int
		err error
	}{{2, nil}, {4, nil}, {10, os.ErrDeadlineExceeded}} {
		conn, err := net.DialTCP("tcp", nil, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: p.Port()})
		require.NoError(t, err)
		got, err := all(t, conn, want.n)
		require.Len(t, got, want.n)
		require.True(t, errors.Is(err, want.err))
		require.NoError(t, conn.Close())
	}
	require.Equal(t, 3, p.Connections())
	cancel()
	require.NoError(t, p.Close())
	require.NoError(t, l.Close())
	serving.Wait()
}
