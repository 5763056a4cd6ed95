package transport

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"
)

// A Client is an authenticated connection to one host. Channels and requests
// that the host opens are refused; its agent is never forwarded.
type Client struct {
	target Target
	ssh    *ssh.Client
	gone   chan struct{}         // closed when the connection has ended
	cause  atomic.Pointer[error] // why we ended it, if the host was dead
	work   sync.WaitGroup
}

// unanswered is how many keepalive intervals a host may be silent after it was
// asked (as ssh_config's ServerAliveCountMax).
const unanswered = 3

func newClient(t Target, conn *ssh.Client, keepalive time.Duration) *Client {
	c := &Client{target: t, ssh: conn, gone: make(chan struct{})}
	c.work.Go(func() {
		conn.Wait()
		close(c.gone)
	})
	c.work.Go(func() { c.keepalive(keepalive) })
	return c
}

// Close ends the connection and everything on it, and waits for that.
func (c *Client) Close() error {
	err := c.ssh.Close()
	c.work.Wait()
	return err
}

// Done is closed when the connection has ended, whoever ended it.
func (c *Client) Done() <-chan struct{} { return c.gone }

// lost is the reason of a connection that ended by itself.
func (c *Client) lost() error {
	if cause := c.cause.Load(); cause != nil {
		return *cause
	}
	return ErrLost
}

// keepalive asks the host for a sign of life until the connection ends.
func (c *Client) keepalive(interval time.Duration) {
	for c.sleep(interval) && c.alive(unanswered*interval) {
	}
}

func (c *Client) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.gone:
		return false
	}
}

// alive sends one request and closes the connection if no answer comes in time.
func (c *Client) alive(patience time.Duration) bool {
	dead := time.AfterFunc(patience, func() {
		err := fmt.Errorf("%w: no answer to keepalives for %s", ErrLost, patience)
		c.cause.Store(&err)
		c.ssh.Close()
	})
	defer dead.Stop()
	_, _, err := c.ssh.SendRequest("keepalive@openssh.com", true, nil)
	return err == nil
}

// dialThrough connects to addr from this host. The connection is a pipe of our
// own, so that closing it ends every wait even if the jump host does not answer.
func (c *Client) dialThrough(ctx context.Context, addr string) (net.Conn, error) {
	far, err := c.ssh.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("jump host %s: %w", c.target.Host, err)
	}
	near, inner := net.Pipe()
	ended := make(chan struct{})
	c.work.Go(func() {
		defer far.Close()
		io.Copy(far, inner)
	})
	c.work.Go(func() {
		defer close(ended)
		io.Copy(inner, far)
	})
	c.work.Go(func() {
		select {
		case <-ended:
		case <-c.gone:
		}
		inner.Close()
	})
	return near, nil
}
