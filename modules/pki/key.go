package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The algorithms of keys.
const (
	RSA     = "rsa"
	ECDSA   = "ecdsa"
	Ed25519 = "ed25519"
)

// The formats of keys in PEM.
const (
	PKCS8       = "pkcs8"       // PRIVATE KEY, RFC 5208
	Traditional = "traditional" // RSA PRIVATE KEY of PKCS #1, EC PRIVATE KEY of RFC 5915
)

// A Key contains the public facts about a private key.
type Key struct {
	Algorithm string
	Bits      int    // length of an RSA key
	Curve     string // curve of an ECDSA key: p256
	Format    string
	// ID identifies a key: SHA-256 of the public key, as DER of a SubjectPublicKeyInfo. A key that is only predicted
	// has another text, which no public key has.
	ID string
}

// Kind names the kind of key: "rsa 3072", "ecdsa p256".
func (k Key) Kind() string {
	switch k.Algorithm {
	case RSA:
		return RSA + " " + strconv.Itoa(k.Bits)
	case ECDSA:
		return ECDSA + " " + k.Curve
	}
	return k.Algorithm
}

// curve returns the curve of a name; nil for an unknown name.
func curve(name string) elliptic.Curve {
	switch name {
	case "p256":
		return elliptic.P256()
	case "p384":
		return elliptic.P384()
	case "p521":
		return elliptic.P521()
	}
	return nil
}

// Make makes a key of a kind.
func (k Key) Make() (crypto.Signer, error) {
	switch k.Algorithm {
	case RSA:
		return rsa.GenerateKey(rand.Reader, k.Bits)
	case Ed25519:
		_, private, err := ed25519.GenerateKey(rand.Reader)
		return private, err
	}
	return ecdsa.GenerateKey(curve(k.Curve), rand.Reader)
}

// Encode returns a key as PEM in a format.
func Encode(key crypto.Signer, format string) (text []byte, err error) {
	block := &pem.Block{Type: "PRIVATE KEY"}
	switch private := key.(type) {
	case *rsa.PrivateKey:
		if format == Traditional {
			block.Type, block.Bytes = "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(private)
		}
	case *ecdsa.PrivateKey:
		if format == Traditional {
			block.Type = "EC PRIVATE KEY"
			block.Bytes, err = x509.MarshalECPrivateKey(private)
		}
	}
	if block.Bytes == nil && err == nil {
		block.Bytes, err = x509.MarshalPKCS8PrivateKey(key)
	}
	return pem.EncodeToMemory(block), err
}

var (
	// ErrNoKey means that a text has no private key that this package can read.
	ErrNoKey = errors.New("no private key")
	// ErrEncrypted means that the key needs a passphrase.
	ErrEncrypted = errors.New("a private key with a passphrase")
)

// ParseKey reads the first private key of a text in PEM. The errors are [ErrNoKey] and [ErrEncrypted]; they do not
// contain parts of the text.
func ParseKey(text []byte) (crypto.Signer, Key, error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		var parsed any
		var err error
		format := Traditional
		switch block.Type {
		case "PRIVATE KEY":
			format = PKCS8
			parsed, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			if block.Headers["DEK-Info"] != "" { // RFC 1421
				return nil, Key{}, ErrEncrypted
			}
			parsed, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			if block.Headers["DEK-Info"] != "" {
				return nil, Key{}, ErrEncrypted
			}
			parsed, err = x509.ParseECPrivateKey(block.Bytes)
		case "ENCRYPTED PRIVATE KEY":
			return nil, Key{}, ErrEncrypted
		default:
			continue
		}
		signer, ok := parsed.(crypto.Signer)
		if err != nil || !ok {
			return nil, Key{}, ErrNoKey
		}
		known, err := keyOf(signer, format)
		return signer, known, err
	}
	return nil, Key{}, ErrNoKey
}

func keyOf(signer crypto.Signer, format string) (Key, error) {
	id, err := ID(signer.Public())
	if err != nil {
		return Key{}, ErrNoKey
	}
	k := Key{Format: format, ID: id}
	switch public := signer.Public().(type) {
	case *rsa.PublicKey:
		k.Algorithm, k.Bits = RSA, public.N.BitLen()
	case *ecdsa.PublicKey:
		k.Algorithm, k.Curve = ECDSA, strings.ToLower(strings.ReplaceAll(public.Params().Name, "-", ""))
	case ed25519.PublicKey:
		k.Algorithm = Ed25519
	default:
		return Key{}, ErrNoKey
	}
	return k, nil
}

// ID is the ID of a public key; see [Key].
func ID(public crypto.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(der)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// said is the refusal of a file without a readable key.
func said(err error, path string) error {
	switch {
	case errors.Is(err, ErrEncrypted):
		return fmt.Errorf("%s is %w, and a passphrase cannot be entered here", path, err)
	case errors.Is(err, ErrNoKey):
		return fmt.Errorf("%s holds %w in PEM", path, err)
	}
	return err
}
