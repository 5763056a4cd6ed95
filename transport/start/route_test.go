package start

import (
	"context"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// The ways on which a host is reached, each up to a program that runs there.

func TestJumpHostsAreShared(t *testing.T) {
	outer, inner := sshtest.Start(t), sshtest.Start(t)
	first, second := targetOf(outer), targetOf(inner)
	first.Host, second.Host = "outer", "inner"
	d := &dial.Dialer{}
	defer d.Close()
	var hosts sync.WaitGroup
	for range 4 {
		srv := sshtest.Start(t)
		hosts.Go(func() {
			target := targetOf(srv)
			target.Jump = []transport.Target{first, second}
			c, err := d.Dial(t.Context(), target)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			p, err := Program(t.Context(), c, newStart(hello(t)))
			if err != nil {
				t.Error(err)
				return
			}
			requireEcho(t, p)
		})
	}
	hosts.Wait()
	require.EqualValues(t, 1, outer.Stats().Connections)
	require.EqualValues(t, 1, inner.Stats().Connections)
	require.EqualValues(t, 1, outer.Stats().Forwards)
	require.EqualValues(t, 4, inner.Stats().Forwards)
}

func TestProxyCommand(t *testing.T) {
	srv := sshtest.Start(t)
	target := targetOf(srv)
	target.ProxyCommand = srv.ProxyCommand(t)
	d := &dial.Dialer{DialContext: func(context.Context, string, string) (net.Conn, error) {
		t.Error("it was dialled besides")
		return nil, net.ErrClosed
	}}
	c, err := d.Dial(t.Context(), target)
	require.NoError(t, err)
	p, err := Program(t.Context(), c, newStart(hello(t)))
	require.NoError(t, err)
	requireEcho(t, p)
	require.NoError(t, c.Close())
}

// realSSHD returns the target to log in to OpenSSH's own sshd.
func realSSHD(t *testing.T) (d *dial.Dialer, target transport.Target, srv *sshtest.SSHD) {
	t.Helper()
	srv = sshtest.StartSSHD(t)
	target = transport.Target{
		Host: "web1", Address: srv.Address, User: srv.User,
		PrivateKeys: []string{srv.KeyFile}, KnownHosts: []string{srv.KnownHosts},
	}
	return &dial.Dialer{DialContext: srv.Dial}, target, srv
}

func TestRealSSHD(t *testing.T) {
	d, target, srv := realSSHD(t)
	c, err := d.Dial(t.Context(), target)
	require.NoError(t, err)
	defer c.Close()
	for _, uploaded := range []bool{true, false} {
		start := newStart(hello(t))
		p, err := Program(t.Context(), c, start)
		require.NoError(t, err)
		require.Equal(t, uploaded, p.Uploaded)
		requireEcho(t, p)
	}
	require.FileExists(t, filepath.Join(srv.Home, ".cache/ccm-push", hello(t).SHA256))
	start := newStart(hello(t))
	start.Facts = "exit7"
	p, err := Program(t.Context(), c, start)
	require.NoError(t, err)
	require.Equal(t, &transport.ExitError{Code: 7, Stderr: "hello on stderr\n"}, p.Wait())
}

func TestRealSSHDManyHosts(t *testing.T) {
	d, target, _ := realSSHD(t)
	var hosts sync.WaitGroup
	for range 4 {
		hosts.Go(func() {
			c, err := d.Dial(t.Context(), target)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			p, err := Program(t.Context(), c, newStart(hello(t)))
			if err != nil {
				t.Error(err)
				return
			}
			requireEcho(t, p)
		})
	}
	hosts.Wait()
}
