package dial

import (
	"net"
	"sync/atomic"
	"syscall"
)

// A quickConn acknowledges at once what the host sends behind its login. sshd writes then what nobody has asked
// for (its other host keys, what the login prints), and opens the first channel. Until a command runs it has Nagle's
// algorithm hold back what is small while something before it is not acknowledged (OpenSSH sets TCP_NODELAY with the
// first command of a connection, on a jump host never), and we have nothing to say that could carry an
// acknowledgement: this system would wait for 40 ms to see whether we had.
type quickConn struct {
	*net.TCPConn
	raw      syscall.RawConn
	loggedIn atomic.Bool // before that each side waits for the other
}

// quickly gives conn with what has to be called after the login. What is no TCP of our own stays as it is.
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
