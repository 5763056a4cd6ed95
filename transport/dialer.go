package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"
)

// A Dialer opens the connections of a run. What they share is kept here: jump
// connections, parsed known_hosts files, private keys, the list of the agent's
// keys. The zero value works; it must not be copied after first use. All
// methods may be called from many goroutines.
type Dialer struct {
	Home        string // home directory for defaults; "" has none
	AgentSocket string // path of the agent's socket; "" means no agent
	// ConnectTimeout bounds dial, handshake and login together, for each hop; 0
	// means 10s.
	ConnectTimeout time.Duration
	// Keepalive is the interval of keepalive@openssh.com requests; 0 means 15s.
	// A host that leaves one unanswered for three intervals is dead, and its
	// connection is closed.
	Keepalive time.Duration
	// TrustHint says what to do about an unknown host key; nil gives the command
	// that adds it to the first known_hosts file.
	TrustHint func(Target, ssh.PublicKey) string
	// DialContext replaces the dialling of TCP; nil uses [net.Dialer], which
	// tries all addresses of both families.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)

	known keyStore
	keys  keyFiles
	agent agentList
	last  lastKeys
	jumps jumpTable
}

const (
	defaultConnectTimeout = 10 * time.Second
	defaultKeepalive      = 15 * time.Second
	// clientVersion is what host logs show (RFC 4253, 4.2: no minus sign).
	clientVersion = "SSH-2.0-ccm_push"
)

// Dial opens a connection to t, through its jump hosts. Every error but that of
// a cancelled ctx before anything was tried is a [HostError] for which
// [Unreachable] holds. The Client must be closed by the caller.
func (d *Dialer) Dial(ctx context.Context, t Target) (*Client, error) {
	via, err := d.jump(ctx, t.Jump)
	if err != nil {
		return nil, throughJump(t, err)
	}
	return d.connect(ctx, t, via)
}

// Close ends the jump connections; connections through them end too.
func (d *Dialer) Close() error { return d.jumps.close() }

func (d *Dialer) connectTimeout() time.Duration {
	return cmp.Or(d.ConnectTimeout, defaultConnectTimeout)
}

// connect opens a connection to t itself, through via unless that is nil.
func (d *Dialer) connect(ctx context.Context, t Target, via *Client) (*Client, error) {
	l := &login{dialer: d, target: t}
	if err := l.prepare(); err != nil {
		return nil, err
	}
	limit := cmp.Or(t.ConnectTimeout, d.connectTimeout())
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w after %s", ErrTimeout, limit))
	defer cancel()

	// The agent is asked while the host is dialled.
	var asking sync.WaitGroup
	asking.Go(func() { d.agent.load(ctx, d.AgentSocket) })
	defer asking.Wait()
	return d.patiently(ctx, func() (*Client, error) { return d.try(ctx, l, via) })
}

// try dials once.
func (d *Dialer) try(ctx context.Context, l *login, via *Client) (*Client, error) {
	t := l.target
	l.reached(opDial)
	conn, err := d.dialTCP(ctx, t, via)
	if err != nil {
		return nil, l.fail(ctx, err)
	}
	// x/crypto/ssh takes no context, and a connection through a jump host has
	// no deadlines: closing it ends every wait.
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	l.banner = &bannerConn{Conn: conn}
	c, chans, reqs, err := ssh.NewClientConn(l.banner, t.addr(), l.config(ctx))
	if !stop() || err != nil {
		conn.Close()
		return nil, l.crowded(err, l.fail(ctx, err))
	}
	l.remember()
	return newClient(t, ssh.NewClient(c, chans, reqs), cmp.Or(d.Keepalive, defaultKeepalive)), nil
}

func (d *Dialer) dialTCP(ctx context.Context, t Target, via *Client) (net.Conn, error) {
	switch {
	case via != nil:
		return via.dialThrough(ctx, t.addr())
	case d.DialContext != nil:
		return d.DialContext(ctx, "tcp", t.addr())
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", t.addr())
}

// A login is one attempt to get into one host.
type login struct {
	dialer *Dialer
	target Target
	known  *knownHosts
	files  []keyFile
	banner *bannerConn // nil until the host is dialled

	// x/crypto/ssh runs callbacks on goroutines of its own, which may still be
	// running when the attempt is over.
	stage   atomic.Pointer[string]
	hostKey atomic.Pointer[HostError]
	mu      sync.Mutex
	auth    authRecord
}

// prepare reads what is needed from the controller's own files.
func (l *login) prepare() error {
	l.reached(opDial)
	if l.target.User == "" {
		return l.target.fail(opAuthenticate, errors.New("no user to log in as"), "set the user of the connection")
	}
	var err error
	if l.files, err = l.dialer.keys.forTarget(l.target, l.dialer.Home); err != nil {
		return l.target.fail(opAuthenticate, err, hintOf(err))
	}
	if l.known, err = l.dialer.known.open(l.target.knownHosts(l.dialer.Home)); err != nil {
		return l.target.fail(opHostKey, err, hintOf(err))
	}
	return nil
}

func (l *login) reached(op string) { l.stage.Store(&op) }

func (l *login) config(ctx context.Context) *ssh.ClientConfig {
	l.reached(opHandshake)
	return &ssh.ClientConfig{
		User:              l.target.User,
		ClientVersion:     clientVersion,
		HostKeyAlgorithms: l.known.algorithms(l.target.addr()),
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			if err := l.verify(ctx, key); err != nil {
				l.hostKey.Store(err)
				return err
			}
			l.reached(opAuthenticate)
			return nil
		},
		AuthCallback: func(a *ssh.ClientAuthContext) (ssh.AuthMethod, error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.auth.allowed = a.AllowedMethods
			return nil, nil // go on with Auth
		},
		Auth: []ssh.AuthMethod{ssh.PublicKeysCallback(func() ([]ssh.Signer, error) { return l.offer(ctx) })},
	}
}

// fail says at which step the attempt ended, and why.
func (l *login) fail(ctx context.Context, err error) error {
	if e := l.hostKey.Load(); e != nil {
		return e
	}
	op := *l.stage.Load()
	if isOver(ctx) {
		cause := context.Cause(ctx)
		return l.target.fail(op, cause, timeoutHint(op, cause))
	}
	switch op {
	case opDial:
		return l.target.fail(op, dialCause(err), l.target.dialHint(err))
	case opAuthenticate:
		return l.authError(err)
	}
	if said := l.banner.beforeVersion(); said != "" {
		return l.target.fail(op, fmt.Errorf("%w: it first said %s", hangUp(err), said), noServerHint)
	}
	return l.target.fail(op, hangUp(err), handshakeHint(err))
}

// isOver reports whether ctx has ended. A socket has the same deadline, and may
// notice first that it has passed.
func isOver(ctx context.Context) bool {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		<-ctx.Done()
	}
	return ctx.Err() != nil
}
