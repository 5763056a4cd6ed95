package dial

import (
	"bytes"
	"fmt"
	"net"
	"sync"

	"github.com/ccm-push/ccm-push/transport"
)

// A bannerConn keeps the beginning of what the host says. x/crypto/ssh passes
// over lines before the version (RFC 4253, 4.2), in which sshd gives the reason
// why it closes the connection, and others show that they are no SSH server.
type bannerConn struct {
	net.Conn
	greeted func()     // is called when the host has said the first word; nil is not
	ahead   []byte     // read from Conn and not given out yet
	mu      sync.Mutex // of what follows
	said    []byte
}

// readAhead is more than a version and what usually follows it have, in bytes.
const readAhead = 1 << 10

// Read implements [net.Conn]. x/crypto/ssh reads the version byte by byte, so that it
// takes nothing of what follows; what is asked for so is read at once and kept.
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

// beforeVersion is what was said first, quoted; "" if that was a version.
func (c *bannerConn) beforeVersion() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	said, _, _ := bytes.Cut(c.said, []byte("SSH-"))
	if said = bytes.TrimSpace(said); len(said) == 0 {
		return ""
	}
	return fmt.Sprintf("%q", said)
}

// silent reports whether nothing was said at all.
func (c *bannerConn) silent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.said) == 0
}
