package tlscert

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"time"
)

// day is one of validity.
const day = 24 * time.Hour

// template is the certificate to make for a public key at a time; like, if set, is the request with its content.
func (c *TLSCert) template(public crypto.PublicKey, like *x509.CertificateRequest, now time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	begins := now.UTC().Truncate(time.Second)
	t := &x509.Certificate{
		SerialNumber: serial.Add(serial, big.NewInt(1)),
		NotBefore:    begins, NotAfter: begins.Add(time.Duration(c.days()) * day),
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	if _, ok := public.(*rsa.PublicKey); ok { // for the key exchange of TLS 1.2
		t.KeyUsage |= x509.KeyUsageKeyEncipherment
	}
	usages := c.usages()
	if like != nil {
		said, err := contentOfRequest(like)
		if err != nil {
			return nil, err
		}
		usages = said.usages()
		t.RawSubject, t.DNSNames, t.EmailAddresses, t.IPAddresses, t.URIs = like.RawSubject, like.DNSNames, like.EmailAddresses, like.IPAddresses, like.URIs
	} else if err := c.names(t); err != nil {
		return nil, err
	}
	for _, word := range usages {
		if word == "ca" {
			t.IsCA = true
			t.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature
			continue
		}
		usage, _ := extended(word)
		t.ExtKeyUsage = append(t.ExtKeyUsage, usage)
	}
	return t, nil
}

// names sets the subject and the names of a certificate from the properties.
func (c *TLSCert) names(t *x509.Certificate) (err error) {
	if t.RawSubject, err = asn1.Marshal(c.subject()); err != nil {
		return err
	}
	for _, text := range c.Names {
		n, err := parseName(text)
		if err != nil {
			return err
		}
		switch n.kind {
		case ipName:
			t.IPAddresses = append(t.IPAddresses, net.ParseIP(n.text))
		case uriName:
			u, err := url.Parse(n.text)
			if err != nil {
				return err
			}
			t.URIs = append(t.URIs, u)
		case email:
			t.EmailAddresses = append(t.EmailAddresses, n.text)
		default:
			t.DNSNames = append(t.DNSNames, n.text)
		}
	}
	return nil
}

// certificate makes a certificate that begins at from: for a key, or for a request if like is set. An authority signs it,
// or the key itself if by is nil.
func (c *TLSCert) certificate(from time.Time, key crypto.Signer, like *x509.CertificateRequest, by *authority) ([]byte, error) {
	var public crypto.PublicKey
	if like != nil {
		public = like.PublicKey
	} else {
		public = key.Public()
	}
	t, err := c.template(public, like, from)
	if err != nil {
		return nil, err
	}
	parent, signer := t, key
	if by != nil {
		parent, signer = by.cert, by.signer
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, public, signer)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), err
}

// request makes a request at a time, with the extensions that the certificate must have.
func (c *TLSCert) request(at time.Time, key crypto.Signer) ([]byte, error) {
	t, err := c.template(key.Public(), nil, at)
	if err != nil {
		return nil, err
	}
	r := &x509.CertificateRequest{RawSubject: t.RawSubject, DNSNames: t.DNSNames, EmailAddresses: t.EmailAddresses, IPAddresses: t.IPAddresses, URIs: t.URIs}
	add := func(id asn1.ObjectIdentifier, critical bool, value any) error {
		der, err := asn1.Marshal(value)
		r.ExtraExtensions = append(r.ExtraExtensions, pkix.Extension{Id: id, Critical: critical, Value: der})
		return err
	}
	var ids []asn1.ObjectIdentifier
	for _, word := range c.usages() {
		if _, id := extended(word); id != nil {
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		if err := add(extKeyUsage(), false, ids); err != nil {
			return nil, err
		}
	}
	if err := add(keyUsage(), true, bits(t.KeyUsage)); err != nil {
		return nil, err
	}
	if t.IsCA {
		if err := add(basicConstraints(), true, constraints{CA: true}); err != nil {
			return nil, err
		}
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, r, key)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), err
}

// bits are the usages of a key as RFC 5280, 4.2.1.3 has them: the first one is the highest bit.
func bits(usage x509.KeyUsage) asn1.BitString {
	var b byte
	length := 0
	for i := range 8 {
		if usage&(1<<i) != 0 {
			b |= 0x80 >> i
			length = i + 1
		}
	}
	return asn1.BitString{Bytes: []byte{b}, BitLength: length}
}
