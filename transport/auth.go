package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/crypto/ssh"
)

// maxOffers is how many keys a host is asked about: sshd closes the connection
// after six failures by default (sshd_config, MaxAuthTries).
const maxOffers = 6

// An offer is a key that the host is asked about.
type offer struct {
	ssh.MultiAlgorithmSigner
	name string
}

// newOffer restricts RSA keys to SHA-2 signatures.
func newOffer(name string, s ssh.Signer) offer {
	return offer{name: name, MultiAlgorithmSigner: sha2Signer{s}}
}

// sha2Signer signs with anything but SHA-1.
type sha2Signer struct{ ssh.Signer }

func (s sha2Signer) Algorithms() []string {
	return signatures(plainKey(s.PublicKey()).Type())
}

func (s sha2Signer) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	if as, ok := s.Signer.(ssh.AlgorithmSigner); ok {
		return as.SignWithAlgorithm(rand, data, algorithm)
	}
	return s.Sign(rand, data)
}

// arrange puts offers in order: with explicit files those first, each by the
// agent if the file itself cannot sign, then the agent's other keys; without,
// the agent's keys and then the default files. The key that worked last goes
// to the front, no key is offered twice, and at most maxOffers are.
func arrange(files []keyFile, explicit bool, agent []offer, last string) (offers []offer, remarks []string) {
	var fromFiles []offer
	for _, f := range files {
		inAgent := slices.IndexFunc(agent, func(o offer) bool { return f.public != nil && sameKey(o.PublicKey(), f.public) })
		switch {
		case f.signer != nil:
			fromFiles = append(fromFiles, newOffer(f.name, f.signer))
		case inAgent >= 0:
			fromFiles = append(fromFiles, agent[inAgent])
		default:
			remarks = append(remarks, f.remark)
		}
	}
	all := slices.Concat(agent, fromFiles)
	if explicit {
		all = slices.Concat(fromFiles, agent)
	}
	if i := slices.IndexFunc(all, func(o offer) bool { return keyID(o) == last }); i > 0 {
		all = slices.Concat(all[i:i+1], all[:i], all[i+1:])
	}
	for _, o := range all {
		twice := slices.ContainsFunc(offers, func(p offer) bool { return keyID(p) == keyID(o) })
		if !twice && len(offers) < maxOffers {
			offers = append(offers, o)
		}
	}
	return offers, remarks
}

func keyID(o offer) string { return string(o.PublicKey().Marshal()) }

// lastKeys remembers which key let each user in.
type lastKeys struct {
	mu     sync.Mutex
	byUser map[string]string
}

func (l *lastKeys) get(user string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byUser[user]
}

func (l *lastKeys) set(user, key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byUser == nil {
		l.byUser = make(map[string]string)
	}
	l.byUser[user] = key
}

// An authRecord is what happened during one authentication.
type authRecord struct {
	allowed []string // methods the host accepts, if it said so
	offered []string // names of keys
	remarks []string
	signed  string // id of the key that was used last
}

// offer gives x/crypto the keys to try, in order.
func (l *login) offer(ctx context.Context) ([]ssh.Signer, error) {
	d, t := l.dialer, l.target
	d.agent.load(ctx, d.AgentSocket) // waits if the agent is still being asked
	fromAgent, remark := d.agent.offers(ctx, d.AgentSocket)
	offers, remarks := arrange(l.files, len(t.PrivateKeys) > 0, fromAgent, d.last.get(t.User))
	if remark != "" {
		remarks = append(remarks, remark)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.auth.remarks = remarks
	signers := make([]ssh.Signer, len(offers))
	for i, o := range offers {
		l.auth.offered = append(l.auth.offered, o.name)
		signers[i] = recorder{offer: o, login: l}
	}
	return signers, nil
}

// A recorder notes which key signs: x/crypto does not tell which one worked.
type recorder struct {
	offer
	login *login
}

func (r recorder) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	r.login.mu.Lock()
	r.login.auth.signed = keyID(r.offer)
	r.login.mu.Unlock()
	return r.offer.SignWithAlgorithm(rand, data, algorithm)
}

// remember keeps the key that has just let us in.
func (l *login) remember() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.auth.signed != "" {
		l.dialer.last.set(l.target.User, l.auth.signed)
	}
}

// authError explains a login that the host ended.
func (l *login) authError(err error) error {
	if isHangUp(err) {
		return l.target.fail(opAuthenticate, hangUp(err), "")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	err = fmt.Errorf("%w: %w", ErrAuth, withoutHandshake(err))
	return l.target.fail(opAuthenticate, err, l.auth.hint(l.target.User))
}

func (a *authRecord) hint(user string) string {
	var parts []string
	switch {
	case len(a.offered) > 0:
		parts = append(parts, fmt.Sprintf("offered %s as %s; check authorized_keys on the host", strings.Join(a.offered, ", "), user))
	case a.allowed != nil && !slices.Contains(a.allowed, "publickey"):
		parts = append(parts, fmt.Sprintf("the host takes no keys from %s, only %s", user, strings.Join(a.allowed, ", ")))
	default:
		parts = append(parts, "there was no key to offer as "+user+"; name one with private_key or add one to the agent")
	}
	return strings.Join(append(parts, a.remarks...), "; ")
}

// isHangUp reports whether the connection ended, rather than was refused.
func isHangUp(err error) bool {
	_, isNet := errors.AsType[net.Error](err)
	return isNet || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe)
}

// hangUp says in words what an end of file, or a reset, means. x/crypto closes
// the connection itself when it cannot write, and may report that.
func hangUp(err error) error {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE, net.ErrClosed} {
		if errors.Is(err, end) {
			return errors.New("the host closed the connection")
		}
	}
	return withoutHandshake(err)
}

// withoutHandshake drops what x/crypto puts before every error of a login.
func withoutHandshake(err error) error {
	if cause := errors.Unwrap(err); cause != nil && strings.HasPrefix(err.Error(), "ssh: handshake failed: ") {
		return cause
	}
	return err
}
