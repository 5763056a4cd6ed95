package main

import (
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A pipeEnd has one direction only, so that CloseWrite can end it.
type pipeEnd struct{ net.Conn }

func (p pipeEnd) CloseWrite() error { return p.Close() }

func TestLinkDelaysEachPacketAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay, gap, packets = 25 * time.Millisecond, 10 * time.Millisecond, 5
		source, in := net.Pipe()
		out, drain := net.Pipe()
		l := newLink(delay)
		var g sync.WaitGroup
		defer g.Wait()
		g.Go(func() { l.send(in) })
		g.Go(func() { l.deliver(pipeEnd{out}) })
		g.Go(func() {
			for range packets {
				source.Write([]byte("x"))
				time.Sleep(gap)
			}
			source.Close()
		})

		start := time.Now()
		buf := make([]byte, 10)
		for i := range packets {
			n, err := drain.Read(buf)
			require.NoError(t, err)
			require.Equal(t, 1, n)
			require.Equal(t, delay+time.Duration(i)*gap, time.Since(start))
		}
		_, err := drain.Read(buf)
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, delay+packets*gap, time.Since(start), "the end is delayed too")
	})
}

func TestLinkEndsWhenTheReaderIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, in := net.Pipe()
		out, drain := net.Pipe()
		drain.Close()
		l := newLink(time.Millisecond)
		var g sync.WaitGroup
		g.Go(func() { l.send(in) })
		g.Go(func() { l.deliver(pipeEnd{out}) })
		_, err := source.Write([]byte("x"))
		require.NoError(t, err)
		<-l.closed
		source.Close()
		g.Wait()
	})
}

// A client sees its first echo after the handshake and one round trip: two.
func TestRelay(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	front, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var g sync.WaitGroup
	defer g.Wait()
	defer echo.Close()
	defer front.Close()
	g.Go(func() {
		conn, err := echo.Accept()
		if err == nil {
			defer conn.Close()
			io.Copy(conn, conn)
		}
	})
	const rtt = 20 * time.Millisecond
	g.Go(func() {
		conn, err := front.Accept()
		if err == nil {
			relay(t.Context(), conn.(*net.TCPConn), echo.Addr().String(), rtt)
		}
	})

	start := time.Now()
	conn, err := net.Dial("tcp", front.Addr().String())
	require.NoError(t, err)
	_, err = conn.Write([]byte("hello"))
	require.NoError(t, err)
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	got, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Equal(t, "hello", string(got))
	require.GreaterOrEqual(t, time.Since(start), 2*rtt)
}

func TestUsage(t *testing.T) {
	const want = "usage: lag --rtt 50ms --listen ADDRESS --to ADDRESS [--listen ADDRESS --to ADDRESS ...]"
	for _, args := range [][2][]string{{nil, nil}, {{"a"}, nil}, {{"a"}, {"b", "c"}}} {
		require.EqualError(t, run(t.Context(), 0, args[0], args[1]), want)
	}
}
