package dial

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

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/auth"
	"github.com/ccm-push/ccm-push/transport/knownhosts"
)

// An attempt is one try to get into one host, from the first packet to the login.
type attempt struct {
	dialer      *Dialer
	target      transport.Target
	known       *knownhosts.View
	credentials *auth.Credentials
	scan        []string        // host key algorithms to request, without a login; nil logs in
	told        func(op string) // receives the name of each step when it begins; nil disables it

	phases *phases
	banner *bannerConn // nil until the host is dialled
	login  *auth.Login
	// x/crypto/ssh runs callbacks on goroutines of its own, which may still be
	// running when the attempt is over.
	hostKey atomic.Pointer[transport.HostError] // why that was refused
	proven  atomic.Pointer[ssh.PublicKey]
}

// prepare reads the controller's own files.
func (a *attempt) prepare() error {
	t := a.target
	if t.User == "" {
		return t.Fail(transport.OpAuthenticate, errors.New("no user to log in as"), "set the user of the connection")
	}
	if err := checkAlgorithms(t.Algorithms); err != nil {
		return t.Fail(transport.OpHandshake, err, "")
	}
	var err error
	if a.credentials, err = a.dialer.files().keyring.Credentials(a.dialer.operator(), t); err != nil {
		return err
	}
	if a.known, err = a.dialer.openKnown(t); err != nil {
		return t.Fail(transport.OpHostKey, err, transport.HintOf(err))
	}
	return nil
}

// again is another attempt with the same files.
func (a *attempt) again() *attempt {
	return &attempt{dialer: a.dialer, target: a.target, known: a.known, credentials: a.credentials, scan: a.scan, told: a.told}
}

// try dials once.
func (d *Dialer) try(ctx context.Context, a *attempt) (*transport.Client, error) {
	t := a.target
	// A jump host has limits of its own.
	via, err := d.jump(ctx, t.Jump)
	if err != nil {
		return nil, throughJump(t, err)
	}
	leave, err := d.admit(ctx, t, via)
	if err != nil {
		return nil, err
	}
	client, err := d.getIn(ctx, a, via, leave)
	if err != nil {
		leave()
	}
	return client, err
}

// getIn dials the host of an attempt and logs in. served is for the client.
func (d *Dialer) getIn(ctx context.Context, a *attempt, via *slot, served func()) (*transport.Client, error) {
	t := a.target
	ctx, a.phases = withPhases(ctx, d.limits(t), a.told)
	defer a.phases.end()

	// While the host is dialled, the agent lists its keys, and the first time the needs of every login are prepared.
	var meanwhile sync.WaitGroup
	if socket := d.operator().AgentFor(t); socket != "" {
		meanwhile.Go(func() { d.files().keyring.AskAgent(ctx, socket) })
	}
	if d.files().warm.CompareAndSwap(false, true) {
		meanwhile.Go(warmUp)
	}
	defer meanwhile.Wait()
	conn, err := d.connect(ctx, t, via)
	if err != nil {
		return nil, a.transient(ctx, err, a.fail(ctx, err))
	}
	conn, loggedIn := quickly(conn)
	// x/crypto/ssh takes no context, and a connection through a jump host has
	// no deadlines: closing it ends every wait.
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	a.banner = &bannerConn{Conn: conn}
	if a.told != nil {
		a.banner.greeted = func() { a.told(Greeted) }
	}
	c, chans, reqs, err := ssh.NewClientConn(a.banner, t.Addr(), a.config(ctx))
	if !stop() || err != nil {
		conn.Close()
		return nil, a.transient(ctx, err, a.fail(ctx, err))
	}
	a.login.Done()
	loggedIn()
	interval := cmp.Or(t.Keepalive, d.Keepalive, defaultKeepalive)
	count := cmp.Or(t.KeepaliveCount, d.KeepaliveCount, defaultKeepaliveCount)
	return transport.NewClient(t, ssh.NewClient(c, chans, reqs), *a.proven.Load(), interval, time.Duration(count)*interval, served), nil
}

// admit waits until t may be dialled. If via is not nil, it is a place at a jump host, which admit releases if it
// fails. The caller calls leave when t has accepted or refused the login; leave may be called more than once.
func (d *Dialer) admit(ctx context.Context, t transport.Target, via *slot) (leave func(), err error) {
	if leave, err = d.files().startups.enter(ctx, startupKey(t)); err == nil && (via == nil || via.conn.pace.turn(ctx)) {
		return leave, nil
	}
	if err == nil {
		leave()
	}
	if via != nil {
		via.release()
	}
	return nil, t.Fail(transport.OpDial, context.Cause(ctx), "")
}

// connect returns the connection for SSH.
func (d *Dialer) connect(ctx context.Context, t transport.Target, via *slot) (net.Conn, error) {
	switch {
	case via != nil:
		return via.dial(ctx, t.Addr())
	case t.ProxyCommand != "":
		return startProxy(cmp.Or(d.Shell, defaultShell), t.ProxyCommand)
	case d.DialContext != nil:
		return d.DialContext(ctx, network(t, "tcp"), t.Addr())
	}
	return d.dialTCP(ctx, t)
}

func (a *attempt) config(ctx context.Context) *ssh.ClientConfig {
	a.phases.enter(ctx, transport.OpHandshake)
	a.login = a.credentials.Login(func(sign func()) { a.phases.signing(ctx, sign) })
	chosen := a.target.Algorithms
	config := &ssh.ClientConfig{
		User:              a.target.User,
		ClientVersion:     clientVersion,
		HostKeyAlgorithms: a.hostKeyAlgorithms(),
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			if err := a.verify(ctx, key); err != nil {
				a.hostKey.Store(err)
				return err
			}
			a.proven.Store(&key)
			a.phases.enter(ctx, transport.OpAuthenticate)
			return nil
		},
		AuthCallback:   func(c *ssh.ClientAuthContext) (ssh.AuthMethod, error) { return a.login.Next(ctx, c), nil },
		BannerCallback: a.login.Banner,
	}
	config.KeyExchanges, config.Ciphers, config.MACs = chosen.KeyExchanges, chosen.Ciphers, chosen.MACs
	return config
}

// fail returns the error with the step at which the attempt ended, and its cause.
func (a *attempt) fail(ctx context.Context, err error) error {
	if e := a.hostKey.Load(); e != nil {
		return e
	}
	t, op := a.target, a.phases.current()
	if ctx.Err() != nil {
		cause := context.Cause(ctx)
		return t.Fail(op, a.withProxy(cause), timeoutHint(op, cause))
	}
	switch op {
	case transport.OpDial:
		return t.Fail(op, dialCause(err), dialHint(t, err))
	case transport.OpAuthenticate:
		return a.login.Fail(err)
	}
	if said := a.banner.beforeVersion(); said != "" {
		return t.Fail(op, fmt.Errorf("%w: it first said %s", a.withProxy(transport.HangUpCause(err)), said), noServerHint)
	}
	if a.proxy() != nil {
		return t.Fail(op, a.withProxy(transport.HangUpCause(err)), "")
	}
	return t.Fail(op, transport.HangUpCause(err), handshakeHint(err))
}
