package dial

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// TestAnswersAreAcknowledgedAtOnce exchanges requests and answers with a host, which makes the kernel delay
// acknowledgements. The value of TCP_QUICKACK shows whether it would.
func TestAnswersAreAcknowledgedAtOnce(t *testing.T) {
	var conn net.Conn
	d := &Dialer{DialContext: func(ctx context.Context, network, addr string) (_ net.Conn, err error) {
		conn, err = new(net.Dialer).DialContext(ctx, network, addr)
		return conn, err
	}}
	c, err := d.Dial(t.Context(), targetOf(sshtest.Start(t)))
	require.NoError(t, err)
	defer c.Close()
	for range 5 {
		require.NoError(t, c.Ping())
		raw, err := conn.(*net.TCPConn).SyscallConn()
		require.NoError(t, err)
		quick := 0
		var failed error
		require.NoError(t, raw.Control(func(fd uintptr) { quick, failed = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_QUICKACK) }))
		require.NoError(t, failed)
		require.Equal(t, 1, quick)
	}
}
