package keys

import (
	"strings"

	"golang.org/x/crypto/ssh"
)

// Algorithms are those that a type of plain key signs with, best first, and never
// with SHA-1 (RFC 8332).
func Algorithms(keyType string) []string {
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
