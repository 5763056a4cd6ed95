package transport

import (
	"context"
	"errors"
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
	key    ssh.PublicKey         // host key that the host has proven to own
	local  *localShell           // in place of ssh: the controller itself
	gone   chan struct{}         // closed when the connection has ended
	cause  atomic.Pointer[error] // why we ended it, if the host was dead
	served func()                // see [NewClient]
	work   sync.WaitGroup
}

// NewClient takes over an SSH connection to t, which has proven to own key. It sends a keepalive request at each
// interval and closes the connection if there is no answer within the idle timeout (as with ssh_config's
// ServerAliveInterval and ServerAliveCountMax). It calls served when the host has first answered a request that needs a
// login, or when the connection has ended, and perhaps again: sshd counts a login as complete a moment after it has
// reported success.
func NewClient(t Target, conn *ssh.Client, key ssh.PublicKey, interval, idleTimeout time.Duration, served func()) *Client {
	c := &Client{target: t, ssh: conn, key: key, gone: make(chan struct{}), served: served}
	c.work.Go(func() {
		conn.Wait()
		close(c.gone)
		served()
	})
	c.work.Go(func() { c.keepalive(interval, idleTimeout) })
	return c
}

// Close ends the connection and everything on it, and waits for that.
func (c *Client) Close() error {
	if c.local != nil {
		c.local.close()
		return nil
	}
	err := c.ssh.Close()
	c.work.Wait()
	return err
}

// Target returns the dialled target.
func (c *Client) Target() Target { return c.target }

// HostKey is the key, or certificate, that the host has proven to own; nil of the controller itself.
func (c *Client) HostKey() ssh.PublicKey { return c.key }

// HangUp ends the connection and everything on it, without waiting.
func (c *Client) HangUp() {
	if c.local != nil {
		c.local.kill()
		return
	}
	c.ssh.Close()
}

// Done returns a channel that is closed when the connection has ended, for any reason.
func (c *Client) Done() <-chan struct{} { return c.gone }

// lost is the reason of a connection that ended by itself.
func (c *Client) lost() error {
	if cause := c.cause.Load(); cause != nil {
		return *cause
	}
	return ErrLost
}

// orLost returns err, or the reason why the connection ended if err reports an end.
func (c *Client) orLost(err error) error {
	if IsHangUp(err) {
		return c.lost()
	}
	return err
}

// keepalive sends keepalive requests until the connection ends.
func (c *Client) keepalive(interval, idleTimeout time.Duration) {
	for c.sleep(interval) && c.alive(idleTimeout) {
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
func (c *Client) alive(idleTimeout time.Duration) bool {
	dead := time.AfterFunc(idleTimeout, func() {
		err := fmt.Errorf("%w: no answer to keepalives for %s", ErrLost, idleTimeout)
		c.cause.Store(&err)
		c.ssh.Close()
	})
	defer dead.Stop()
	return c.Ping() == nil
}

// Ping waits for one sign of life of the host. The error wraps [ErrLost] when the
// connection has ended.
func (c *Client) Ping() error {
	if _, _, err := c.ssh.SendRequest("keepalive@openssh.com", true, nil); err != nil {
		return c.lost()
	}
	c.served()
	return nil
}

// Signs returns a function that sends one keepalive request, as [Client.Ping] does, without waiting for the answer; it
// returns nil if t is the controller itself.
func (c *Client) Signs() func() <-chan error {
	if c.local != nil {
		return nil
	}
	return func() <-chan error {
		came := make(chan error, 1)
		c.work.Go(func() { came <- c.Ping() })
		return came
	}
}

// DialThrough connects to addr from this host, which is a jump host then. The connection
// is a pipe of our own, so that closing it ends every wait even if the jump host does not
// answer. The error is an [ssh.OpenChannelError] if the host is well and has not connected,
// and wraps [ErrLost] if it is not.
func (c *Client) DialThrough(ctx context.Context, addr string) (net.Conn, error) {
	far, err := c.ssh.DialContext(ctx, "tcp", addr)
	c.served()
	if err != nil {
		if _, rejected := errors.AsType[*ssh.OpenChannelError](err); !rejected && ctx.Err() == nil {
			err = c.lost()
		}
		return nil, err
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
