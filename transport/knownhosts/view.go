package knownhosts

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// A View is the combined content of several files. It includes later additions through its Store.
type View struct {
	store   *Store
	files   Files
	revoked []entry // keys of the file of revoked keys
}

// AddTo returns the file that keys are added to; empty means none.
func (v *View) AddTo() string { return v.files.AddTo }

// linesFor returns the lines for a host, and the revoked keys of all hosts: a revoked key is refused for every host.
func (v *View) linesFor(h Host) (known, authorities, revokedKeys []entry) {
	name := strings.ToLower(h.Name)
	v.store.mu.Lock()
	defer v.store.mu.Unlock()
	revokedKeys = slices.Clone(v.revoked)
	for _, path := range v.files.Read {
		p := v.store.files[path]
		for _, i := range p.revoked {
			revokedKeys = append(revokedKeys, p.entries[i])
		}
		for _, e := range p.linesFor(name) {
			if e.marker == certAuthority {
				authorities = append(authorities, e)
			} else {
				known = append(known, e)
			}
		}
	}
	return known, authorities, revokedKeys
}

// Knows reports whether there is a key or an authority for the host.
func (v *View) Knows(h Host) bool {
	known, authorities, _ := v.linesFor(h)
	return len(known)+len(authorities) > 0
}

// Check returns nil for a key of the host. A certificate is good if a known authority
// has signed it for this host, or if its key is known by itself. The error wraps
// [ErrUnknown] or [ErrRevoked], or is a [ChangedError].
func (v *View) Check(h Host, key ssh.PublicKey) error {
	known, authorities, revokedKeys := v.linesFor(h)
	if err := notRevoked(key, revokedKeys); err != nil {
		return err
	}
	if hasKey(known, PlainKey(key)) {
		return nil
	}
	var certErr error
	if cert, ok := key.(*ssh.Certificate); ok {
		if certErr = checkCertificate(h.Principal, cert, authorities); certErr == nil {
			return nil
		}
	}
	switch {
	case len(known) > 0:
		return &ChangedError{Key: key, Lines: places(known), Also: certErr}
	case certErr != nil:
		return fmt.Errorf("%w: %s: %w", ErrUnknown, Fingerprint(key), certErr)
	}
	return fmt.Errorf("%w: %s", ErrUnknown, Fingerprint(key))
}

func hasKey(entries []entry, key ssh.PublicKey) bool {
	return slices.ContainsFunc(entries, func(e entry) bool { return SameKey(e.key, key) })
}

// notRevoked returns an error if a key, or the authority that has certified it, is revoked.
func notRevoked(key ssh.PublicKey, revokedKeys []entry) error {
	cert, isCert := key.(*ssh.Certificate)
	for _, e := range revokedKeys {
		if SameKey(e.key, PlainKey(key)) || isCert && SameKey(e.key, cert.SignatureKey) {
			return fmt.Errorf("%w: %s in %s", ErrRevoked, Fingerprint(e.key), e.where())
		}
	}
	return nil
}

// Judge compares all plain keys that a host has shown with the files. It returns the line FILE:LINE of a known key, ""
// for a new host, or the error of Check. A key is also suspect if another key of its type is known, even if the host
// has shown a known key, too.
func (v *View) Judge(h Host, shown []ssh.PublicKey) (where string, err error) {
	known, _, revokedKeys := v.linesFor(h)
	for _, key := range shown {
		if err := notRevoked(key, revokedKeys); err != nil {
			return "", err
		}
		if others := replaced(known, key); len(others) > 0 {
			return "", &ChangedError{Key: key, Lines: others}
		}
	}
	for _, e := range known {
		if slices.ContainsFunc(shown, func(key ssh.PublicKey) bool { return SameKey(e.key, key) }) {
			return e.where(), nil
		}
	}
	if len(known) == 0 {
		return "", nil
	}
	return "", &ChangedError{Key: shown[0], Lines: places(known)}
}

// replaced are the lines with other keys of the type of key, if no line has key.
func replaced(known []entry, key ssh.PublicKey) []string {
	if hasKey(known, key) {
		return nil
	}
	return places(slices.DeleteFunc(slices.Clone(known), func(e entry) bool { return e.key.Type() != key.Type() }))
}

// keyTypes lists key types as OpenSSH prefers them; the others that x/crypto
// supports follow.
var keyTypes = []string{
	ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoRSA,
}

// Algorithms returns the host key algorithms to request from a host, each once. The algorithms of its known keys come
// first: x/crypto would otherwise request a key of another type and then refuse it (golang/go#29286). It includes
// certificates only if an authority for the host is known, and never signatures with SHA-1.
func (v *View) Algorithms(h Host) []string {
	known, authorities, _ := v.linesFor(h)
	var plain, certs []string
	for _, e := range known {
		plain = append(plain, SignatureAlgorithms(e.key.Type())...)
	}
	for _, t := range keyTypes {
		plain = append(plain, SignatureAlgorithms(t)...)
	}
	supported := ssh.SupportedAlgorithms().HostKeys
	for _, a := range supported {
		if !IsCertificate(a) {
			plain = append(plain, a)
		} else if len(authorities) > 0 {
			certs = append(certs, a)
		}
	}
	var list []string
	for _, a := range append(certs, plain...) {
		if slices.Contains(supported, a) && !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	return list
}
