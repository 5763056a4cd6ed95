package knownhosts

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/crypto/ssh"
)

// HasAuthority reports whether the host may show a certificate.
func (v *View) HasAuthority(h Host) bool {
	_, authorities, _ := v.linesFor(h)
	return len(authorities) > 0
}

// Certified returns the line, FILE:LINE, of the authority that has signed a certificate for the host, or why the
// certificate proves nothing. The error wraps [ErrRevoked] if the key must not be used.
func (v *View) Certified(h Host, cert *ssh.Certificate) (where string, err error) {
	_, authorities, revokedKeys := v.linesFor(h)
	if err := notRevoked(cert, revokedKeys); err != nil {
		return "", err
	}
	if err := checkCertificate(h.Principal, cert, authorities); err != nil {
		return "", err
	}
	return signer(authorities, cert), nil
}

// Authority returns the line, FILE:LINE, of the host's authority that a certificate names as its signer, or "". It
// checks nothing else.
func (v *View) Authority(h Host, cert *ssh.Certificate) string {
	_, authorities, _ := v.linesFor(h)
	return signer(authorities, cert)
}

func signer(authorities []entry, cert *ssh.Certificate) string {
	i := slices.IndexFunc(authorities, func(e entry) bool { return SameKey(e.key, cert.SignatureKey) })
	if i < 0 {
		return ""
	}
	return authorities[i].where()
}

// checkCertificate returns an error if a certificate does not prove that a host is principal. The rules are the same as
// in OpenSSH: no wildcards in principals, an empty list means any host, and no signature with SHA-1.
func checkCertificate(principal string, cert *ssh.Certificate, authorities []entry) error {
	switch {
	case !hasKey(authorities, cert.SignatureKey):
		return fmt.Errorf("its certificate is signed by %s, which is not an authority for it", Fingerprint(cert.SignatureKey))
	case cert.CertType != ssh.HostCert:
		return errors.New("its certificate is one for users")
	case len(cert.ValidPrincipals) > 0 && !slices.Contains(cert.ValidPrincipals, principal):
		return fmt.Errorf("its certificate is for %q, not for %q", cert.ValidPrincipals, principal)
	case cert.Signature != nil && cert.Signature.Format == ssh.KeyAlgoRSA:
		return errors.New("its certificate is signed with SHA-1")
	}
	if err := inTime(cert, time.Now()); err != nil {
		return err
	}
	return (&ssh.CertChecker{}).CheckCert(principal, cert) // signature, critical options
}

// inTime holds a certificate against the clock.
func inTime(cert *ssh.Certificate, now time.Time) error {
	at := func(seconds uint64) string { return time.Unix(int64(seconds), 0).UTC().Format(time.RFC3339) }
	seconds := uint64(now.Unix())
	switch {
	case seconds < cert.ValidAfter:
		return fmt.Errorf("its certificate is not valid before %s", at(cert.ValidAfter))
	case cert.ValidBefore != ssh.CertTimeInfinity && seconds >= cert.ValidBefore:
		return fmt.Errorf("its certificate has expired at %s", at(cert.ValidBefore))
	}
	return nil
}
