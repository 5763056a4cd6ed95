package dial

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/knownhosts"
)

// A Scan holds the keys that a host has shown, each in a handshake of its own that ended before a login.
type Scan struct {
	// Keys are the host's own, at most one of each type, as proven. They are
	// without certificates.
	Keys []ssh.PublicKey
	// Known is the line that has one of them, or the authority that has certified
	// one, FILE:LINE; "" if the host is new.
	Known string
	// Certificate is why the host's certificate proves nothing, although there is
	// an authority for it; nil if that is not so.
	Certificate error
}

// scannedTypes are the requested key types, one handshake each.
var scannedTypes = [][]string{
	{ssh.KeyAlgoED25519},
	{ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521},
	knownhosts.SignatureAlgorithms(ssh.KeyAlgoRSA),
}

// Scan reads the keys of a host, through its jump hosts. ccm-push logs in to these, so their keys must be known. Every
// error is a [transport.HostError]; with [transport.ErrHostKeyChanged] or [transport.ErrHostKeyRevoked] Scan also
// returns the keys.
func (d *Dialer) Scan(ctx context.Context, t transport.Target) (Scan, error) {
	known, err := d.openKnown(t)
	if err != nil {
		return Scan{}, t.Fail(transport.OpHostKey, err, transport.HintOf(err))
	}
	s, lacking := Scan{}, error(nil)
	certified, err := d.scanCertificate(ctx, t, known, &s)
	if err != nil || s.Known != "" {
		return s, err
	}
	for _, algorithms := range scannedTypes {
		key, err := d.scanKey(ctx, t, known, algorithms)
		switch {
		case lacksHostKey(err):
			lacking = err
			continue
		case err != nil:
			return Scan{}, err
		}
		s.Keys = append(s.Keys, knownhosts.PlainKey(key))
	}
	switch {
	case len(s.Keys) > 0:
	case certified == nil:
		return s, lacking
	default:
		s.Keys = []ssh.PublicKey{knownhosts.PlainKey(certified)}
	}
	if s.Known, err = known.Judge(t.KnownHost(), s.Keys); err != nil {
		return s, t.Fail(transport.OpHostKey, err, trustHint(err))
	}
	return s, nil
}

// scanCertificate requests a certificate if there is an authority for the host, and records which authority has signed
// it, or why the certificate is not valid.
func (d *Dialer) scanCertificate(ctx context.Context, t transport.Target, known *knownhosts.View, s *Scan) (ssh.PublicKey, error) {
	if !known.HasAuthority(t.KnownHost()) {
		return nil, nil
	}
	certificates := slices.DeleteFunc(known.Algorithms(t.KnownHost()), func(a string) bool { return !knownhosts.IsCertificate(a) })
	key, err := d.scanKey(ctx, t, known, certificates)
	switch {
	case lacksHostKey(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	cert, ok := key.(*ssh.Certificate)
	if !ok {
		return nil, t.Fail(transport.OpHostKey, errors.New("no certificate was shown, though one was agreed on"), "")
	}
	where, err := known.Certified(t.KnownHost(), cert)
	if errors.Is(err, transport.ErrHostKeyRevoked) {
		return nil, t.Fail(transport.OpHostKey, err, "")
	}
	s.Known, s.Certificate = where, err
	return key, nil
}

// scanKey does one handshake. Its error is a lacksHostKey if the host has no key
// of these algorithms.
func (d *Dialer) scanKey(ctx context.Context, t transport.Target, known *knownhosts.View, algorithms []string) (ssh.PublicKey, error) {
	a := &attempt{dialer: d, target: t, known: known, scan: algorithms}
	client, err := d.retry(ctx, t, func() (*transport.Client, error) { return d.try(ctx, a.again()) })
	if err == nil { // cannot be: the callback for the host key is always called
		client.Close()
		return nil, t.Fail(transport.OpHandshake, errors.New("no host key was shown"), "")
	}
	if shown, ok := errors.AsType[*shownKey](err); ok {
		return shown.key, nil
	}
	return nil, err
}

// A shownKey ends the handshake of a scan.
type shownKey struct{ key ssh.PublicKey }

func (*shownKey) Error() string { return "the scan is done" }

func lacksHostKey(err error) bool {
	disagreed, ok := errors.AsType[*ssh.AlgorithmNegotiationError](err)
	return ok && disagreed.What == "host key"
}

// IsKnown reports whether known_hosts has a key or an authority for the host, without connecting.
func (d *Dialer) IsKnown(t transport.Target) (bool, error) {
	known, err := d.openKnown(t)
	if err != nil {
		return false, t.Fail(transport.OpHostKey, err, transport.HintOf(err))
	}
	return known.Knows(t.KnownHost()), nil
}

// TrustFile returns the file that Trust adds keys of the host to, or "".
func (d *Dialer) TrustFile(t transport.Target) string { return t.KnownHostsFiles(d.Home).AddTo }

// Trusted are keys of a host that the operator vouches for.
type Trusted struct {
	Target transport.Target
	Keys   []ssh.PublicKey
}

// Trust adds keys to the known_hosts files of their hosts: to each file at once, with its lock held. It skips hosts
// that have become known in the meantime. It returns an error for each host, in their order; all are nil if everything
// was added.
func (d *Dialer) Trust(ctx context.Context, hosts []Trusted) []error {
	all := make([]knownhosts.Trusted, len(hosts))
	for i, h := range hosts {
		all[i] = knownhosts.Trusted{Host: h.Target.KnownHost(), Files: d.knownHosts(h.Target), Keys: h.Keys}
	}
	errs := d.files().known.Trust(ctx, all)
	for i, err := range errs {
		if err != nil {
			errs[i] = hosts[i].Target.Fail(transport.OpHostKey, err, trustHint(err))
		}
	}
	return errs
}

func trustHint(err error) string {
	changed, ok := errors.AsType[*knownhosts.ChangedError](err)
	switch {
	case ok:
		return changedHint(changed, "trust it")
	case errors.Is(err, knownhosts.ErrNoFile):
		return noOwnFile
	}
	return ""
}
