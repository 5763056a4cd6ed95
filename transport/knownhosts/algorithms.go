package knownhosts

import (
	"slices"

	"golang.org/x/crypto/ssh"
)

// keyTypes lists key types as OpenSSH prefers them; the others that x/crypto
// supports follow.
var keyTypes = []string{
	ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoRSA,
}

// Algorithms lists host key algorithms to ask a host for, each once, those first for
// which a key of the host is known: x/crypto would otherwise ask for a key of another
// type and then refuse it (golang/go#29286). Certificates are asked for only where an
// authority is known for the host. SHA-1 signatures are never accepted.
func (v *View) Algorithms(h Host) []string {
	known, authorities, _ := v.about(h)
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
