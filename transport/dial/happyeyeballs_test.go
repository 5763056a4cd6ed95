package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

func TestInterleave(t *testing.T) {
	for _, test := range []struct{ addrs, want string }{
		{"", ""},
		{"10.0.0.1", "10.0.0.1"},
		{"fd::1 fd::2 fd::3 10.0.0.1", "fd::1 10.0.0.1 fd::2 fd::3"},
		{"10.0.0.1 10.0.0.2 fd::1 fd::2", "10.0.0.1 fd::1 10.0.0.2 fd::2"},
		{"10.0.0.1 ::ffff:10.0.0.1 10.0.0.1 fd::1", "10.0.0.1 fd::1"},
	} {
		var addrs []netip.Addr
		for _, a := range strings.Fields(test.addrs) {
			addrs = append(addrs, netip.MustParseAddr(a))
		}
		var got []string
		for _, a := range interleave(addrs) {
			got = append(got, a.String())
		}
		require.Equal(t, test.want, strings.Join(got, " "), test.addrs)
	}
}

// TestFastest gives each address an outcome: it answers or fails after some time, or never.
func TestFastest(t *testing.T) {
	const never = -1
	for _, test := range []struct {
		name    string
		answers []time.Duration // negative but never: fails after that long
		winner  int
		took    time.Duration
		begun   int
		err     string
	}{
		{name: "the first one is fast", answers: []time.Duration{100, 0}, winner: 0, took: 100, begun: 1},
		{name: "the first one is dead", answers: []time.Duration{never, 50}, winner: 1, took: 300, begun: 2},
		{name: "the first one is refused", answers: []time.Duration{-20, 50}, winner: 1, took: 70, begun: 2},
		{name: "the first one is slow, and wins", answers: []time.Duration{300, 400}, winner: 0, took: 300, begun: 2},
		{name: "many are dead", answers: []time.Duration{never, never, never, never, 10}, winner: 4, took: 1010, begun: 5},
		{name: "all are refused", answers: []time.Duration{-10, -10}, took: 20, begun: 2, err: "dial tcp 10.0.0.0:22: connect: connection refused"},
		{name: "all are dead", answers: []time.Duration{never, never}, took: 5000, begun: 2, err: "context deadline exceeded"},
		{name: "there is none", err: "lookup : it has no address of this kind"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				var addrs []netip.AddrPort
				for i := range test.answers {
					addrs = append(addrs, netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 22))
				}
				var begun, closed atomic.Int64
				began := time.Now()
				conn, err := dialFastest(ctx, addrs, func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
					begun.Add(1)
					i := int(a.Addr().As4()[3])
					after := test.answers[i]
					if after == never {
						<-ctx.Done()
						return nil, ctx.Err()
					}
					if !sleep(ctx, time.Millisecond*max(after, -after)) {
						return nil, ctx.Err()
					}
					if after < 0 {
						return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(a), Err: fmt.Errorf("connect: %w", syscall.ECONNREFUSED)}
					}
					return &numberedConn{number: i, closed: &closed}, nil
				})
				require.Equal(t, test.took*time.Millisecond, time.Since(began))
				require.EqualValues(t, test.begun, begun.Load())
				if test.err != "" {
					require.EqualError(t, err, test.err)
					return
				}
				require.NoError(t, err)
				require.Equal(t, test.winner, conn.(*numberedConn).number)
				require.Zero(t, closed.Load())
			})
		})
	}
}

type numberedConn struct {
	net.Conn
	number int
	closed *atomic.Int64
}

func (c *numberedConn) Close() error {
	c.closed.Add(1)
	return nil
}

// TestLateAnswersAreClosed has two addresses answer at the same moment.
func TestLateAnswersAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		addrs := []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:22"), netip.MustParseAddrPort("10.0.0.2:22")}
		var closed atomic.Int64
		began := time.Now()
		conn, err := dialFastest(t.Context(), addrs, func(context.Context, netip.AddrPort) (net.Conn, error) {
			time.Sleep(time.Until(began.Add(time.Second)))
			return &numberedConn{closed: &closed}, nil
		})
		require.NoError(t, err)
		require.EqualValues(t, 1, closed.Load())
		conn.Close()
	})
}

func TestAddressesThatFailInTheirOwnWays(t *testing.T) {
	failing := func(addr string, errno syscall.Errno) error {
		return &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr)), Err: errno}
	}
	err := addressErrors([]error{failing("[fd::1]:22", syscall.ENETUNREACH), failing("10.0.0.1:22", syscall.ECONNREFUSED)})
	require.EqualError(t, err, "[fd::1]:22: network is unreachable; 10.0.0.1:22: connection refused")
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

// TestBothFamilies dials a name with an IPv6 address without a listener, and one whose host refuses the login.
func TestBothFamilies(t *testing.T) {
	srv := sshtest.Start(t)
	known := func(name string) transport.Target {
		target := targetOf(srv)
		text, err := os.ReadFile(srv.KnownHosts)
		require.NoError(t, err)
		target.Address, target.KnownHosts = name, []string{writeFile(t, strings.ReplaceAll(string(text), "127.0.0.1", name))}
		return target
	}
	var asked []string
	d := &Dialer{Resolve: func(_ context.Context, network, host string) ([]netip.Addr, error) {
		asked = append(asked, network)
		if host == "gone" {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		all := []netip.Addr{netip.IPv6Loopback(), netip.MustParseAddr("127.0.0.1")}
		switch network {
		case "ip4":
			return all[1:], nil
		case "ip6":
			return all[:1], nil
		}
		return all, nil
	}}
	require.NoError(t, dialOnce(t, d, known("both")))
	four, six := known("both"), known("both")
	four.AddressFamily, six.AddressFamily = "inet", "inet6"
	require.NoError(t, dialOnce(t, d, four))
	require.Error(t, dialOnce(t, d, six))
	require.Equal(t, []string{"ip", "ip4", "ip6"}, asked[:3])
	err := dialOnce(t, d, known("gone"))
	require.ErrorContains(t, err, "dial gone:")
	require.ErrorContains(t, err, ": no such host\n  hint: if \"gone\" is only a name in the inventory")

	d.Resolve = func(context.Context, string, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.1")}, nil
	}
	if dropsPackets(t, srv.Port) {
		require.NoError(t, dialOnce(t, d, known("silent")))
	}
}

// dropsPackets makes 127.0.0.2 a host that drops its packets: a socket whose queue is full. It returns false where a
// system does not do that.
func dropsPackets(t *testing.T, port int) bool {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	t.Cleanup(func() { syscall.Close(fd) })
	if syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 2}}) != nil || syscall.Listen(fd, 0) != nil {
		return false
	}
	for range 10 {
		conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.2:%d", port), shortTimeout)
		if err != nil {
			timeout, ok := errors.AsType[net.Error](err)
			return ok && timeout.Timeout()
		}
		t.Cleanup(func() { conn.Close() })
	}
	return false
}

// TestBindAddress checks the source address that the server sees.
func TestBindAddress(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	target := transport.Target{Address: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port}
	for bind, want := range map[string]string{
		"127.0.0.9": "", "": "",
		"::1":       "lookup : it has no address of this kind",
		"192.0.2.1": "dial tcp 192.0.2.1:0->" + listener.Addr().String() + ": bind: cannot assign requested address",
	} {
		target.BindAddress = bind
		conn, err := (&Dialer{}).dialTCP(t.Context(), target)
		if want != "" {
			require.EqualError(t, err, want)
			continue
		}
		require.NoError(t, err)
		defer conn.Close()
		if bind != "" {
			require.Equal(t, bind, conn.LocalAddr().(*net.TCPAddr).IP.String())
		}
	}
}

// TestZoneOfAddress has link-local addresses, which are of no use without their zone.
func TestZoneOfAddress(t *testing.T) {
	for _, test := range []struct {
		network, address string
		want             []netip.Addr
		err              string
	}{
		{"ip", "fe80::1%eth0", []netip.Addr{netip.MustParseAddr("fe80::1%eth0")}, ""},
		{"ip6", "fe80::1%eth0", []netip.Addr{netip.MustParseAddr("fe80::1%eth0")}, ""},
		{"ip4", "fe80::1%eth0", nil, "address fe80::1%eth0: no suitable address found"},
		{"ip", "::1", []netip.Addr{netip.MustParseAddr("::1")}, ""},
		{"ip4", "127.0.0.1", []netip.Addr{netip.MustParseAddr("127.0.0.1")}, ""},
	} {
		found, err := (&Dialer{}).lookup(t.Context(), test.network, test.address)
		if test.err != "" {
			require.EqualError(t, err, test.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, test.want, interleave(found))
	}
}
