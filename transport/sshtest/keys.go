package sshtest

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
)

// newKey makes an ed25519 key, as a signer and as a private key file.
func newKey() (ssh.Signer, []byte, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	block, err := ssh.MarshalPrivateKey(private, "sshtest")
	if err != nil {
		return nil, nil, err
	}
	signer, err := ssh.NewSignerFromKey(private)
	return signer, pem.EncodeToMemory(block), err
}

// NewKey makes a key of a type: rsa, ecdsa, or ed25519, which "" is too.
func NewKey(tb testing.TB, keyType string) ssh.Signer {
	tb.Helper()
	var key any
	var err error
	switch keyType {
	case "rsa":
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	case "ecdsa":
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	default:
		_, key, err = ed25519.GenerateKey(rand.Reader)
	}
	if err != nil {
		tb.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	return signer
}

// PublicLine returns the public key of a signer as in a .pub file, without the line end. For a certificate it returns
// the certified key.
func PublicLine(s ssh.Signer) string {
	key := s.PublicKey()
	if cert, ok := key.(*ssh.Certificate); ok {
		key = cert.Key
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

// WriteKey writes a new ed25519 key to a private key file. With a passphrase the file is
// encrypted, and the key is the same for each use of that passphrase: encrypting takes
// long on purpose (bcrypt), and many seconds under the race detector.
func WriteKey(tb testing.TB, path, passphrase string) ed25519.PrivateKey {
	tb.Helper()
	made, known := encryptedKeys.Load(passphrase)
	if !known {
		key, text, err := newKeyFile(passphrase)
		if err != nil {
			tb.Fatal(err)
		}
		made = encryptedKey{key, text}
		if passphrase != "" {
			encryptedKeys.Store(passphrase, made)
		}
	}
	k := made.(encryptedKey)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, k.text, 0o600); err != nil {
		tb.Fatal(err)
	}
	return k.key
}

// encryptedKeys are the keys of this process by passphrase.
var encryptedKeys sync.Map

type encryptedKey struct {
	key  ed25519.PrivateKey
	text []byte
}

func newKeyFile(passphrase string) (ed25519.PrivateKey, []byte, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	var block *pem.Block
	if passphrase == "" {
		block, err = ssh.MarshalPrivateKey(key, "")
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(passphrase))
	}
	if err != nil {
		return nil, nil, err
	}
	return key, pem.EncodeToMemory(block), nil
}
