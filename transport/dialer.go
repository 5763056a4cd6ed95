package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport/knownhosts"
)

// A Dialer opens the connections of a run. What they share is kept here: jump
// connections, parsed known_hosts files, private keys, the list of the agent's
// keys. The zero value works; it must not be copied after first use. All
// methods may be called from many goroutines.
type Dialer struct {
	Home        string // home directory for defaults; "" has none
	AgentSocket string // path of the agent's socket; "" means no agent
	Shell       string // the operator's shell, for proxy commands; "" means /bin/sh
	// LocalEnv is the environment of what runs on the controller itself, K=V; nil
	// means that of this process.
	LocalEnv []string
	// Limits bound the phases of getting into each hop; 0 in it means 10s to dial,
	// 10s for the handshake and 60s to authenticate.
	Limits Limits
	// Retries is how often a dial is repeated that failed in a way that may pass;
	// negative means never. 0 means twice, and not at all what was waited for long:
	// a fleet with dead hosts shall not become slow.
	Retries int
	// Keepalive is the interval of keepalive@openssh.com requests; 0 means 15s.
	// A host that leaves one unanswered for KeepaliveCount intervals, 0 means three,
	// is dead, and its connection is closed.
	Keepalive      time.Duration
	KeepaliveCount int
	// TrustHint says what to do about an unknown host key; nil gives the command
	// that adds it to the first known_hosts file.
	TrustHint func(Target, ssh.PublicKey) string
	// DialContext replaces the dialling of TCP; nil looks the name up and tries all
	// its addresses, staggered.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
	// Resolve replaces the looking up of names; nil uses [net.DefaultResolver].
	// network is ip, ip4 or ip6.
	Resolve func(ctx context.Context, network, host string) ([]netip.Addr, error)

	known  knownhosts.Store
	keys   keyFiles
	agents agentTable
	last   lastKeys
	jumps  jumpTable
	ready  atomic.Bool // makeReady has been called
}

const (
	defaultKeepalive      = 15 * time.Second
	defaultKeepaliveCount = 3
	// clientVersion is what host logs show (RFC 4253, 4.2: no minus sign).
	clientVersion = "SSH-2.0-ccm_push"
)

// Dial opens a connection to t, through its jump hosts. Every error but that of
// a cancelled ctx before anything was tried is a [HostError] for which
// [Unreachable] holds. The Client must be closed by the caller.
func (d *Dialer) Dial(ctx context.Context, t Target) (*Client, error) {
	if t.Local {
		return newLocal(t, d.LocalEnv), nil
	}
	l := &login{dialer: d, target: t}
	if err := l.prepare(); err != nil {
		return nil, err
	}
	return d.patiently(ctx, t, func() (*Client, error) { return d.try(ctx, l.again()) })
}

// Close ends the jump connections; connections through them end too.
func (d *Dialer) Close() error { return d.jumps.close() }

// try dials once.
func (d *Dialer) try(ctx context.Context, l *login) (*Client, error) {
	t := l.target
	// A jump host has limits of its own.
	via, err := d.jump(ctx, t.Jump)
	if err != nil {
		return nil, throughJump(t, err)
	}
	l.phases = newPhases(ctx, d.limits(t))
	defer l.phases.end()
	ctx = l.phases.ctx

	// While the host is dialled the agent is asked, and the first time made ready what
	// every login needs.
	var meanwhile sync.WaitGroup
	if socket := d.agentFor(t); socket != "" {
		meanwhile.Go(func() { d.agents.load(ctx, socket) })
	}
	if d.ready.CompareAndSwap(false, true) {
		meanwhile.Go(makeReady)
	}
	defer meanwhile.Wait()
	conn, err := d.dialOut(ctx, t, via)
	if err != nil {
		return nil, l.passing(err, l.fail(ctx, err))
	}
	// x/crypto/ssh takes no context, and a connection through a jump host has
	// no deadlines: closing it ends every wait.
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	l.banner = &bannerConn{Conn: conn}
	c, chans, reqs, err := ssh.NewClientConn(l.banner, t.addr(), l.config(ctx))
	if !stop() || err != nil {
		conn.Close()
		return nil, l.passing(err, l.fail(ctx, err))
	}
	l.remember()
	interval := cmp.Or(t.Keepalive, d.Keepalive, defaultKeepalive)
	count := cmp.Or(t.KeepaliveCount, d.KeepaliveCount, defaultKeepaliveCount)
	return newClient(t, ssh.NewClient(c, chans, reqs), interval, time.Duration(count)*interval), nil
}

// dialOut gives the connection that SSH is to be spoken on.
func (d *Dialer) dialOut(ctx context.Context, t Target, via *seat) (net.Conn, error) {
	switch {
	case via != nil:
		return via.dial(ctx, t.addr())
	case t.ProxyCommand != "":
		return startProxy(cmp.Or(d.Shell, defaultShell), t.ProxyCommand)
	case d.DialContext != nil:
		return d.DialContext(ctx, t.network("tcp"), t.addr())
	}
	return d.dialTCP(ctx, t)
}

// A login is one attempt to get into one host.
type login struct {
	dialer *Dialer
	target Target
	known  *knownhosts.View
	files  []keyFile
	scan   []string // host key algorithms to ask for instead of logging in; nil logs in
	phases *phases
	banner *bannerConn // nil until the host is dialled

	certificates []userCert

	// x/crypto/ssh runs callbacks on goroutines of its own, which may still be
	// running when the attempt is over.
	hostKey atomic.Pointer[HostError]
	mu      sync.Mutex
	auth    authRecord
}

// prepare reads what is needed from the controller's own files.
func (l *login) prepare() error {
	if l.target.User == "" {
		return l.target.Fail(OpAuthenticate, errors.New("no user to log in as"), "set the user of the connection")
	}
	if err := l.target.Algorithms.check(); err != nil {
		return l.target.Fail(OpHandshake, err, "")
	}
	var err error
	if l.files, err = l.dialer.keys.forTarget(l.target, l.dialer.Home); err != nil {
		return l.target.Fail(OpAuthenticate, err, hintOf(err))
	}
	if l.certificates, err = l.dialer.keys.certificates(l.target, l.files, l.dialer.Home); err != nil {
		return l.target.Fail(OpAuthenticate, err, hintOf(err))
	}
	if l.known, err = l.dialer.openKnown(l.target); err != nil {
		return l.target.Fail(OpHostKey, err, hintOf(err))
	}
	return nil
}

// again is another attempt with the same files.
func (l *login) again() *login {
	return &login{dialer: l.dialer, target: l.target, known: l.known, files: l.files, scan: l.scan, certificates: l.certificates}
}

func (l *login) config(ctx context.Context) *ssh.ClientConfig {
	l.phases.enter(OpHandshake)
	chosen := l.target.Algorithms
	config := &ssh.ClientConfig{
		User:              l.target.User,
		ClientVersion:     clientVersion,
		HostKeyAlgorithms: l.hostKeyAlgorithms(),
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			if err := l.verify(ctx, key); err != nil {
				l.hostKey.Store(err)
				return err
			}
			l.phases.enter(OpAuthenticate)
			return nil
		},
		AuthCallback:   func(a *ssh.ClientAuthContext) (ssh.AuthMethod, error) { return l.next(ctx, a), nil },
		BannerCallback: l.heardBanner,
	}
	config.KeyExchanges, config.Ciphers, config.MACs = chosen.KeyExchanges, chosen.Ciphers, chosen.MACs
	return config
}

// fail says at which step the attempt ended, and why.
func (l *login) fail(ctx context.Context, err error) error {
	if e := l.hostKey.Load(); e != nil {
		return e
	}
	op := l.phases.current()
	if ctx.Err() != nil {
		cause := context.Cause(ctx)
		return l.target.Fail(op, l.withProxy(cause), timeoutHint(op, cause))
	}
	switch op {
	case OpDial:
		return l.target.Fail(op, dialCause(err), l.target.dialHint(err))
	case OpAuthenticate:
		return l.authError(err)
	}
	if said := l.banner.beforeVersion(); said != "" {
		return l.target.Fail(op, fmt.Errorf("%w: it first said %s", l.withProxy(HangUpCause(err)), said), noServerHint)
	}
	if l.proxy() != nil {
		return l.target.Fail(op, l.withProxy(HangUpCause(err)), "")
	}
	return l.target.Fail(op, HangUpCause(err), handshakeHint(err))
}
