package auth

import (
	"io"
	"slices"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport/knownhosts"
)

// A candidate is a key that may be offered to the host.
type candidate struct {
	ssh.MultiAlgorithmSigner
	name string
}

// newCandidate restricts RSA keys to SHA-2 signatures.
func newCandidate(name string, s ssh.Signer) candidate {
	return candidate{name: name, MultiAlgorithmSigner: sha2Signer{s}}
}

// sha2Signer signs with anything but SHA-1.
type sha2Signer struct{ ssh.Signer }

func (s sha2Signer) Algorithms() []string {
	return knownhosts.SignatureAlgorithms(knownhosts.PlainKey(s.PublicKey()).Type())
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

// restrict returns the candidate with the wanted algorithms only; ok is false if none remains. Certificate algorithms
// have names of their own.
func (c candidate) restrict(wanted []string) (restricted candidate, ok bool) {
	if wanted == nil {
		return c, true
	}
	_, isCert := c.PublicKey().(*ssh.Certificate)
	allowed := slices.DeleteFunc(c.Algorithms(), func(a string) bool {
		if isCert {
			a = knownhosts.CertificateAlgorithm(a)
		}
		return !slices.Contains(wanted, a)
	})
	return candidate{chosenSigner{c.MultiAlgorithmSigner, allowed}, c.name}, len(allowed) > 0
}

// id identifies the key: two candidates with the same id are one key.
func (c candidate) id() string { return string(c.PublicKey().Marshal()) }

// isCertificate reports whether it is a certificate and not a plain key.
func (c candidate) isCertificate() bool {
	_, is := c.PublicKey().(*ssh.Certificate)
	return is
}
