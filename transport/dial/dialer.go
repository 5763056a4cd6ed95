package dial

import (
	"context"
	"crypto/ed25519"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/auth"
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
	// Limits bound the phases of getting into each host; 0 in it means 10s to dial,
	// 10s for the handshake and 60s to authenticate.
	Limits transport.Limits
	// Retries is how often a dial is repeated that failed in a way that may pass;
	// negative means never. 0 means twice, and not at all what was waited for long:
	// a fleet with dead hosts shall not become slow.
	Retries int
	// Keepalive is the interval of keepalive@openssh.com requests; 0 means 15s.
	// A host that leaves one unanswered for KeepaliveCount intervals, 0 means three,
	// is dead, and its connection is closed.
	Keepalive      time.Duration
	KeepaliveCount int
	// Exhausted is told that a host could not be dialled for want of something that this machine has
	// too few of, such as open files: it is dialled again, and fewer should be at once. nil is not told.
	Exhausted func()
	// TrustHint says what to do about an unknown host key; nil gives the command
	// that adds it to the first known_hosts file.
	TrustHint func(transport.Target, ssh.PublicKey) string
	// FileDir opens the directory of a known_hosts file that a key is added to; nil follows every link.
	FileDir knownhosts.FileDir
	// DialContext replaces the dialling of TCP; nil looks the name up and takes the
	// fastest of its addresses.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)
	// Resolve replaces the looking up of names; nil uses [net.DefaultResolver].
	// network is ip, ip4 or ip6.
	Resolve func(ctx context.Context, network, host string) ([]netip.Addr, error)

	known    knownhosts.Store
	keyring  auth.Keyring
	startups startups
	jumps    jumpTable
	warm     atomic.Bool // warmUp has been called
	apartOf  *Dialer     // whose files and keys it has; nil are its own
}

const (
	defaultKeepalive      = 15 * time.Second
	defaultKeepaliveCount = 3
	// clientVersion is what host logs show (RFC 4253, 4.2: no minus sign).
	clientVersion = "SSH-2.0-ccm_push"
)

// Dial opens a connection to t, through its jump hosts. Every error but that of
// a cancelled ctx before anything was tried is a [transport.HostError] for which
// [transport.Unreachable] holds. The Client must be closed by the caller.
func (d *Dialer) Dial(ctx context.Context, t transport.Target) (*transport.Client, error) {
	return d.DialTold(ctx, t, func(string) {})
}

// Greeted is what is told within the handshake, when the host has said its first word.
const Greeted = "greeted"

// DialTold is [Dialer.Dial], and tells when a step begins: [transport.OpDial],
// [transport.OpHandshake], [transport.OpAuthenticate], and the same once more when it is
// repeated; also [Greeted]. told must be quick.
func (d *Dialer) DialTold(ctx context.Context, t transport.Target, told func(op string)) (*transport.Client, error) {
	if t.Local {
		return transport.NewLocal(t, d.LocalEnv), nil
	}
	a := &attempt{dialer: d, target: t, told: told}
	if err := a.prepare(); err != nil {
		return nil, err
	}
	return d.retry(ctx, t, func() (*transport.Client, error) { return d.try(ctx, a.again()) })
}

// Apart gives a dialer that knows the same files, keys and passphrases, and shares no connection with
// d: jump hosts are dialled anew. It must be closed by the caller, behind the clients that it gave.
func (d *Dialer) Apart() *Dialer {
	return &Dialer{
		Home: d.Home, AgentSocket: d.AgentSocket, Shell: d.Shell, LocalEnv: d.LocalEnv, Limits: d.Limits, Retries: d.Retries,
		Keepalive: d.Keepalive, KeepaliveCount: d.KeepaliveCount, Exhausted: d.Exhausted, TrustHint: d.TrustHint, DialContext: d.DialContext, Resolve: d.Resolve,
		apartOf: d.files(),
	}
}

// files is the dialer that has read the files and has the keys.
func (d *Dialer) files() *Dialer {
	if d.apartOf != nil {
		return d.apartOf
	}
	return d
}

// Close ends the jump connections; connections through them end too.
func (d *Dialer) Close() error { return d.jumps.close() }

func (d *Dialer) operator() auth.Operator {
	return auth.Operator{Home: d.Home, AgentSocket: d.AgentSocket}
}

// CheckFiles reads the files that t names, as Dial will, and gives those that
// are of no use. Jump hosts are targets of their own. A file is read once in the
// life of d.
func (d *Dialer) CheckFiles(t transport.Target) []*transport.FileError {
	list := d.files().keyring.CheckFiles(d.operator(), t)
	if len(t.KnownHosts) > 0 || t.RevokedHostKeys != "" {
		_, err := d.openKnown(t)
		if e, ok := errors.AsType[*transport.FileError](err); ok {
			list = append(list, e)
		}
	}
	return list
}

// LockedKeys gives the encrypted key files that Dial could use for t if it had
// their passphrases; see [auth.Keyring.LockedKeys].
func (d *Dialer) LockedKeys(ctx context.Context, t transport.Target) []string {
	return d.files().keyring.LockedKeys(ctx, d.operator(), t)
}

// Unlock opens an encrypted key file for the life of d. The error wraps
// [transport.ErrPassphrase] if that is what is wrong.
func (d *Dialer) Unlock(path string, passphrase *transport.Secret) error {
	return d.files().keyring.Unlock(path, passphrase)
}

// warmUp computes what Ed25519 needs to sign and to verify: Go does that when it is
// first used, which takes a millisecond or two, and nearly every login uses it. This
// key serves for nothing else.
func warmUp() {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	ed25519.Verify(key.Public().(ed25519.PublicKey), nil, ed25519.Sign(key, nil))
}
