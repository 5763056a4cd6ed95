package dial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
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

func TestCrowdedHostIsDialledAgain(t *testing.T) {
	srv := sshtest.Start(t, sshtest.Drop(3))
	require.NoError(t, dialOnce(t, &Dialer{}, targetOf(srv)))
	require.Equal(t, int64(4), srv.Stats().Connections)
}

// Other failures are not tried again, unless the target requests it.
func TestOtherHangUps(t *testing.T) {
	srv := sshtest.Start(t, sshtest.CloseAtBanner())
	require.Error(t, dialOnce(t, &Dialer{}, targetOf(srv)))
	require.Equal(t, int64(1), srv.Stats().Connections)
	require.Error(t, dialOnce(t, &Dialer{Retries: 2}, targetOf(srv)))
	require.Equal(t, int64(4), srv.Stats().Connections)
}

// TestRefusalsAreFinal uses hosts that refuse: another try would only help to lock an account.
func TestRefusalsAreFinal(t *testing.T) {
	srv := sshtest.Start(t)
	refused, unknown := targetOf(srv), targetOf(srv)
	refused.User = "nobody"
	unknown.KnownHosts = []string{writeFile(t, "")}
	d := &Dialer{Retries: 5}
	require.ErrorIs(t, dialOnce(t, d, refused), transport.ErrAuth)
	require.ErrorIs(t, dialOnce(t, d, unknown), transport.ErrHostKeyUnknown)
	require.Equal(t, int64(2), srv.Stats().Connections)
}

// TestRetries dials hosts that fail in one way all the time.
func TestRetries(t *testing.T) {
	system := func(errno syscall.Errno) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errno)}
	}
	waits := errors.New("never answers")
	for _, test := range []struct {
		name                       string
		err                        error
		byDefault, twice, explicit int // dials: with Retries 0, 1 and 4; never more than one with -1
	}{
		{"refused", system(syscall.ECONNREFUSED), 3, 2, 5},
		{"reset", system(syscall.ECONNRESET), 3, 2, 5},
		{"no network", system(syscall.ENETUNREACH), 3, 2, 5},
		{"no route", system(syscall.EHOSTUNREACH), 1, 2, 5},
		{"the system times out", system(syscall.ETIMEDOUT), 1, 2, 5},
		{"times out", waits, 1, 2, 5},
		{"one address refuses, one is dead", &addressesError{[]error{system(syscall.EHOSTUNREACH), system(syscall.ECONNREFUSED)}}, 3, 2, 5},
		{"name server fails for now", &net.DNSError{Err: "server misbehaving", IsTemporary: true}, 3, 2, 5},
		{"name server is silent", &net.DNSError{Err: "i/o timeout", IsTimeout: true, IsTemporary: true}, 1, 2, 5},
		{"no such name", &net.DNSError{Err: "no such host", IsNotFound: true}, 1, 1, 1},
		{"forbidden", system(syscall.EACCES), 1, 1, 1},
		{"something else", errors.New("x"), 1, 1, 1},
		{"jump host was lost", fmt.Errorf("jump host: %w", transport.ErrLost), 3, 2, 5},
		{"jump host cannot connect", &ssh.OpenChannelError{Reason: ssh.ConnectionFailed}, 1, 2, 5},
		{"jump host may not", &ssh.OpenChannelError{Reason: ssh.Prohibited}, 1, 1, 1},
	} {
		for retries, want := range map[int]int{0: test.byDefault, 1: test.twice, 4: test.explicit, -1: 1} {
			t.Run(fmt.Sprintf("%s, %d", test.name, retries), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					dials := 0
					d := &Dialer{Retries: retries, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
						if dials++; test.err == waits {
							<-ctx.Done()
							return nil, ctx.Err()
						}
						return nil, test.err
					}}
					began := time.Now()
					err := dialOnce(t, d, transport.Target{Host: "web1", Address: "w", User: "deploy", KnownHosts: []string{"/dev/null"}})
					require.Error(t, err)
					require.Equal(t, want, dials)
					require.True(t, transport.Unreachable(err))
					_, isHostError := err.(*transport.HostError)
					require.True(t, isHostError)
					if retries <= 0 && test.err != waits {
						require.Less(t, time.Since(began), time.Second, "a fleet with dead hosts shall not become slow")
					}
					if retries > 0 && want > 1 {
						require.ErrorContains(t, err, fmt.Sprintf("(%d times in a row)", want))
					} else {
						require.NotContains(t, err.Error(), "in a row")
					}
				})
			})
		}
	}
}

// TestTargetSaysHowOften has a target that knows better than its dialer.
func TestTargetSaysHowOften(t *testing.T) {
	dials := 0
	d := &Dialer{Retries: 9, DialContext: func(context.Context, string, string) (net.Conn, error) {
		dials++
		return nil, syscall.ECONNREFUSED
	}}
	require.Error(t, dialOnce(t, d, transport.Target{Host: "web1", Address: "w", User: "deploy", Retries: -1}))
	require.Equal(t, 1, dials)
}

// TestRetriesEndWithTheRun cancels the run during the wait.
func TestRetriesEndWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		dials := 0
		d := &Dialer{Retries: 1000, DialContext: func(context.Context, string, string) (net.Conn, error) {
			if dials++; dials == 5 {
				cancel(errors.New("stopped"))
			}
			return nil, syscall.ECONNREFUSED
		}}
		_, err := d.Dial(ctx, transport.Target{Host: "web1", Address: "w", User: "deploy", KnownHosts: []string{"/dev/null"}})
		require.Error(t, err)
		require.Equal(t, 5, dials)
	})
}

// TestPhases uses a host that stops at each phase; each phase has its own limit.
func TestPhases(t *testing.T) {
	signer := newSigner(t, "")
	known := writeFile(t, "w "+publicText(signer)+"\n")
	limits := transport.Limits{Dial: time.Second, Handshake: 2 * time.Second, Auth: 3 * time.Second}
	for _, test := range []struct {
		name  string
		serve func(conn net.Conn, over <-chan struct{})
		err   string
		took  time.Duration
	}{
		{"handshake", func(conn net.Conn, _ <-chan struct{}) { io.Copy(io.Discard, conn) }, "web1: handshake w:22: timed out after 2s\n  hint: the port accepted the connection, but no SSH server answered in time: does sshd use this port?", 2500 * time.Millisecond},
		{"authenticate", func(conn net.Conn, over <-chan struct{}) {
			config := &ssh.ServerConfig{PasswordCallback: func(ssh.ConnMetadata, []byte) (*ssh.Permissions, error) {
				<-over
				return nil, nil
			}}
			config.AddHostKey(signer)
			if c, _, _, err := ssh.NewServerConn(conn, config); err == nil {
				c.Close()
			}
		}, "web1: authenticate w:22: timed out after 3s\n  hint: the login on the host is slow, or an SSH agent waits for a person; allow more time to connect", 3500 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var servers sync.WaitGroup
				defer servers.Wait()
				over := make(chan struct{})
				defer close(over)
				d := &Dialer{Limits: limits, DialContext: func(context.Context, string, string) (net.Conn, error) {
					time.Sleep(500 * time.Millisecond)
					near, far := wire(t)
					servers.Go(func() {
						defer far.Close()
						test.serve(far, over)
					})
					return near, nil
				}}
				began := time.Now()
				err := dialOnce(t, d, transport.Target{Host: "web1", Address: "w", User: "deploy", KnownHosts: []string{known}, Password: secret("x")})
				require.EqualError(t, err, test.err)
				require.Equal(t, test.took, time.Since(began))
			})
		})
	}
}
