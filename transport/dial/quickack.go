package dial

import (
	"net"
	"sync/atomic"
	"syscall"
)

// A quickConn acknowledges at once what the host sends after its login. sshd then sends its other host keys and the
// output of the login, and opens the first channel. Until a command runs, Nagle's algorithm holds back its small
// packets while earlier ones are not acknowledged: OpenSSH sets TCP_NODELAY with the first command of a connection, and
// on a jump host never. This machine has no data to carry an acknowledgement, so the kernel would wait 40 ms for some.
type quickConn struct {
	*net.TCPConn
	raw      syscall.RawConn
	loggedIn atomic.Bool // before that each side waits for the other
}

// quickly returns conn and a function to call after the login. Other connections than TCP stay as they are.
func quickly(conn net.Conn) (_ net.Conn, loggedIn func()) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return conn, func() {}
	}
	raw, err := tcp.SyscallConn()
	if err != nil { // it is closed
		return conn, func() {}
	}
	c := &quickConn{TCPConn: tcp, raw: raw}
	return c, func() { c.loggedIn.Store(true) }
}

// Read implements [net.Conn].
func (c *quickConn) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	if n > 0 && c.loggedIn.Load() {
		// Each time, because the kernel takes it back when something is sent.
		_ = c.raw.Control(acknowledge)
	}
	return n, err
}
