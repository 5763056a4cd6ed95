package knownhosts

import (
	"net"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// What can be said of public keys, and of certificates for them: which they are, and what
// they sign with. Package auth asks it of the keys of users.

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

// Fingerprint is how people compare a key: its type, and SHA256:… as ssh-keygen -l
// prints it. A certificate has that of its key.
func Fingerprint(key ssh.PublicKey) string {
	key = PlainKey(key)
	return key.Type() + " " + ssh.FingerprintSHA256(key)
}

// SignatureAlgorithms are those that a type of plain key signs with, best first, and never
// with SHA-1 (RFC 8332).
func SignatureAlgorithms(keyType string) []string {
	if keyType == ssh.KeyAlgoRSA {
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	}
	return []string{keyType}
}

// IsCertificate reports whether a type of key, or an algorithm, is of certificates.
func IsCertificate(name string) bool { return strings.Contains(name, "-cert-v01@") }

// The name of the algorithm of a certificate is made of that of its key.
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

// A Host is what a host is called.
type Host struct {
	Name      string // by known_hosts: a [NormalName] in lower case, or an alias
	Principal string // by its certificate
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

// NormalName is what known_hosts calls an address: host, or [host]:port if there is
// a port and it is not 22. (x/crypto/ssh/knownhosts puts IPv6 addresses without a
// port in brackets, which OpenSSH does not find.)
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
