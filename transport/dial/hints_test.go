package dial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
)

func TestConnectionRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := listener.Addr().(*net.TCPAddr)
	listener.Close()
	err = dialOnce(t, &Dialer{}, transport.Target{Host: "web1", Address: "127.0.0.1", Port: addr.Port, User: "deploy"})
	require.EqualError(t, err, fmt.Sprintf("web1: dial %s: connection refused\n"+
		"  hint: no program listens on port %d: is sshd running, and does it use this port?", addr, addr.Port))
	require.True(t, transport.Unreachable(err))
}

func TestDialErrors(t *testing.T) {
	system := func(errno syscall.Errno) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errno)}
	}
	for _, test := range []struct {
		name string
		dial error
		err  string
	}{
		{"no such name", &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "w", Server: "10.0.0.2:53", IsNotFound: true}},
			"web1: dial w:22: no such host (from DNS server 10.0.0.2:53)\n  hint: if \"w\" is only a name in the inventory, add the address of the host: connect: {address: ...}"},
		{"no name server", &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "server misbehaving", Name: "w", Server: "10.0.0.2:53"}},
			"web1: dial w:22: server misbehaving (from DNS server 10.0.0.2:53)"},
		{"no server to ask", &net.DNSError{Err: "too many addresses", Name: "w"}, "web1: dial w:22: too many addresses"},
		{"host is down", system(syscall.EHOSTUNREACH), "web1: dial w:22: no route to host\n  hint: is the host up, and is there a way to its network from here?"},
		{"no network", system(syscall.ENETUNREACH), "web1: dial w:22: network is unreachable\n  hint: is the host up, and is there a way to its network from here?"},
		{"the system gives up", system(syscall.ETIMEDOUT), "web1: dial w:22: connection timed out\n  hint: is the address right, and does a firewall drop the packets?"},
		{"forbidden", system(syscall.EACCES), "web1: dial w:22: permission denied"},
		{"hostile", errors.New("\x1b[2J"), `web1: dial w:22: \x1b[2J`},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := &Dialer{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, test.dial }}
			err := dialOnce(t, d, transport.Target{Host: "web1", Address: "w", User: "deploy"})
			require.EqualError(t, err, test.err)
			require.True(t, transport.Unreachable(err))
		})
	}
}

func TestDialTimeout(t *testing.T) {
	d := &Dialer{Limits: shortLimits, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	err := dialOnce(t, d, transport.Target{Host: "web1", Address: "w", User: "deploy"})
	require.EqualError(t, err, "web1: dial w:22: timed out after 300ms\n  hint: is the address right, and does a firewall drop the packets?")
}

// TestServersThatAreNoSSH has something else listen, or an sshd that gives up.
func TestServersThatAreNoSSH(t *testing.T) {
	const hint = "\n  hint: see the log of sshd on the host: sshd may limit simultaneous logins (MaxStartups) or refuse your address"
	const no = "\n  hint: does an SSH server listen on this port, and does the server allow so many logins at once (sshd_config: MaxStartups)?"
	const closed = "web1: handshake w:22: the host closed the connection"
	const again = " (6 times in a row)"
	for _, test := range []struct{ name, says, err string }{
		{"closes at once", "", closed + again + hint},
		{"closes after its version", "SSH-2.0-OpenSSH_9.2\r\n", closed + hint},
		{"closes with a reason", "Exceeded MaxStartups\r\n", closed + `: it first said "Exceeded MaxStartups"` + again + no},
		{"speaks HTTP", "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", closed + `: it first said "HTTP/1.1 400 Bad Request\r\nConnection: close"` + no},
		{"draws", "\x1b[2J\xff\r\nSSH-2.0-x\r\n", closed + `: it first said "\x1b[2J\xff"` + no},
		{"has no end", strings.Repeat("x", 300), "web1: handshake w:22: ssh: overflow reading version string: it first said \"" + strings.Repeat("x", 200) + "\"" + no},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var servers sync.WaitGroup
			defer servers.Wait()
			d := &Dialer{DialContext: func(context.Context, string, string) (net.Conn, error) {
				near, far := wire(t)
				servers.Go(func() {
					defer far.Close()
					io.WriteString(far, test.says)
					io.CopyN(io.Discard, far, int64(len(clientVersion)))
				})
				return near, nil
			}}
			err := dialOnce(t, d, transport.Target{Host: "web1", Address: "w", User: "deploy"})
			require.EqualError(t, err, test.err)
		})
	}
}

func TestHandshakeHint(t *testing.T) {
	reset := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	require.Equal(t, handshakeHint(io.EOF), handshakeHint(reset))
	require.EqualError(t, transport.HangUpCause(reset), "the host closed the connection")
	require.Empty(t, handshakeHint(fmt.Errorf("ssh: %w", &ssh.AlgorithmNegotiationError{})), "the error lists what each side has")
}
