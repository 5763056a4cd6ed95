package dial

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// shortTimeout is for hosts that never answer.
const shortTimeout = 300 * time.Millisecond

var shortLimits = transport.Limits{Dial: shortTimeout, Handshake: shortTimeout, Auth: shortTimeout, Sign: shortTimeout}

func TestHostsThatMisbehaveFailAlone(t *testing.T) {
	for _, test := range []struct {
		name   string
		option sshtest.Option
		err    string
		is     error
	}{
		{"silent", sshtest.Silent(), "web1: handshake ADDR: timed out after 300ms\n  hint: the port accepted the connection, but no SSH server answered in time: does sshd use this port?", transport.ErrTimeout},
		{"drip", sshtest.Drip(), "web1: handshake ADDR: timed out after 300ms\n  hint: the port accepted the connection, but no SSH server answered in time: does sshd use this port?", transport.ErrTimeout},
		{"closes early", sshtest.CloseAtBanner(), "web1: handshake ADDR: the host closed the connection\n" +
			"  hint: see the log of sshd on the host: sshd may limit simultaneous logins (MaxStartups) or refuse your address", nil},
		// These end in one of several ways.
		{"endless", sshtest.Endless(), "", nil},
		{"malformed", sshtest.Malformed(), "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			srv, good := sshtest.Start(t, test.option), sshtest.Start(t)
			d := &Dialer{}
			if test.is != nil || test.err == "" {
				d.Limits = shortLimits
			}
			err := dialOnce(t, d, targetOf(srv))
			require.Error(t, err)
			require.True(t, transport.Unreachable(err))
			if test.err != "" {
				require.Equal(t, test.err, masked(err, srv.Addr, "ADDR"))
			}
			if test.is != nil {
				require.ErrorIs(t, err, test.is)
			}
			require.Equal(t, transport.OpHandshake, err.(*transport.HostError).Op)
			d.Limits = transport.Limits{}
			require.NoError(t, dialOnce(t, d, targetOf(good)))
		})
	}
}

// TestDialTold checks the reported steps of a failed and a successful dial.
func TestDialTold(t *testing.T) {
	var told []string
	note := func(op string) { told = append(told, op) }
	_, err := (&Dialer{}).DialTold(t.Context(), targetOf(sshtest.Start(t, sshtest.RejectAuth())), note)
	require.Error(t, err)
	c, err := (&Dialer{}).DialTold(t.Context(), targetOf(sshtest.Start(t)), note)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.Equal(t, []string{
		transport.OpDial, transport.OpHandshake, Greeted, transport.OpAuthenticate,
		transport.OpDial, transport.OpHandshake, Greeted, transport.OpAuthenticate,
	}, slices.Compact(told)) // a signature restarts the last step
}

func TestUnreachable(t *testing.T) {
	for op, want := range map[string]bool{
		transport.OpDial: true, transport.OpHandshake: true, transport.OpHostKey: true, transport.OpAuthenticate: true, transport.OpBecome: false, transport.OpInstall: false, transport.OpStart: false,
	} {
		require.Equal(t, want, transport.Unreachable(&transport.HostError{Op: op}), op)
	}
	require.False(t, transport.Unreachable(nil))
	require.False(t, transport.Unreachable(context.Canceled))
}

func TestControlCharactersOfAHostAreEscaped(t *testing.T) {
	err := &transport.HostError{Host: "web1", Op: transport.OpStart, Addr: "a:1", Err: &transport.ExitError{Code: 2, Stderr: "one\ntwo \x1b[2J\u202e\n"}, Hint: "x\x07"}
	require.EqualError(t, err, "web1: start a:1: exit status 2: two \\x1b[2J\\u202e\n  hint: x\\a")
}

func TestKeepalive(t *testing.T) {
	for _, silent := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			signer := newSigner(t, "")
			var server sync.WaitGroup
			near, far := wire(t)
			server.Go(func() { servePipe(far, signer, silent) })
			conn, chans, reqs, err := ssh.NewClientConn(near, "h:22", &ssh.ClientConfig{User: "u", HostKeyCallback: ssh.FixedHostKey(signer.PublicKey())})
			require.NoError(t, err)
			began := time.Now()
			c := transport.NewClient(transport.Target{}, ssh.NewClient(conn, chans, reqs), nil, 15*time.Second, 45*time.Second, func() {})
			if silent {
				<-c.Done()
				require.Equal(t, time.Minute, time.Since(began))
				require.EqualError(t, c.Ping(), "the connection was lost: no answer to keepalives for 45s")
			} else {
				time.Sleep(time.Hour)
				select {
				case <-c.Done():
					t.Error("a host that answers was given up")
				default:
				}
			}
			c.Close()
			server.Wait()
		})
	}
}

// servePipe is a server for one connection, in the bubble of the test.
func servePipe(conn net.Conn, key ssh.Signer, silent bool) {
	config := &ssh.ServerConfig{NoClientAuth: true}
	config.AddHostKey(key)
	_, chans, reqs, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() {
		for range chans {
		}
	})
	for r := range reqs {
		if !silent {
			r.Reply(false, nil)
		}
	}
}

func TestServerInitiatedRequestsAreRefused(t *testing.T) {
	near, far := wire(t)
	signer := newSigner(t, "")
	config := &ssh.ServerConfig{NoClientAuth: true}
	config.AddHostKey(signer)
	var server sync.WaitGroup
	var opened []error
	server.Go(func() {
		conn, chans, reqs, err := ssh.NewServerConn(far, config)
		if err != nil {
			return
		}
		defer conn.Close()
		server.Go(func() { ssh.DiscardRequests(reqs) })
		server.Go(func() {
			for range chans {
			}
		})
		for _, kind := range []string{"auth-agent@openssh.com", "forwarded-tcpip", "x11", "session"} {
			_, _, err := conn.OpenChannel(kind, nil)
			opened = append(opened, err)
		}
		ok, _, err := conn.SendRequest("hostkeys-00@openssh.com", true, nil)
		if ok || err != nil {
			t.Error("a global request was not refused")
		}
	})
	known := &Dialer{DialContext: func(context.Context, string, string) (net.Conn, error) { return near, nil }}
	file := writeFile(t, "h "+publicText(signer)+"\n")
	c, err := known.Dial(t.Context(), transport.Target{Host: "h", Address: "h", User: "u", KnownHosts: []string{file}})
	require.NoError(t, err)
	server.Wait()
	c.Close()
	require.Len(t, opened, 4)
	for _, err := range opened {
		require.IsType(t, &ssh.OpenChannelError{}, err)
	}
}

// TestKeepaliveOfATarget has a target that is more impatient than its dialer.
func TestKeepaliveOfATarget(t *testing.T) {
	signer := newSigner(t, "")
	known := writeFile(t, "w "+publicText(signer)+"\n")
	synctest.Test(t, func(t *testing.T) {
		var server sync.WaitGroup
		near, far := wire(t)
		server.Go(func() { servePipe(far, signer, true) })
		d := &Dialer{Keepalive: time.Hour, DialContext: func(context.Context, string, string) (net.Conn, error) { return near, nil }}
		c, err := d.Dial(t.Context(), transport.Target{Host: "web1", Address: "w", User: "u", KnownHosts: []string{known}, Keepalive: time.Second, KeepaliveCount: 2})
		require.NoError(t, err)
		began := time.Now()
		<-c.Done()
		require.Equal(t, 3*time.Second, time.Since(began))
		c.Close()
		server.Wait()
	})
}

func TestCancelledBeforeDialling(t *testing.T) {
	srv := sshtest.Start(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fmt.Errorf("the run was stopped"))
	_, err := (&Dialer{}).Dial(ctx, targetOf(srv))
	require.EqualError(t, err, "web1: dial "+srv.Addr+": the run was stopped")
}
