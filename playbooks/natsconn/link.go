package natsconn

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// dialTimeout bounds a connection to one server, and logging in to it.
const dialTimeout = 10 * time.Second

// A Link is the connection of a run, dialled at its first use. Many goroutines may call its methods.
type Link struct {
	config Config

	mu     sync.Mutex
	made   *dialled
	err    error // error of dialling, which is tried once
	closed bool
}

// dialled is a connection that has been made.
type dialled struct {
	conn *nats.Conn
	js   jetstream.JetStream
	end  context.CancelFunc
	warn func(string) // adds the server's address to warnings

	unacknowledged atomic.Bool // something was published by [Link.Publish]
}

// New makes a link that is not dialled yet.
func New(c Config) *Link { return &Link{config: c} }

// Conn is the connection. It connects again by itself when it is lost, until [Link.Close].
func (l *Link) Conn(ctx context.Context) (*nats.Conn, error) {
	made, err := l.dialled(ctx)
	if err != nil {
		return nil, err
	}
	return made.conn, nil
}

// JetStream returns the storage of NATS: streams, and buckets of keys and of objects.
func (l *Link) JetStream(ctx context.Context) (jetstream.JetStream, error) {
	made, err := l.dialled(ctx)
	if err != nil {
		return nil, err
	}
	return made.js, nil
}

// Protected reports whether the connection protects the data against reading and changes.
func (l *Link) Protected(ctx context.Context) (bool, error) {
	made, err := l.dialled(ctx)
	return err == nil && protected(made.conn), err
}

func protected(conn *nats.Conn) bool {
	_, err := conn.TLSConnectionState()
	return err == nil || isLoopback(hostOf(conn.ConnectedUrl()))
}

// Publish publishes a message without an acknowledgement. While the connection is lost it waits for the next one.
func (l *Link) Publish(ctx context.Context, msg *nats.Msg) error {
	made, err := l.dialled(ctx)
	if err != nil {
		return err
	}
	made.unacknowledged.Store(true)
	if err := made.conn.PublishMsg(msg); err != nil {
		return trimmed(err)
	}
	return nil
}

// Close ends the connection, if there is one. It first sends all published messages, and warns if that is impossible.
func (l *Link) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made != nil && !l.closed {
		l.made.flush()
		l.made.conn.Close()
		l.made.end()
	}
	l.closed = true
}

// flush returns when the server has received the published messages.
func (d *dialled) flush() {
	needed := d.unacknowledged.Load() // all else that must arrive has been acknowledged before
	if !needed && !d.conn.IsConnected() {
		return
	}
	switch err := d.conn.FlushTimeout(dialTimeout); {
	case !needed:
	case err != nil:
		d.warn(fmt.Sprintf("the last messages may not have arrived: %v", trimmed(err)))
	case errors.Is(d.conn.LastError(), nats.ErrPermissionViolation):
		d.warn(trimmed(d.conn.LastError()).Error())
	}
}

func (l *Link) dialled(ctx context.Context) (*dialled, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errors.New("the connection to NATS has been closed")
	}
	if l.made == nil && l.err == nil {
		made, err := dial(ctx, l.config)
		if err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx) // the next caller may have more time
		}
		l.made, l.err = made, err
	}
	return l.made, l.err
}

func dial(ctx context.Context, c Config) (*dialled, error) {
	saved, err := c.context()
	if err != nil {
		return nil, err
	}
	servers, opts, err := c.options(saved)
	if err != nil {
		return nil, err
	}
	where := "NATS at " + display(servers)
	telling := func(to func(string)) func(string) {
		return func(text string) {
			if to != nil {
				to(where + ": " + text)
			}
		}
	}
	warn, outage := telling(c.Warn), telling(c.Outage)
	if c.Outage == nil {
		outage = warn
	}
	// A connection that replaces a lost one may be dialled after the end of the first one's context.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	connected := context.AfterFunc(ctx, end)
	d := dialer(func(network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(life, network, address)
		if err == nil {
			context.AfterFunc(life, func() { conn.Close() })
		}
		return conn, err
	})
	opts = append(opts,
		nats.Name(c.Name), nats.Timeout(dialTimeout), nats.SetCustomDialer(d), nats.SkipHostLookup(),
		nats.MaxReconnects(-1), nats.ReconnectWait(time.Second), nats.NoCallbacksAfterClientClose(),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				outage(fmt.Sprintf("the connection was lost, and is dialled again: %v", trimmed(err)))
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { outage("it is connected again") }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			warn(trimmed(err).Error())
		}),
	)
	conn, err := nats.Connect(strings.Join(servers, ","), opts...)
	if err != nil {
		end()
		return nil, explained(where, err)
	}
	connected()
	if !protected(conn) {
		warn("the connection is not encrypted, so others on the network can read and change its data; write tls://")
	}
	js, err := saved.jetStream(conn)
	if err != nil {
		conn.Close()
		end()
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	return &dialled{conn: conn, js: js, end: end, warn: warn}, nil
}

func (s *savedContext) jetStream(conn *nats.Conn) (jetstream.JetStream, error) {
	switch {
	case s.Domain != "":
		return jetstream.NewWithDomain(conn, s.Domain)
	case s.APIPrefix != "":
		return jetstream.NewWithAPIPrefix(conn, s.APIPrefix)
	}
	return jetstream.New(conn)
}

// explained adds a hint about a server that cannot be reached, or refuses the login.
func explained(where string, err error) error {
	var hint string
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.Is(err, nats.ErrNoServers):
		hint = "; no server listens there"
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked), errors.Is(err, nats.ErrNkeysNotSupported):
		hint = "; give the credentials of a user with --nats-creds or --nats-nkey"
	case errors.Is(err, nats.ErrSecureConnWanted):
		hint = "; the server does not offer TLS, but TLS is required for a tls:// URL, a CA, a certificate, or a password for another machine"
	case errors.As(err, &unknown):
		hint = "; give the CA that has signed its certificate with --nats-ca"
	case errors.As(err, &name):
		hint = "; write a name that its certificate has"
	}
	return fmt.Errorf("%s: connecting: %w%s", where, trimmed(err), hint)
}

// dialer dials for nats.go, which knows no contexts.
type dialer func(network, address string) (net.Conn, error)

// Dial implements [nats.CustomDialer].
func (d dialer) Dial(network, address string) (net.Conn, error) { return d(network, address) }
