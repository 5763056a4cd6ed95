package broker

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// How long an authority is valid, and a certificate of it; half of that time before its end there is a new one.
const (
	authorityLife   = 20 * 365 * 24 * time.Hour
	certificateLife = 90 * 24 * time.Hour
	clockSkew       = time.Hour
)

// An authority signs certificates of the server.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// openAuthority reads the authority of a folder, or makes one.
func openAuthority(dir string, now time.Time) (*authority, error) {
	certFile, keyFile := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "ca.key")
	if _, err := os.Stat(certFile); errors.Is(err, fs.ErrNotExist) {
		if err := makeAuthority(certFile, keyFile, now); err != nil {
			return nil, fmt.Errorf("making an authority: %w", err)
		}
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("reading the authority in %s: %w", dir, err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s: it is not the key that this program has made", keyFile)
	}
	return &authority{pair.Leaf, key}, nil
}

func makeAuthority(certFile, keyFile string, now time.Time) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	top := template("ccm-push-broker", now, authorityLife)
	top.IsCA, top.BasicConstraintsValid, top.MaxPathLenZero, top.KeyUsage = true, true, true, x509.KeyUsageCertSign
	cert, err := x509.CreateCertificate(rand.Reader, top, top, key.Public(), key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	// The key is written first: after an interruption between the two, the next start makes both again.
	if err := writeWhole(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})); err != nil {
		return err
	}
	return writeWhole(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}))
}

func template(name string, now time.Time, life time.Duration) *x509.Certificate {
	serial := make([]byte, 16)
	_, _ = rand.Read(serial) // it never fails
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-clockSkew), NotAfter: now.Add(life),
	}
}

// fingerprint returns the SHA-256 of the authority's certificate.
func (a *authority) fingerprint() string {
	sum := sha256.Sum256(a.cert.Raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// sign signs a new server certificate for names and IP addresses.
func (a *authority) sign(names []string, now time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	leaf := template("ccm-push-broker", now, certificateLife)
	leaf.KeyUsage, leaf.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, name)
		}
	}
	signed, err := x509.CreateCertificate(rand.Reader, leaf, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	leaf.Raw = signed
	return &tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: key, Leaf: leaf}, nil
}

// config returns the TLS configuration of the server: its certificate is renewed before it expires.
func (a *authority) config(names []string) *tls.Config {
	var mu sync.Mutex
	var current *tls.Certificate
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			mu.Lock()
			defer mu.Unlock()
			now := time.Now()
			if current == nil || now.Add(certificateLife/2).After(current.Leaf.NotAfter) {
				made, err := a.sign(names, now)
				if err != nil {
					return nil, err
				}
				current = made
			}
			return current, nil
		},
	}
}

// writeWhole writes a file for its owner alone, whole or not at all.
func writeWhole(path string, data []byte) error {
	temp := path + ".new"
	err := os.WriteFile(temp, data, 0o600)
	if err == nil {
		err = os.Rename(temp, path)
	}
	return err
}
