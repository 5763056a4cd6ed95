package transport

import (
	"context"
	"io"
	"slices"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport/keys"
)

const (
	// maxOffers is how many keys a host is asked about: sshd closes the connection
	// after six failures by default (sshd_config, MaxAuthTries).
	maxOffers = 6
	// passwordTries is how many of these are kept for a password, which may be
	// asked for in two ways.
	passwordTries = 2
)

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
	return keys.Algorithms(keys.Plain(s.PublicKey()).Type())
}

func (s sha2Signer) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	if as, ok := s.Signer.(ssh.AlgorithmSigner); ok {
		return as.SignWithAlgorithm(rand, data, algorithm)
	}
	return s.Sign(rand, data)
}

// A chosenSigner signs with some of the algorithms only.
type chosenSigner struct {
	ssh.MultiAlgorithmSigner
	algorithms []string
}

func (s chosenSigner) Algorithms() []string { return s.algorithms }

// restrict leaves an offer the algorithms that are wanted; ok is false if none is
// left. Those of certificates have names of their own.
func (o offer) restrict(wanted []string) (restricted offer, ok bool) {
	if wanted == nil {
		return o, true
	}
	_, isCert := o.PublicKey().(*ssh.Certificate)
	left := slices.DeleteFunc(o.Algorithms(), func(a string) bool {
		if isCert {
			a = keys.CertificateAlgorithm(a)
		}
		return !slices.Contains(wanted, a)
	})
	return offer{chosenSigner{o.MultiAlgorithmSigner, left}, o.name}, len(left) > 0
}

// keyring is what there is to offer to a host.
type keyring struct {
	files        []keyFile
	certificates []userCert // of the target, and those beside its key files
	agent        []offer
	explicit     bool   // the files were named
	only         bool   // nothing but the files
	last         string // id of the key that let the user in last
}

// arrange puts offers in order: with explicit files those first, each by the
// agent if the file itself cannot sign, then the agent's other keys; without,
// the agent's keys and then the default files. Certificates in files go before
// all keys, those of the agent before its keys, and the key that worked last
// before everything. No key is offered twice.
func (k keyring) arrange() (offers []offer, remarks []string) {
	var fromFiles []offer
	for _, f := range k.files {
		inAgent := slices.IndexFunc(k.agent, func(o offer) bool { return f.public != nil && keys.Same(o.PublicKey(), f.public) })
		switch {
		case f.signer != nil:
			fromFiles = append(fromFiles, newOffer(f.name, f.signer))
		case inAgent >= 0:
			fromFiles = append(fromFiles, k.agent[inAgent])
		default:
			remarks = append(remarks, f.remark)
		}
	}
	agent := k.agent
	if k.only {
		agent = slices.DeleteFunc(slices.Clone(agent), func(o offer) bool { return !k.named(o.PublicKey()) })
	}
	agent = slices.Clone(agent)
	slices.SortStableFunc(agent, func(a, b offer) int { return plainLast(a) - plainLast(b) })
	all := slices.Concat(agent, fromFiles)
	if k.explicit {
		all = slices.Concat(fromFiles, agent)
	}
	certified, more := k.certified(all)
	remarks = append(remarks, more...)
	all = slices.Concat(certified, all)
	if i := slices.IndexFunc(all, func(o offer) bool { return keyID(o) == k.last }); i > 0 {
		all = slices.Concat(all[i:i+1], all[:i], all[i+1:])
	}
	for _, o := range all {
		if !slices.ContainsFunc(offers, func(p offer) bool { return keyID(p) == keyID(o) }) {
			offers = append(offers, o)
		}
	}
	return offers, remarks
}

// named reports whether a key of the agent, or that of its certificate, is in one
// of the files.
func (k keyring) named(key ssh.PublicKey) bool {
	return slices.ContainsFunc(k.files, func(f keyFile) bool { return f.public != nil && keys.Same(keys.Plain(key), f.public) })
}

// certified are the certificates, each with the key that can sign for it.
func (k keyring) certified(signers []offer) (offers []offer, remarks []string) {
	for _, c := range k.certificates {
		if c.cert == nil {
			remarks = append(remarks, c.remark)
			continue
		}
		i := slices.IndexFunc(signers, func(o offer) bool { return keys.Same(o.PublicKey(), c.cert.Key) })
		if i < 0 {
			if c.named {
				remarks = append(remarks, c.name+" is for a key that is not there: "+keys.Fingerprint(c.cert.Key))
			}
			continue
		}
		signer, err := ssh.NewCertSigner(c.cert, signers[i])
		if err != nil {
			remarks = append(remarks, c.name+": "+err.Error())
			continue
		}
		offers = append(offers, newOffer(c.name, signer))
		if c.remark != "" {
			remarks = append(remarks, c.remark)
		}
	}
	return offers, remarks
}

// plainLast ranks a key after certificates.
func plainLast(o offer) int {
	if _, isCert := o.PublicKey().(*ssh.Certificate); isCert {
		return 0
	}
	return 1
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

// offer gives x/crypto the keys to try, in order.
func (l *login) offer(ctx context.Context) ([]ssh.Signer, error) {
	d, t := l.dialer, l.target
	socket := d.agentFor(t)
	d.agents.load(ctx, socket) // waits if the agent is still being asked
	fromAgent, remark := d.agents.offers(ctx, socket)
	l.mu.Lock()
	defer l.mu.Unlock()
	a := &l.auth
	if !a.arranged {
		a.arranged = true
		k := keyring{
			files: l.files, certificates: l.certificates, agent: fromAgent,
			explicit: len(t.PrivateKeys) > 0, only: t.IdentitiesOnly, last: d.last.get(t.User),
		}
		a.offers, a.remarks = k.arrange()
		a.offers = l.affordable(a.offers)
		if remark != "" {
			a.remarks = append(a.remarks, remark)
		}
	}
	signers := make([]ssh.Signer, len(a.offers))
	for i, o := range a.offers {
		signers[i] = recorder{offer: o, login: l}
	}
	return signers, nil
}

// affordable are the keys that the host may be asked about.
func (l *login) affordable(offers []offer) []offer {
	var list []offer
	for _, o := range offers {
		if o, ok := o.restrict(l.target.Algorithms.PublicKeys); ok {
			list = append(list, o)
		}
	}
	limit := maxOffers
	if l.hasPassword() {
		limit -= passwordTries
	}
	asked := min(limit, len(list))
	l.auth.held = len(list) - asked
	return list[:asked]
}

// A recorder notes which keys the host is asked about, and which one signs:
// x/crypto does not tell.
type recorder struct {
	offer
	login *login
}

// PublicKey implements [ssh.Signer].
func (r recorder) PublicKey() ssh.PublicKey {
	r.login.mu.Lock()
	defer r.login.mu.Unlock()
	if a := &r.login.auth; !slices.ContainsFunc(a.asked, func(o offer) bool { return keyID(o) == keyID(r.offer) }) {
		a.asked = append(a.asked, r.offer)
	}
	return r.offer.PublicKey()
}

func (r recorder) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (sig *ssh.Signature, err error) {
	r.login.mu.Lock()
	r.login.auth.signed = keyID(r.offer)
	r.login.mu.Unlock()
	r.login.phases.signing(func() { sig, err = r.offer.SignWithAlgorithm(rand, data, algorithm) })
	return sig, err
}
