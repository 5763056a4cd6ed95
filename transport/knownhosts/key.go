package knownhosts

import (
	"net"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// Properties of public keys and of certificates: identity and signature algorithms. Package auth uses them for users'
// keys.

// PlainKey is the key that a certificate is about; any other key is its own.
func PlainKey(key ssh.PublicKey) ssh.PublicKey {
	if cert, ok := key.(*ssh.Certificate); ok {
		return cert.Key
	}
	return key
}

// SameKey reports whether two keys are one; a certificate is not the key that it is
// about.
func SameKey(a, b ssh.PublicKey) bool { return string(a.Marshal()) == string(b.Marshal()) }

// Fingerprint returns the text by which people compare a key: its type, and SHA256:… as ssh-keygen -l prints it. A
// certificate has the fingerprint of its key.
func Fingerprint(key ssh.PublicKey) string {
	key = PlainKey(key)
	return key.Type() + " " + ssh.FingerprintSHA256(key)
}

// SignatureAlgorithms returns the signature algorithms of a type of plain key, best first, never with SHA-1 (RFC 8332).
func SignatureAlgorithms(keyType string) []string {
	if keyType == ssh.KeyAlgoRSA {
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	}
	return []string{keyType}
}

// IsCertificate reports whether a type of key, or an algorithm, is of certificates.
func IsCertificate(name string) bool { return strings.Contains(name, "-cert-v01@") }

// certificateSuffix follows the name of a key's algorithm in the name of its certificate's algorithm.
const certificateSuffix = "-cert-v01@openssh.com"

// PlainAlgorithm is the algorithm of the key that a certificate is about.
func PlainAlgorithm(name string) string {
	plain, isCert := strings.CutSuffix(name, certificateSuffix)
	if isCert && strings.HasPrefix(plain, "sk-") {
		plain += "@openssh.com"
	}
	return plain
}

// CertificateAlgorithm is the opposite of [PlainAlgorithm].
func CertificateAlgorithm(name string) string {
	return strings.TrimSuffix(name, "@openssh.com") + certificateSuffix
}

// A Host has the names of a host.
type Host struct {
	Name      string // name in known_hosts: a [NormalName] in lower case, or an alias
	Principal string // name in its certificate
	Hidden    bool   // its name is hashed in lines that are added
}

// Line is a line for known_hosts, without its end.
func (h Host) Line(key ssh.PublicKey) string {
	name := h.Name
	if h.Hidden {
		name = knownhosts.HashHostname(name)
	}
	return name + " " + strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

// NormalName returns the name of an address in known_hosts: host, or [host]:port if there is a port and it is not 22.
// (x/crypto/ssh/knownhosts puts IPv6 addresses without a port in brackets, which OpenSSH does not find.)
func NormalName(address string) string {
	host, port, err := net.SplitHostPort(address)
	switch {
	case err == nil && port != "22":
		return "[" + host + "]:" + port
	case err == nil:
		return host
	case strings.HasPrefix(address, "[") && strings.HasSuffix(address, "]"):
		return address[1 : len(address)-1]
	}
	return address
}
