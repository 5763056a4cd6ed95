package keys

import "golang.org/x/crypto/ssh"

// Plain is the key that a certificate is about; any other key is its own.
func Plain(key ssh.PublicKey) ssh.PublicKey {
	if cert, ok := key.(*ssh.Certificate); ok {
		return cert.Key
	}
	return key
}

// Same reports whether two keys are one; a certificate is not the key that it is
// about.
func Same(a, b ssh.PublicKey) bool { return string(a.Marshal()) == string(b.Marshal()) }

// Fingerprint is how people compare a key: its type, and SHA256:… as ssh-keygen -l
// prints it. A certificate has that of its key.
func Fingerprint(key ssh.PublicKey) string {
	key = Plain(key)
	return key.Type() + " " + ssh.FingerprintSHA256(key)
}
