package knownhosts

import (
	cryptorand "crypto/rand"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// TestCertificates has certificates that prove nothing, with the reasons.
func TestCertificates(t *testing.T) {
	host, authority, other := sshtest.NewKey(t, ""), sshtest.NewKey(t, ""), sshtest.NewKey(t, "")
	rsaAuthority := sshtest.NewKey(t, "rsa")
	at := func(days int) uint64 {
		return uint64(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, days).Unix())
	}
	good := func() *ssh.Certificate {
		return &ssh.Certificate{Key: host.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: []string{"web1", "web1.example"}, ValidBefore: ssh.CertTimeInfinity}
	}
	lines := parse("f", []byte("@cert-authority * "+sshtest.PublicLine(authority)+"\n@cert-authority * "+sshtest.PublicLine(rsaAuthority)))
	for _, test := range []struct {
		name   string
		by     ssh.Signer
		change func(*ssh.Certificate)
		err    string
	}{
		{name: "good"},
		{name: "by an RSA authority", by: rsaAuthority},
		{name: "for every host", change: func(c *ssh.Certificate) { c.ValidPrincipals = nil }},
		{name: "for others", change: func(c *ssh.Certificate) { c.ValidPrincipals = []string{"web2"} }, err: `its certificate is for ["web2"], not for "web1"`},
		{name: "wildcards are names", change: func(c *ssh.Certificate) { c.ValidPrincipals = []string{"web*"} }, err: `its certificate is for ["web*"], not for "web1"`},
		{name: "by another authority", by: other, err: "its certificate is signed by ssh-ed25519 OTHER, which is not an authority for it"},
		{name: "for users", change: func(c *ssh.Certificate) { c.CertType = ssh.UserCert }, err: "its certificate is one for users"},
		{name: "expired", change: func(c *ssh.Certificate) { c.ValidBefore = at(0) }, err: "its certificate has expired at 2026-01-01T00:00:00Z"},
		{name: "not yet", change: func(c *ssh.Certificate) { c.ValidAfter = at(36500) }, err: "its certificate is not valid before 2125-12-08T00:00:00Z"},
		{name: "critical options", change: func(c *ssh.Certificate) { c.CriticalOptions = map[string]string{"x": ""} }, err: `ssh: unsupported critical option "x" in certificate`},
	} {
		t.Run(test.name, func(t *testing.T) {
			cert := good()
			if test.change != nil {
				test.change(cert)
			}
			by := authority
			if test.by != nil {
				by = test.by
			}
			require.NoError(t, cert.SignCert(cryptorand.Reader, by))
			err := checkCertificate("web1", cert, lines)
			if test.err == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, strings.ReplaceAll(test.err, "OTHER", ssh.FingerprintSHA256(other.PublicKey())))
		})
	}

	forged := good()
	require.NoError(t, forged.SignCert(cryptorand.Reader, authority))
	forged.ValidPrincipals = []string{"web1", "web2"}
	require.EqualError(t, checkCertificate("web2", forged, lines), "ssh: certificate signature does not verify")

	old := good()
	require.NoError(t, old.SignCert(cryptorand.Reader, sha1Signer{rsaAuthority}))
	require.EqualError(t, checkCertificate("web1", old, lines), "its certificate is signed with SHA-1")
}

// sha1Signer signs as OpenSSH did before 8.2.
type sha1Signer struct{ ssh.Signer }

func (s sha1Signer) Sign(r io.Reader, data []byte) (*ssh.Signature, error) {
	return s.Signer.(ssh.AlgorithmSigner).SignWithAlgorithm(r, data, ssh.KeyAlgoRSA)
}
