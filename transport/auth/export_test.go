package auth

import (
	"time"

	"golang.org/x/crypto/ssh"
)

// Internals for tests outside of the package, which dial.

const (
	MaxCandidates = maxCandidates
	MaxBanner     = maxBanner
)

func ParseKeyFile(text []byte) (signs bool, remark, why string, err error) {
	publicPart(text)
	key, err := parseKeyFile("id", text)
	return key.signer != nil, key.remark, key.why, err
}

func ParseCertificate(text []byte, now time.Time) (cert *ssh.Certificate, remark string, err error) {
	c, err := parseCertificate("c", text, now)
	return c.cert, c.remark, err
}
