package workers

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// A Certificate limits the certificate of a worker's key.
type Certificate struct {
	SSHKey     []byte         // key of the worker, for the run
	Principals []string       // accounts on hosts of a site, and accounts of hosts that do not know sites
	Sources    []netip.Prefix // addresses from which it is valid; empty means all
	Jumps      bool           // set if it is also for jump hosts
}

// A certificate is a signed key of a worker.
type certificate struct {
	text  []byte
	valid time.Duration // validity after it was made
	// renew is when the next one is requested, last when the run stops without the next one, and ends when this one expires.
	renew, last, ends time.Time
}

// An authority certifies keys of workers, and keeps the certificates until they expire.
type authority struct {
	certify  func(ctx context.Context, of Certificate) (text []byte, valid time.Duration, err error)
	warn     func(string)
	watching func() bool // reports whether the run only watches hosts, and so continues without the authority
	outages  outages

	making sync.Mutex // one certificate at a time
	certs  map[string]certificate

	mu     sync.Mutex
	signer ssh.PublicKey // its key; nil if it has never signed
	failed error         // why it did not sign the first certificate
}

func newAuthority(certify func(context.Context, Certificate) ([]byte, time.Duration, error), warn func(string), watching func() bool) *authority {
	return &authority{certify: certify, warn: warn, watching: watching, certs: map[string]certificate{}}
}

// errNotRenewed means that an authority has signed keys of the run before, and does not any more. That is not a failure of hosts: they did
// not change.
var errNotRenewed = errors.New("the key of a worker is not certified any more")

// certificate returns a certificate for a worker's key. It is renewed after half of its validity. An authority that does not
// answer then gets further requests until most of the validity is over.
func (a *authority) certificate(ctx context.Context, of Certificate) (certificate, error) {
	a.making.Lock()
	defer a.making.Unlock()
	name := fmt.Sprintf("%s %q %v %v", of.SSHKey, of.Principals, of.Sources, of.Jumps)
	known, began := a.certs[name], time.Now()
	if began.Before(known.renew) {
		return known, nil
	}
	text, valid, err := a.certify(ctx, of)
	switch {
	case err == nil:
		if a.outages.end(theAuthority) {
			a.warn("the authority certifies keys of workers again")
		}
	case time.Now().Before(known.last):
		known.renew = time.Now().Add(known.valid / 16)
		a.certs[name] = known
		a.warnOfOutage(err, known.last)
		return known, nil
	case a.hasSigned():
		if a.watching() {
			a.warnOfOutage(err, known.last)
		}
		return known, fmt.Errorf("%w: %w", errNotRenewed, err)
	}
	var signer ssh.PublicKey
	if err == nil {
		signer, err = signerOf(text)
	}
	if err != nil {
		err = fmt.Errorf("certifying the key of a worker: %w", err)
	}
	a.mu.Lock()
	a.signer, a.failed = signer, err
	a.mu.Unlock()
	if err != nil {
		return known, err
	}
	made := certificate{text, valid, began.Add(valid / 2), began.Add(valid - valid/8), began.Add(valid)}
	a.certs[name] = made
	return made, nil
}

// signerOf returns the authority that signed a certificate.
func signerOf(certificate []byte) (ssh.PublicKey, error) {
	key, _, _, _, err := ssh.ParseAuthorizedKey(certificate)
	if err != nil {
		return nil, err
	}
	cert, is := key.(*ssh.Certificate)
	if !is {
		return nil, errors.New("the authority returned a key that is not a certificate")
	}
	return cert.SignatureKey, nil
}

// warnOfOutage warns once that the authority does not sign, and names what happens if the outage continues.
func (a *authority) warnOfOutage(err error, last time.Time) {
	then := "until " + last.Format(time.TimeOnly) + "; after that no more hosts are started"
	if a.watching() {
		then = "while hosts are watched; connected hosts stay watched, but no new login is possible after the certificates expire"
	}
	if a.outages.isNew(theAuthority, err) {
		a.warn(fmt.Sprintf("%v: %v: the request is repeated %s", errNotRenewed, err, then))
	}
}

// key returns the key of the authority, or nil before its first signature. The error is the reason why it did not sign
// the first certificate.
func (a *authority) key() (ssh.PublicKey, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.signer, a.failed
}

// hasSigned reports whether the authority has signed a key.
func (a *authority) hasSigned() bool {
	signer, _ := a.key()
	return signer != nil
}

// refused adds a hint to the failure of a host that refused a certificate: the worker does not know the authority.
func (a *authority) refused(failure *events.Carried) *events.Carried {
	signer, _ := a.key()
	if u, is := failure.Event.(events.Unreachable); is && signer != nil {
		u.Hint = fmt.Sprintf("if the host does not trust the authority %s, or not for this account and site: run authority.yaml for the host without workers (--workers ''), or check TrustedUserCAKeys and AuthorizedPrincipalsFile in its sshd_config; if the certificate has expired: --cert-validity",
			ssh.FingerprintSHA256(signer))
		return &events.Carried{Event: u}
	}
	return failure
}

// forget forgets expired certificates.
func (a *authority) forget(now time.Time) {
	a.making.Lock()
	defer a.making.Unlock()
	for name, one := range a.certs {
		if now.After(one.ends) {
			delete(a.certs, name)
		}
	}
}
