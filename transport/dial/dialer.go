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

// A Dialer opens the connections of a run and holds what they share: jump connections, parsed known_hosts files,
// private keys, the list of the agent's keys. The zero value works; it must not be copied after first use. All methods
// may be called from many goroutines.
type Dialer struct {
	Home        string // home directory for defaults; "" has none
	AgentSocket string // path of the agent's socket; "" means no agent
	Shell       string // the operator's shell, for proxy commands; "" means /bin/sh
	// LocalEnv is the environment of programs on the controller itself, K=V; nil means the environment of this process.
	LocalEnv []string
	// Limits bound the phases of getting into each host; 0 in it means 10s to dial,
	// 10s for the handshake and 60s to authenticate.
	Limits transport.Limits
	// Retries is the number of further dials after a failure that may pass; negative means none. 0 means two, but none
	// if the failure took long: dead hosts must not slow down a fleet.
	Retries int
	// Keepalive is the interval of keepalive@openssh.com requests; 0 means 15s.
	// A host that leaves one unanswered for KeepaliveCount intervals, 0 means three,
	// is dead, and its connection is closed.
	Keepalive      time.Duration
	KeepaliveCount int
	// Exhausted is called if a host could not be dialled because this machine lacks something, such as open files. The
	// host is dialled again, and the caller should dial fewer at once. nil disables it.
	Exhausted func()
	// TrustHint returns the hint for an unknown host key; nil means the command that adds the key to the first
	// known_hosts file.
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
	apartOf  *Dialer     // dialer whose files and keys it uses; nil means its own
}

const (
	defaultKeepalive      = 15 * time.Second
	defaultKeepaliveCount = 3
	// clientVersion appears in the logs of hosts (RFC 4253, 4.2: no minus sign).
	clientVersion = "SSH-2.0-ccm_push"
)

// Dial opens a connection to t, through its jump hosts. Every error is a [transport.HostError] for which
// [transport.Unreachable] holds, except if ctx is cancelled before the first try. The caller must close the Client.
func (d *Dialer) Dial(ctx context.Context, t transport.Target) (*transport.Client, error) {
	return d.DialTold(ctx, t, func(string) {})
}

// Greeted is the step within the handshake after the host's first bytes.
const Greeted = "greeted"

// DialTold is [Dialer.Dial], but calls told at the begin of each step: [transport.OpDial], [transport.OpHandshake],
// [transport.OpAuthenticate] and [Greeted], again if a step is repeated. told must be quick.
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

// Apart returns a dialer with the same files, keys and passphrases that shares no connection with d: it dials jump
// hosts again. The caller must close it after its clients.
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

// CheckFiles reads the files that t names, as Dial will, and returns the unusable files. Jump hosts are targets of
// their own. d reads a file once.
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

// LockedKeys returns the encrypted key files that Dial could use for t with their passphrases; see
// [auth.Keyring.LockedKeys].
func (d *Dialer) LockedKeys(ctx context.Context, t transport.Target) []string {
	return d.files().keyring.LockedKeys(ctx, d.operator(), t)
}

// Unlock decrypts a key file for the life of d. The error wraps [transport.ErrPassphrase] if the passphrase is wrong.
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
