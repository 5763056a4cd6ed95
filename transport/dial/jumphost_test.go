package dial

import (
	"context"
	"net"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

func TestJumpErrors(t *testing.T) {
	srv, jump := sshtest.Start(t), sshtest.Start(t)
	bastion := targetOf(jump)
	bastion.Host = "bastion"
	unknown := bastion
	unknown.KnownHosts = []string{writeFile(t, "")}
	refused := bastion
	refused.User = "nobody"
	gone := targetOf(srv)
	gone.Port = 1

	for _, test := range []struct {
		name   string
		target transport.Target
		jump   transport.Target
		err    string
		is     error
	}{
		{"unknown key", targetOf(srv), unknown, "web1: jump host bastion: host key JUMP: the host key is unknown: ", transport.ErrHostKeyUnknown},
		{"not let in", targetOf(srv), refused, "web1: jump host bastion: authenticate JUMP: authentication refused: ", transport.ErrAuth},
		{"host behind it is gone", gone, bastion, "web1: dial 127.0.0.1:1: connection refused, seen from bastion\n  hint: no program listens on port 1: is sshd running, and does it use this port?", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := &Dialer{}
			defer d.Close()
			test.target.Jump = []transport.Target{test.jump}
			err := dialOnce(t, d, test.target)
			require.Contains(t, masked(err, srv.Addr, "ADDR", jump.Addr, "JUMP"), test.err)
			require.True(t, transport.Unreachable(err))
			require.ErrorIs(t, err, cmpOr(test.is, err))
		})
	}
}

func cmpOr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func TestDeadJumpHostIsTriedOnceInAWhile(t *testing.T) {
	known := []string{writeFile(t, "")}
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		d := &Dialer{DialContext: func(context.Context, string, string) (net.Conn, error) {
			dials++
			near, _ := wire(t) // nobody answers
			return near, nil
		}}
		bastion := transport.Target{Host: "bastion", Address: "10.0.0.9", User: "deploy", KnownHosts: known}
		dial := func() {
			err := dialOnce(t, d, transport.Target{Host: "web1", Address: "10.0.0.1", User: "deploy", Jump: []transport.Target{bastion}})
			require.EqualError(t, err, "web1: jump host bastion: handshake 10.0.0.9:22: timed out after 10s\n"+
				"  hint: the port accepted the connection, but no SSH server answered in time: does sshd use this port?")
		}
		began := time.Now()
		for range 5 {
			dial()
		}
		require.Equal(t, 1, dials)
		require.Equal(t, defaultLimits.Dial, time.Since(began))
		time.Sleep(defaultLimits.Dial)
		dial()
		require.Equal(t, 2, dials)
		d.Close()
	})
}

func TestJumpHostThatWasLostIsDialledAgain(t *testing.T) {
	srv, jump := sshtest.Start(t), sshtest.Start(t)
	d := &Dialer{}
	defer d.Close()
	target := targetOf(srv)
	target.Jump = []transport.Target{targetOf(jump)}
	require.NoError(t, dialOnce(t, d, target))
	via, err := d.jump(t.Context(), target.Jump)
	require.NoError(t, err)
	require.NoError(t, via.conn.client.Close())
	require.NoError(t, dialOnce(t, d, target))
	require.EqualValues(t, 2, jump.Stats().Connections)
}

func TestHostBehindJumpHostThatSaysNothing(t *testing.T) {
	silent, jump := sshtest.Start(t, sshtest.Silent()), sshtest.Start(t)
	d := &Dialer{}
	defer d.Close()
	target := targetOf(silent)
	target.Limits = shortLimits
	target.Jump = []transport.Target{targetOf(jump)}
	require.ErrorIs(t, dialOnce(t, d, target), transport.ErrTimeout)
}

func TestClosedDialerHasNoJumpHosts(t *testing.T) {
	srv, jump := sshtest.Start(t), sshtest.Start(t)
	d := &Dialer{}
	target := targetOf(srv)
	target.Jump = []transport.Target{targetOf(jump)}
	c, err := d.Dial(t.Context(), target)
	require.NoError(t, err)
	require.NoError(t, d.Close())
	<-c.Done()
	c.Close()
	require.EqualError(t, dialOnce(t, d, target), "web1: dial "+srv.Addr+": the dialer is closed")
}

// TestJumpHostThatNeverClosesAChannel checks that only its hosts suffer.
func TestJumpHostThatNeverClosesAChannel(t *testing.T) {
	signer := newSigner(t, "")
	near, far := wire(t)
	var server sync.WaitGroup
	server.Go(func() { serveStuckChannels(far, signer) })
	d := &Dialer{DialContext: func(context.Context, string, string) (net.Conn, error) { return near, nil }}
	jump := transport.Target{Host: "bastion", Address: "h", User: "u", KnownHosts: []string{writeFile(t, "h "+publicText(signer)+"\n")}}
	err := dialOnce(t, d, transport.Target{Host: "web1", Address: "w", User: "u", Limits: shortLimits, Jump: []transport.Target{jump}})
	require.EqualError(t, err, "web1: handshake w:22: timed out after 300ms\n  hint: the port accepted the connection, but no SSH server answered in time: does sshd use this port?")
	d.Close()
	server.Wait()
}

func serveStuckChannels(conn net.Conn, key ssh.Signer) {
	config := &ssh.ServerConfig{NoClientAuth: true}
	config.AddHostKey(key)
	_, chans, reqs, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() { ssh.DiscardRequests(reqs) })
	for c := range chans {
		if _, requests, err := c.Accept(); err == nil {
			work.Go(func() { ssh.DiscardRequests(requests) })
		}
	}
}

// TestFullJumpConnection has more hosts than share a connection.
func TestFullJumpConnection(t *testing.T) {
	jump := sshtest.Start(t)
	jumpHosts := []transport.Target{targetOf(jump)}
	dials := 0
	d := &Dialer{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if dials++; dials > 2 {
			return nil, syscall.EACCES
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}}
	defer d.Close()
	slots := map[*jumpConn][]*slot{}
	for range 2*maxSlots + 50 { // the third connection fails
		s, err := d.jump(t.Context(), jumpHosts)
		require.NoError(t, err)
		slots[s.conn] = append(slots[s.conn], s)
	}
	require.Len(t, slots, 2)
	require.Equal(t, 3, dials)
	for _, list := range slots {
		require.GreaterOrEqual(t, len(list), maxSlots)
		for _, s := range list {
			s.release()
			s.release()
		}
	}
	for host := range slots {
		require.Zero(t, host.users)
	}
}

// TestSeatsAreGivenBack has hosts come and go, and others fail.
func TestSeatsAreGivenBack(t *testing.T) {
	srv, jump := sshtest.Start(t), sshtest.Start(t)
	d := &Dialer{}
	defer d.Close()
	target := targetOf(srv)
	target.Jump = []transport.Target{targetOf(jump)}
	require.NoError(t, dialOnce(t, d, target))
	gone, refused := target, target
	gone.Port, refused.User = 1, "nobody"
	require.Error(t, dialOnce(t, d, gone))
	require.Error(t, dialOnce(t, d, refused))
	require.Zero(t, d.jumps.route(target.Jump).conns[0].users)
}

// TestHostsBehindADeadJumpHostHaveOneError lets a report print that error once.
func TestHostsBehindADeadJumpHostHaveOneError(t *testing.T) {
	srv := sshtest.Start(t)
	outer := transport.Target{Host: "outer", Address: "127.0.0.1", Port: 1, User: "u"}
	inner := targetOf(srv)
	inner.Host = "inner"
	d := &Dialer{}
	defer d.Close()
	for _, jumpHosts := range [][]transport.Target{{outer}, {outer, inner}} {
		for _, address := range []string{"10.0.0.1", "10.0.0.2"} {
			err := dialOnce(t, d, transport.Target{Host: "web", Address: address, User: "u", Jump: jumpHosts})
			require.EqualError(t, err, "web: jump host outer: dial 127.0.0.1:1: connection refused\n  hint: no program listens on port 1: is sshd running, and does it use this port?")
			require.Equal(t, "outer", err.(*transport.HostError).Via.Host)
			require.True(t, transport.Unreachable(err))
		}
	}
}

// TestFarErrors has a jump host that is well say why it did not connect.
func TestFarErrors(t *testing.T) {
	for _, test := range []struct {
		name   string
		reason ssh.RejectionReason
		said   string
		err    string
	}{
		{"OpenSSH", ssh.ConnectionFailed, "Connection refused",
			"web1: dial w:2222: connection refused, seen from gate\n  hint: no program listens on port 2222: is sshd running, and does it use this port?"},
		{"one in Go", ssh.ConnectionFailed, "dial tcp 10.0.0.1:22: connect: connection refused",
			"web1: dial w:2222: connection refused, seen from gate\n  hint: no program listens on port 2222: is sshd running, and does it use this port?"},
		{"host is down", ssh.ConnectionFailed, "No route to host",
			"web1: dial w:2222: no route to host, seen from gate\n  hint: is the host up, and is there a way to its network from gate?"},
		{"no network", ssh.ConnectionFailed, "Network is unreachable",
			"web1: dial w:2222: network is unreachable, seen from gate\n  hint: is the host up, and is there a way to its network from gate?"},
		{"a firewall", ssh.ConnectionFailed, "Connection timed out",
			"web1: dial w:2222: connection timed out, seen from gate\n  hint: is the address right, and does a firewall drop the packets?"},
		{"something else", ssh.ConnectionFailed, "\x1b[2J: refused", `web1: dial w:2222: connect failed, seen from gate: "\x1b[2J: refused"`},
		{"nothing", ssh.ConnectionFailed, "", `web1: dial w:2222: connect failed, seen from gate: ""`},
		{"may not", ssh.Prohibited, "open failed", `web1: dial w:2222: not forwarded by gate: administratively prohibited: "open failed"` +
			"\n  hint: does gate let this user connect to other hosts (sshd_config: AllowTcpForwarding, PermitOpen)?"},
		{"may not, in other words", ssh.ResourceShortage, "connection refused", `web1: dial w:2222: not forwarded by gate: resource shortage: "connection refused"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			target := transport.Target{Host: "web1", Address: "w", Port: 2222}
			far := &behindJumpError{"gate", &ssh.OpenChannelError{Reason: test.reason, Message: test.said}}
			err := target.Fail(transport.OpDial, dialCause(far), dialHint(target, far))
			require.EqualError(t, err, test.err)
			require.ErrorAs(t, err, new(*ssh.OpenChannelError)) // which decides about retries
		})
	}
}
