package transport

import (
	"bytes"
	"fmt"
	"net"
	"sync"
)

// A bannerConn keeps the beginning of what the host says. x/crypto/ssh passes
// over lines before the version (RFC 4253, 4.2), in which sshd gives the reason
// why it closes the connection, and others show that they are no SSH server.
type bannerConn struct {
	net.Conn
	mu   sync.Mutex
	said []byte
}

// Read implements [net.Conn].
func (c *bannerConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	if room := maxQuoted - len(c.said); room > 0 {
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
