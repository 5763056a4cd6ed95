package tlscert

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/pki"
)

// A content is the content of a certificate or a request, in words that can be compared.
type content struct {
	request bool
	key     string // see ID of [pki.Key]
	subject string
	names   string
	usage   string
	issuer  string // the ID of the key of the authority, where it is only predicted; selfSigned; "" is not known
	begins  time.Time
	ends    time.Time
}

const selfSigned = "self-signed"

// attribute returns the object identifier of a part of a subject (RFC 4519, RFC 2985); nil for an unknown part.
func attribute(name string) asn1.ObjectIdentifier {
	switch name {
	case "CN":
		return asn1.ObjectIdentifier{2, 5, 4, 3}
	case "serialNumber":
		return asn1.ObjectIdentifier{2, 5, 4, 5}
	case "C":
		return asn1.ObjectIdentifier{2, 5, 4, 6}
	case "L":
		return asn1.ObjectIdentifier{2, 5, 4, 7}
	case "ST":
		return asn1.ObjectIdentifier{2, 5, 4, 8}
	case "O":
		return asn1.ObjectIdentifier{2, 5, 4, 10}
	case "OU":
		return asn1.ObjectIdentifier{2, 5, 4, 11}
	case "emailAddress":
		return asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 1}
	}
	return nil
}

// mostCharacters is how long a part of a subject may be: the upper bounds of RFC 5280, appendix A.1.
func mostCharacters(name string) int {
	switch name {
	case "C":
		return 2
	case "L", "ST":
		return 128
	case "emailAddress":
		return 255
	}
	return 64
}

// isCountry reports whether a text may be a code of ISO 3166, which C has (RFC 5280, appendix A.1: X520countryName).
func isCountry(text string) bool {
	isLetter := func(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }
	return len(text) == 2 && isLetter(text[0]) && isLetter(text[1])
}

// attributes are the parts of a subject, in the order in which they are written.
func attributes() []string {
	return []string{"C", "ST", "L", "O", "OU", "CN", "emailAddress", "serialNumber"}
}

// subject is the subject that is wanted.
func (c *TLSCert) subject() pkix.RDNSequence {
	parts := c.Parts
	if len(parts) == 0 && len(c.Names) > 0 {
		name, _ := parseName(c.Names[0])
		parts = map[string]string{"CN": name.text}
	}
	var all pkix.RDNSequence
	for _, name := range attributes() {
		if value := parts[name]; value != "" {
			all = append(all, pkix.RelativeDistinguishedNameSET{{Type: attribute(name), Value: value}})
		}
	}
	return all
}

// shownSubject is a subject for people, in the order that is ours.
func shownSubject(parts pkix.RDNSequence) string {
	var all []string
	for _, set := range parts {
		for _, part := range set {
			name := part.Type.String()
			for _, known := range attributes() {
				if attribute(known).Equal(part.Type) {
					name = known
				}
			}
			all = append(all, fmt.Sprintf("%s=%v", name, part.Value))
		}
	}
	rank := func(text string) int {
		name, _, _ := strings.Cut(text, "=")
		return slices.Index(attributes(), name)
	}
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	return strings.Join(all, ", ")
}

// A name is a name in a certificate.
type name struct{ kind, text string }

// The kinds of names, as openssl writes them.
const (
	dnsName = "DNS"
	ipName  = "IP"
	uriName = "URI"
	email   = "email"
)

// parseName reads a name with or without its kind.
func parseName(text string) (name, error) {
	n := name{text: text}
	for _, kind := range []string{dnsName, ipName, uriName, email} {
		if rest, ok := strings.CutPrefix(text, kind+":"); ok {
			n = name{kind, rest}
		}
	}
	address, noAddress := netip.ParseAddr(n.text)
	switch {
	case n.kind != "":
	case noAddress == nil:
		n.kind = ipName
	case strings.Contains(n.text, "://"):
		n.kind = uriName
	case strings.Contains(n.text, "@"):
		n.kind = email
	default:
		n.kind = dnsName
	}
	wrong := fmt.Errorf("%q is not a valid %s", n.text, map[string]string{dnsName: "DNS name", ipName: "IP address", uriName: "URI", email: "e-mail address"}[n.kind])
	printable := n.text != "" && !strings.ContainsFunc(n.text, func(r rune) bool { return r <= ' ' || r > '~' || r == ',' })
	switch n.kind {
	case ipName:
		if noAddress != nil || address.Zone() != "" {
			return n, wrong
		}
		n.text = address.Unmap().String()
	case uriName:
		u, err := url.Parse(n.text)
		if err != nil || u.Scheme == "" || !printable {
			return n, wrong
		}
		n.text = u.String()
	case email:
		if !strings.Contains(n.text, "@") || !printable {
			return n, wrong
		}
	default:
		if !printable || strings.ContainsAny(n.text, ":/@") {
			return n, wrong
		}
	}
	return n, nil
}

// shownNames are names for people, sorted.
func shownNames(names []name) string {
	var all []string
	for _, n := range names {
		all = append(all, n.kind+":"+n.text)
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

// usages are the wanted usages.
func (c *TLSCert) usages() []string {
	if len(c.Usage) == 0 {
		return []string{"server"}
	}
	return c.Usage
}

// extended returns a usage in the form of certificates; "ca" has none.
func extended(usage string) (x509.ExtKeyUsage, asn1.ObjectIdentifier) {
	id := asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3}
	switch usage {
	case "server":
		return x509.ExtKeyUsageServerAuth, append(id, 1)
	case "client":
		return x509.ExtKeyUsageClientAuth, append(id, 2)
	case "code":
		return x509.ExtKeyUsageCodeSigning, append(id, 3)
	case "email":
		return x509.ExtKeyUsageEmailProtection, append(id, 4)
	}
	return x509.ExtKeyUsageAny, nil
}

func shownUsages(usages []string) string {
	usages = slices.Sorted(slices.Values(usages))
	return strings.Join(slices.Compact(usages), ", ")
}

// usages are the words of its usage.
func (c content) usages() []string {
	if c.usage == "" {
		return nil
	}
	return strings.Split(c.usage, ", ")
}

// wanted is the desired content of a certificate or a request, except its key and validity, from its properties.
func (c *TLSCert) wanted() content {
	names := make([]name, 0, len(c.Names))
	for _, text := range c.Names {
		n, _ := parseName(text) // Validate has checked it
		names = append(names, n)
	}
	if c.CSR != "" { // the request contains it
		return content{}
	}
	return content{request: c.Ensure == request, subject: shownSubject(c.subject()), names: shownNames(names), usage: shownUsages(c.usages())}
}

// A parsed is a certificate or a request; both are nil if the file is only predicted.
type parsed struct {
	cert    *x509.Certificate
	request *x509.CertificateRequest
}

// parse reads the first certificate or request in PEM.
func parse(text []byte, path string) (content, parsed, error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case "CERTIFICATE", "TRUSTED CERTIFICATE":
			cert, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return content{}, parsed{}, modules.Refuse("%s holds a certificate that cannot be read: %v", path, err)
			}
			said, err := contentOf(cert)
			return said, parsed{cert: cert}, err
		case "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST":
			r, err := x509.ParseCertificateRequest(block.Bytes)
			if err != nil {
				return content{}, parsed{}, modules.Refuse("%s holds a request that cannot be read: %v", path, err)
			}
			said, err := contentOfRequest(r)
			return said, parsed{request: r}, err
		}
	}
	return content{}, parsed{}, errNothing
}

var errNothing = errors.New("neither a certificate nor a request in PEM")

func contentOf(cert *x509.Certificate) (content, error) {
	id, err := pki.ID(cert.PublicKey)
	if err != nil {
		return content{}, err
	}
	c := content{
		key: id, names: shownNames(namesOf(cert.DNSNames, cert.EmailAddresses, cert.IPAddresses, cert.URIs)),
		usage: shownUsages(usagesOf(cert)), begins: cert.NotBefore, ends: cert.NotAfter,
	}
	c.subject, err = rawSubject(cert.RawSubject)
	if cert.CheckSignature(cert.SignatureAlgorithm, cert.RawTBSCertificate, cert.Signature) == nil && bytes.Equal(cert.RawSubject, cert.RawIssuer) {
		c.issuer = selfSigned
	}
	return c, err
}

func rawSubject(der []byte) (string, error) {
	var parts pkix.RDNSequence
	if _, err := asn1.Unmarshal(der, &parts); err != nil {
		return "", err
	}
	return shownSubject(parts), nil
}

func namesOf[IP fmt.Stringer, URI fmt.Stringer](dns, emails []string, ips []IP, uris []URI) (all []name) {
	for _, text := range dns {
		all = append(all, name{dnsName, text})
	}
	for _, text := range emails {
		all = append(all, name{email, text})
	}
	for _, ip := range ips {
		all = append(all, name{ipName, ip.String()})
	}
	for _, uri := range uris {
		all = append(all, name{uriName, uri.String()})
	}
	return all
}

func usagesOf(cert *x509.Certificate) (all []string) {
	if cert.IsCA && cert.BasicConstraintsValid {
		all = append(all, "ca")
	}
	for _, used := range cert.ExtKeyUsage {
		word := fmt.Sprint("usage ", int(used))
		for _, known := range []string{"server", "client", "code", "email"} {
			if usage, _ := extended(known); usage == used {
				word = known
			}
		}
		all = append(all, word)
	}
	for _, id := range cert.UnknownExtKeyUsage {
		all = append(all, id.String())
	}
	return all
}

func contentOfRequest(r *x509.CertificateRequest) (content, error) {
	id, err := pki.ID(r.PublicKey)
	if err != nil {
		return content{}, err
	}
	c := content{request: true, key: id, names: shownNames(namesOf(r.DNSNames, r.EmailAddresses, r.IPAddresses, r.URIs))}
	if r.CheckSignature() != nil { // so its author does not have the key
		c.key = forged
	}
	var usages []string
	for _, e := range r.Extensions {
		switch {
		case e.Id.Equal(extKeyUsage()):
			var ids []asn1.ObjectIdentifier
			if _, err := asn1.Unmarshal(e.Value, &ids); err != nil {
				return c, err
			}
			for _, id := range ids {
				word := id.String()
				for _, known := range []string{"server", "client", "code", "email"} {
					if _, usage := extended(known); usage.Equal(id) {
						word = known
					}
				}
				usages = append(usages, word)
			}
		case e.Id.Equal(basicConstraints()):
			var is constraints
			if _, err := asn1.Unmarshal(e.Value, &is); err != nil {
				return c, err
			}
			if is.CA {
				usages = append(usages, "ca")
			}
		}
	}
	c.usage = shownUsages(usages)
	c.subject, err = rawSubject(r.RawSubject)
	return c, err
}

// forged is in the place of the key of a request that the key has not signed.
const forged = "a signature that is wrong"

// constraints are the basic constraints of RFC 5280, 4.2.1.9.
type constraints struct {
	CA bool `asn1:"optional"`
}

func keyUsage() asn1.ObjectIdentifier         { return asn1.ObjectIdentifier{2, 5, 29, 15} }
func basicConstraints() asn1.ObjectIdentifier { return asn1.ObjectIdentifier{2, 5, 29, 19} }
func extKeyUsage() asn1.ObjectIdentifier      { return asn1.ObjectIdentifier{2, 5, 29, 37} }
