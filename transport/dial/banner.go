package dial

import (
	"bytes"
	"fmt"
	"net"
	"sync"

	"github.com/ccm-push/ccm-push/transport"
)

// A bannerConn keeps the begin of the host's output. x/crypto/ssh skips lines before the version (RFC 4253, 4.2). In
// these lines, sshd prints why it closes the connection, and other servers show that they are not SSH servers.
type bannerConn struct {
	net.Conn
	greeted func()     // is called when the host has said the first word; nil is not
	ahead   []byte     // read from Conn and not given out yet
	mu      sync.Mutex // guards the fields below
	said    []byte
}

// readAhead is more than a version and what usually follows it have, in bytes.
const readAhead = 1 << 10

// Read implements [net.Conn]. x/crypto/ssh reads the version byte by byte, so that it takes none of the following
// bytes. Read then reads as much as there is, and keeps the rest.
func (c *bannerConn) Read(b []byte) (int, error) {
	if len(c.ahead) > 0 {
		n := copy(b, c.ahead)
		if c.ahead = c.ahead[n:]; len(c.ahead) == 0 {
			c.ahead = nil
		}
		return n, nil
	}
	if len(b) != 1 {
		return c.read(b)
	}
	buf := make([]byte, readAhead)
	n, err := c.read(buf)
	if n > 0 {
		b[0], c.ahead = buf[0], buf[1:n]
		return 1, nil // an error comes again
	}
	return 0, err
}

func (c *bannerConn) read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.said) == 0 && n > 0 && c.greeted != nil {
		c.greeted()
	}
	if room := transport.MaxQuoted - len(c.said); room > 0 {
		c.said = append(c.said, b[:min(n, room)]...)
	}
	return n, err
}

// beforeVersion returns the first line, quoted, or "" if it was a version.
func (c *bannerConn) beforeVersion() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	said, _, _ := bytes.Cut(c.said, []byte("SSH-"))
	if said = bytes.TrimSpace(said); len(said) == 0 {
		return ""
	}
	return fmt.Sprintf("%q", said)
}

// silent reports whether the host has sent no byte.
func (c *bannerConn) silent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.said) == 0
}
