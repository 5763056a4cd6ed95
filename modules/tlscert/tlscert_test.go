package tlscert

import (
	"crypto"
	"encoding/pem"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/pki"
)

// A pair is a key, and the certificate or request that was made for it.
type pair struct {
	signer    crypto.Signer
	key, text string
}

// newKey makes a key.
func newKey(t testing.TB) pair {
	t.Helper()
	signer, err := pki.Key{Algorithm: pki.ECDSA, Curve: "p256"}.Make()
	require.NoError(t, err)
	text, err := pki.Encode(signer, pki.PKCS8)
	require.NoError(t, err)
	return pair{signer: signer, key: string(text)}
}

// certified makes a certificate or a request for a key, as of a day some days ago.
func (p pair) certified(t testing.TB, c TLSCert, ago int, by *authority) pair {
	t.Helper()
	from := time.Now().Add(-time.Duration(ago) * day)
	text, err := c.certificate(from, p.signer, nil, by)
	if c.Ensure == request {
		text, err = c.request(from, p.signer)
	}
	require.NoError(t, err)
	p.text = string(text)
	return p
}

// by is the pair as an authority.
func (p pair) by(t testing.TB) *authority {
	t.Helper()
	said, is, err := parse([]byte(p.text), "")
	require.NoError(t, err)
	return &authority{said, is.cert, p.signer}
}

// forge changes the last byte of the signature of a request.
func forge(t testing.TB, text string) string {
	t.Helper()
	block, _ := pem.Decode([]byte(text))
	require.NotNil(t, block)
	block.Bytes[len(block.Bytes)-1] ^= 1
	return string(pem.EncodeToMemory(block))
}

func properties(more string) string {
	return `{"name":"$ROOT/c","key":"$ROOT/k","names":["a.example.net"]` + more + `}`
}

var ofA = TLSCert{Names: []string{"a.example.net"}}

func TestConverges(t *testing.T) {
	ca := newKey(t).certified(t, TLSCert{Parts: map[string]string{"CN": "authority"}, Usage: []string{"ca"}, Days: 1000}, 0, nil)
	short := ca.certified(t, TLSCert{Parts: map[string]string{"CN": "authority"}, Usage: []string{"ca"}, Days: 300}, 0, nil)
	of := newKey(t)
	files := func(cert string, more ...modtest.Node) []modtest.Node {
		all := append([]modtest.Node{
			{Path: "k", Text: of.key, Mode: 0o600}, {Path: "ca.k", Text: ca.key, Mode: 0o600}, {Path: "ca.c", Text: ca.text}, {Path: "short.c", Text: short.text},
		}, more...)
		if cert != "" {
			all = append(all, modtest.Node{Path: "c", Text: cert})
		}
		return all
	}
	made := func(c TLSCert, ago int, by *authority) []modtest.Node {
		return files(of.certified(t, c, ago, by).text)
	}
	days := func(n int) TLSCert { return TLSCert{Names: ofA.Names, Days: n} }
	says := func(of string) content {
		said, _, err := parse([]byte(of), "")
		require.NoError(t, err)
		return said
	}
	expires := func(of string) string { return says(of).ends.UTC().Format(time.RFC3339) }
	const byCA = `,"ca_cert":"$ROOT/ca.c","ca_key":"$ROOT/ca.k"`
	old := of.certified(t, ofA, 336, nil).text
	expired := of.certified(t, days(90), 100, nil).text
	early := of.certified(t, ofA, -2, nil).text
	asked := TLSCert{Ensure: request, Names: []string{"a.example.net", "b"}, Usage: []string{"server", "client"}}
	whole := TLSCert{Names: []string{"DNS:a.example.net", "192.0.2.7", "2001:db8::1", "https://a.example.net/x", "ann@example.net", "*.b.example.net"}, Parts: map[string]string{"O": "Example, Inc.", "C": "AT", "CN": "a"}, Usage: []string{"client", "server"}}
	modtest.Converges(t, Type(), []modtest.Fixture{
		{Name: "new", Tree: files(""), Properties: properties(``), Action: "made a certificate", Changes: []modules.Change{modtest.Change("ensure", absent, present)}},
		{Name: "new, of an authority", Tree: files(""), Properties: properties(byCA + `,"mode":"0600"`), Action: "made a certificate", Changes: []modules.Change{modtest.Change("ensure", absent, present)}},
		{Name: "new, a request", Tree: files(""), Properties: properties(`,"ensure":"request"`), Action: "made a request", Changes: []modules.Change{modtest.Change("ensure", absent, request)}},
		{Name: "as it shall be", Tree: made(ofA, 0, nil), Properties: properties(``)},
		{
			Name: "as it shall be, with all there is", Tree: made(whole, 0, nil),
			Properties: `{"name":"$ROOT/c","key":"$ROOT/k","names":["192.0.2.7","a.example.net","*.b.example.net","2001:db8:0::1","ann@example.net","URI:https://a.example.net/x"],"subject":{"CN":"a","C":"AT","O":"Example, Inc."},"usage":["server","client"]}`,
		},
		{Name: "of its authority", Tree: made(ofA, 0, ca.by(t)), Properties: properties(byCA)},
		{Name: "a request as it shall be", Tree: made(TLSCert{Ensure: request, Names: ofA.Names, Usage: []string{"ca", "client"}}, 0, nil), Properties: properties(`,"ensure":"request","usage":["client","ca"]`)},
		{Name: "with another mode", Tree: made(ofA, 0, nil), Properties: properties(`,"mode":"0600"`), Action: "updated attributes", Changes: []modules.Change{modtest.Change("mode", "0644", "0600")}},
		{Name: "for another key", Tree: files(newKey(t).certified(t, ofA, 0, nil).text), Properties: properties(``), Action: "renewed the certificate", Changes: []modules.Change{modtest.Change("key", "another", "$ROOT/k")}},
		{Name: "about to expire", Tree: files(old), Properties: properties(``), Action: "renewed the certificate", Changes: []modules.Change{modtest.Change("expires", expires(old), "in 30 days or later")}},
		{Name: "renewed later", Tree: files(old), Properties: properties(`,"renew":20`)},
		{
			Name: "expired, and of other days", Tree: files(expired), Properties: properties(``), Action: "renewed the certificate",
			Changes: []modules.Change{modtest.Change("days", "90", "365"), modtest.Change("expires", expires(expired), "in 30 days or later")},
		},
		{Name: "not valid yet", Tree: files(early), Properties: properties(``), Action: "renewed the certificate", Changes: []modules.Change{modtest.Change("begins", says(early).begins.UTC().Format(time.RFC3339), "by now")}},
		{
			Name: "for others", Tree: made(whole, 0, nil), Properties: properties(``), Action: "renewed the certificate",
			Changes: []modules.Change{
				modtest.Change("subject", "C=AT, O=Example, Inc., CN=a", "CN=a.example.net"),
				modtest.Change("names", "DNS:*.b.example.net, DNS:a.example.net, IP:192.0.2.7, IP:2001:db8::1, URI:https://a.example.net/x, email:ann@example.net", "DNS:a.example.net"),
				modtest.Change("usage", "client, server", "server"),
			},
		},
		{Name: "self-signed, and shall not be", Tree: made(ofA, 0, nil), Properties: properties(byCA), Action: "renewed the certificate", Changes: []modules.Change{modtest.Change("issuer", "self-signed", "$ROOT/ca.c")}},
		{Name: "of an authority, and shall not be", Tree: made(ofA, 0, ca.by(t)), Properties: properties(``), Action: "renewed the certificate", Changes: []modules.Change{modtest.Change("issuer", "another authority", "self-signed")}},
		{Name: "a certificate, and shall be a request", Tree: made(ofA, 0, nil), Properties: properties(`,"ensure":"request"`), Action: "renewed the request", Changes: []modules.Change{modtest.Change("ensure", present, request)}},
		{
			Name: "of a request", Tree: files("", modtest.Node{Path: "csr", Text: of.certified(t, asked, 0, nil).text}), Properties: `{"name":"$ROOT/c","csr":"$ROOT/csr"` + byCA + `}`,
			Action: "made a certificate", Changes: []modules.Change{modtest.Change("ensure", absent, present)},
		},
		{
			Name: "of another request", Tree: append(made(ofA, 0, ca.by(t)), modtest.Node{Path: "csr", Text: of.certified(t, asked, 0, nil).text}), Properties: `{"name":"$ROOT/c","csr":"$ROOT/csr","key":"$ROOT/k"` + byCA + `}`,
			Action: "renewed the certificate", Changes: []modules.Change{modtest.Change("names", "DNS:a.example.net", "DNS:a.example.net, DNS:b"), modtest.Change("usage", "server", "client, server")},
		},
		{
			Name: "of a request of somebody else", Tree: files("", modtest.Node{Path: "csr", Text: newKey(t).certified(t, asked, 0, nil).text}), Properties: `{"name":"$ROOT/c","csr":"$ROOT/csr","key":"$ROOT/k"` + byCA + `}`,
			Err: "$ROOT/k is not the private key of the request $ROOT/csr",
		},
		{
			Name: "of a forged request", Tree: files("", modtest.Node{Path: "csr", Text: forge(t, of.certified(t, asked, 0, nil).text)}), Properties: `{"name":"$ROOT/c","csr":"$ROOT/csr"` + byCA + `}`,
			Err: "the request $ROOT/csr is not signed with its key",
		},
		{Name: "no key", Properties: properties(``), Err: "the private key $ROOT/k does not exist (make it with a tls_key resource before this one)"},
		{Name: "for nobody", Tree: files(""), Properties: `{"name":"$ROOT/c","key":"$ROOT/k","subject":{"CN":""}}`, Err: "names and subject are both empty on this host"},
		{Name: "something else", Tree: files("letters"), Properties: properties(``), Err: "$ROOT/c holds neither a certificate nor a request in PEM; nothing is overwritten"},
		{Name: "an authority that is none", Tree: files("", modtest.Node{Path: "no.c", Text: of.certified(t, ofA, 0, nil).text}), Properties: properties(`,"ca_cert":"$ROOT/no.c","ca_key":"$ROOT/k"`), Err: "$ROOT/no.c may not sign other certificates (its usage is server)"},
		{Name: "another key of an authority", Tree: files(""), Properties: properties(`,"ca_cert":"$ROOT/ca.c","ca_key":"$ROOT/k"`), Err: "$ROOT/k is not the private key of $ROOT/ca.c"},
		{
			Name: "longer than the authority", Tree: files(""), Properties: properties(`,"ca_cert":"$ROOT/short.c","ca_key":"$ROOT/ca.k"`),
			Err: "the authority $ROOT/short.c expires on " + expires(short.text)[:len(time.DateOnly)] + `, before a certificate with 'days: 365' would (renew the authority, or write a smaller number for "days")`,
		},
		{Name: "absent", Tree: made(ofA, 0, nil), Properties: `{"name":"$ROOT/c","ensure":"absent"}`, Action: "removed the file", Changes: []modules.Change{modtest.Change("ensure", present, absent)}},
	}...)
}

// TestPredicts uses a chain of keys and certificates that do not exist beforehand.
func TestPredicts(t *testing.T) {
	leaf := newKey(t)
	ca := newKey(t)
	caCert := TLSCert{Parts: map[string]string{"CN": "authority"}, Usage: []string{"ca"}, Days: 3650}
	step := func(properties string) modtest.Step { return modtest.Step{Type: "tls_cert", Properties: properties} }
	const authority = `{"name":"$ROOT/ca.c","key":"$ROOT/ca.k","subject":{"CN":"authority"},"usage":["ca"],"days":3650`
	tally := modtest.Predicts(t, modules.Registry{Type(), file.Type()}, modtest.Scenario{
		Tree: []modtest.Node{
			{Path: "k", Text: leaf.key, Mode: 0o600}, {Path: "ca.k", Text: ca.key, Mode: 0o600},
			{Path: "c", Text: leaf.certified(t, ofA, 0, ca.certified(t, caCert, 0, nil).by(t)).text},
		},
		Steps: []modtest.Step{
			step(authority + `}`), // made again, with the key that has signed c
			step(authority + `}`),
			step(properties(`,"ca_cert":"$ROOT/ca.c","ca_key":"$ROOT/ca.k"`)),
			step(properties(`,"usage":["client"],"ca_cert":"$ROOT/ca.c","ca_key":"$ROOT/ca.k"`)),
			step(properties(`,"usage":["client"],"ca_cert":"$ROOT/ca.c","ca_key":"$ROOT/ca.k"`)),
			step(properties(`,"usage":["client"]`)),
			step(properties(`,"usage":["client"],"ensure":"request"`)),
			step(`{"name":"$ROOT/none/c","key":"$ROOT/k","names":["a"]}`),
			{Type: "file", Properties: `{"name":"$ROOT/k","ensure":"absent"}`},
			step(properties(``)),
		},
		Want: []string{"changed", "stable", "stable", "changed", "stable", "changed", "changed", "failed", "changed", "failed"},
	})
	require.Equal(t, tally.All, tally.Certain)
}

// TestOpenSSL verifies our files with openssl, and reads files that openssl makes.
func TestOpenSSL(t *testing.T) {
	needs.Program(t, "openssl")
	dir := t.TempDir()
	openssl := func(words ...string) string {
		t.Helper()
		cmd := exec.Command("openssl", words...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	ca := newKey(t).certified(t, TLSCert{Parts: map[string]string{"CN": "authority", "O": "Example, Inc."}, Usage: []string{"ca"}, Days: 3650}, 0, nil)
	of := newKey(t)
	all := TLSCert{
		Names: []string{"a.example.net", "192.0.2.7", "2001:db8::1", "https://a.example.net/x", "ann@example.net"},
		Parts: map[string]string{"CN": "a", "O": "Example", "C": "AT", "ST": "Wien", "L": "Wien", "OU": "web", "emailAddress": "ann@example.net", "serialNumber": "7"}, Usage: []string{"server", "client"},
	}
	wanted := all
	wanted.Ensure = request
	for name, text := range map[string]string{
		"ca.key": ca.key, "ca.crt": ca.text, "a.key": of.key, "self.crt": of.certified(t, all, 0, nil).text, "a.crt": of.certified(t, all, 0, ca.by(t)).text, "a.csr": of.certified(t, wanted, 0, nil).text,
	} {
		require.NoError(t, os.WriteFile(dir+"/"+name, []byte(text), 0o600))
	}
	require.Contains(t, openssl("verify", "-x509_strict", "-CAfile", "ca.crt", "-purpose", "sslserver", "-verify_hostname", "a.example.net", "a.crt"), "a.crt: OK")
	require.Contains(t, openssl("verify", "-CAfile", "ca.crt", "-purpose", "sslclient", "-verify_ip", "192.0.2.7", "a.crt"), "a.crt: OK")
	require.Contains(t, openssl("verify", "-CAfile", "self.crt", "-verify_email", "ann@example.net", "self.crt"), "self.crt: OK")
	for _, cert := range []string{"a.crt", "self.crt"} {
		require.Equal(t, openssl("pkey", "-in", "a.key", "-pubout"), openssl("x509", "-in", cert, "-noout", "-pubkey"))
		require.Contains(t, openssl("x509", "-in", cert, "-noout", "-subject", "-nameopt", "RFC2253"), "serialNumber=7,emailAddress=ann@example.net,CN=a,OU=web,O=Example,L=Wien,ST=Wien,C=AT")
		openssl("x509", "-in", cert, "-noout", "-checkend", "31000000") // out of 31536000
	}
	said := openssl("req", "-in", "a.csr", "-noout", "-verify", "-text")
	require.Contains(t, said, "verify OK")
	require.Contains(t, said, "DNS:a.example.net, email:ann@example.net, IP Address:192.0.2.7, IP Address:2001:DB8:0:0:0:0:0:1, URI:https://a.example.net/x")
	require.Contains(t, said, "TLS Web Server Authentication, TLS Web Client Authentication")
	require.Contains(t, said, "Digital Signature")

	// If another authority signs the request, with the requested extensions, the result is the wanted certificate,
	// except the signer.
	openssl("x509", "-req", "-in", "a.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-days", "365", "-copy_extensions", "copy", "-out", "theirs.crt")
	theirs := all
	theirs.Name, theirs.Key, theirs.CACert, theirs.CAKey, theirs.Mode = dir+"/theirs.crt", dir+"/a.key", dir+"/ca.crt", dir+"/ca.key", "0644"
	require.NoError(t, os.Chmod(theirs.Name, 0o644))
	plan, err := theirs.Check(t.Context(), modules.ReadOnly(modtest.Host()))
	require.NoError(t, err)
	require.Equal(t, modules.Plan{}, plan)

	openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "rsa.key", "-out", "rsa.crt", "-days", "100", "-subj", "/C=AT/CN=b", "-addext", "subjectAltName=DNS:b", "-addext", "basicConstraints=critical,CA:FALSE", "-addext", "extendedKeyUsage=serverAuth")
	require.NoError(t, os.Chmod(dir+"/rsa.crt", 0o644))
	of2 := TLSCert{Name: dir + "/rsa.crt", Key: dir + "/rsa.key", Names: []string{"b"}, Parts: map[string]string{"CN": "b", "C": "AT"}, Days: 100, Mode: "0644"}
	plan, err = of2.Check(t.Context(), modules.ReadOnly(modtest.Host()))
	require.NoError(t, err)
	require.Equal(t, modules.Plan{}, plan)
}

func TestUndone(t *testing.T) {
	root := modtest.Root(t)
	of := newKey(t)
	modtest.Build(t, root, []modtest.Node{{Path: "k", Text: of.key}, {Path: "c", Text: of.certified(t, ofA, 0, nil).text, Mode: 0o640}})
	with := func(name string) *TLSCert {
		return &TLSCert{Name: root + "/c", Ensure: present, Key: root + "/k", Names: []string{name}, Mode: "0644"}
	}
	modtest.Undone(t, root, with("b.example.net"), with("c.example.net"))
}

func TestValidate(t *testing.T) {
	base := func(change func(*TLSCert)) TLSCert {
		c := TLSCert{Name: "/c", Ensure: present, Key: "/k", Names: []string{"a.example.net"}}
		change(&c)
		return c
	}
	long := strings.Repeat("a.", 32) + "example.net"
	const hint = " (write a DNS name, an IP address, a URI or an e-mail address)"
	modtest.Validates(t, []modtest.Verdict[TLSCert]{
		{Of: base(func(*TLSCert) {})},
		{Of: base(func(c *TLSCert) { *c = TLSCert{Name: "/c", Ensure: absent} })},
		{Of: base(func(c *TLSCert) { c.Names, c.Parts = nil, map[string]string{"CN": "x"} })},
		{Of: base(func(c *TLSCert) { c.Key = "" }), Err: `key: "key" cannot be empty (write the path of its private key, which a tls_key resource makes)`},
		{Of: base(func(c *TLSCert) { c.Key = "/c" }), Err: "key: the certificate would take the place of its key"},
		{Of: base(func(c *TLSCert) { c.Names = nil }), Err: `names: "names" cannot be empty without a subject (write names: [www.example.net])`},
		{Of: base(func(c *TLSCert) { c.Names = []string{"a b"} }), Err: `names[0]: "a b" is not a valid DNS name` + hint},
		{Of: base(func(c *TLSCert) { c.Names = []string{"münchen.example"} }), Err: `names[0]: "münchen.example" is not a valid DNS name` + hint},
		{Of: base(func(c *TLSCert) { c.Names = []string{"IP:300.0.0.1"} }), Err: `names[0]: "300.0.0.1" is not a valid IP address` + hint},
		{Of: base(func(c *TLSCert) { c.Parts = map[string]string{"cn": "x"} }), Err: `subject.cn: a subject has no "cn" here (write CN, O, OU, C, ST, L, emailAddress or serialNumber)`},
		{Of: base(func(c *TLSCert) { c.Parts = map[string]string{"C": "Germany"} }), Err: `subject.C: "Germany" is not a country (write the two letters that it has in ISO 3166, such as DE)`},
		{Of: base(func(c *TLSCert) { c.Parts = map[string]string{"C": "ö"} }), Err: `subject.C: "ö" is not a country (write the two letters that it has in ISO 3166, such as DE)`},
		{Of: base(func(c *TLSCert) { c.Parts = map[string]string{"O": strings.Repeat("ö", 65)} }), Err: "subject.O: it has 65 characters, and at most 64 are allowed"},
		{Of: base(func(c *TLSCert) { c.Parts = map[string]string{"ST": strings.Repeat("x", 129)} }), Err: "subject.ST: it has 129 characters, and at most 128 are allowed"},
		{Of: base(func(c *TLSCert) { c.Parts = map[string]string{"emailAddress": strings.Repeat("x", 256)} }), Err: "subject.emailAddress: it has 256 characters, and at most 255 are allowed"},
		{Of: base(func(c *TLSCert) {
			c.Parts = map[string]string{"C": "", "O": strings.Repeat("ö", 64), "L": strings.Repeat("x", 128)}
		})},
		{Of: base(func(c *TLSCert) { c.Names = []string{long} }), Err: "names[0]: it is the CN too, which has 64 characters at most (write a subject with a shorter one)"},
		{Of: base(func(c *TLSCert) { c.Names, c.Parts = []string{long}, map[string]string{"CN": "a"} })},
		{Of: base(func(c *TLSCert) { c.Names = []string{"a.example.net", long} })},
		{Of: base(func(c *TLSCert) { c.Days = 40000 }), Err: `days: "days" must be from 1 to 36500, not 40000`},
		{Of: base(func(c *TLSCert) { c.Days, c.Renew = 90, 90 }), Err: `renew: "renew" 90 is not between 1 and 'days: 90' (it would be renewed in each run)`},
		{Of: base(func(c *TLSCert) { *c = TLSCert{Name: "/c", Ensure: present, CSR: "/r", CACert: "/ca", CAKey: "/ck"} })},
		{Of: base(func(c *TLSCert) { *c = TLSCert{Name: "/c", Ensure: present, CSR: "/r"} }), Err: `key: "key" cannot be empty (write the path of its private key, which a tls_key resource makes)`},
		{Of: base(func(c *TLSCert) { c.CSR = "/r" }), Err: `csr: "names", "subject" and "usage" come from the request`},
		{Of: base(func(c *TLSCert) { c.CACert = "/ca" }), Err: "ca_key: 'ca_cert' needs 'ca_key', the private key of the authority"},
		{Of: base(func(c *TLSCert) { c.CAKey = "/ca" }), Err: "ca_cert: 'ca_key' needs 'ca_cert', the certificate of the authority"},
		{Of: base(func(c *TLSCert) { c.CACert, c.CAKey = "/c", "/k" }), Err: `ca_cert: the certificate would overwrite the certificate of its authority (for a self-signed certificate, remove "ca_cert")`},
		{Of: base(func(c *TLSCert) { c.Ensure, c.Days = request, 5 }), Err: "days: 'days' applies to a certificate, and cannot be used with 'ensure: request'"},
	})
}

func TestDescribe(t *testing.T) {
	root := modtest.Root(t)
	of := newKey(t).certified(t, ofA, 0, nil)
	modtest.Build(t, root, []modtest.Node{{Path: "k", Text: of.key}, {Path: "c", Text: of.text}})
	status, err := modules.StatusOf(t.Context(), &TLSCert{Name: root + "/c"}, modules.ReadOnly(modtest.Host()))
	require.NoError(t, err)
	require.Contains(t, string(status), `{"ensure":"present","name":"`+root+`/c","subject":"CN=a.example.net","names":"DNS:a.example.net","usage":"server","issuer":"CN=a.example.net","serial":"`)
	require.False(t, strings.Contains(string(status), "PRIVATE"))
}
