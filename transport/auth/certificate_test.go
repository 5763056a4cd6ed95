package auth_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/auth"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/knownhosts"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// certify signs a certificate for a key.
func certify(t testing.TB, authority ssh.Signer, key ssh.PublicKey, change func(*ssh.Certificate)) *ssh.Certificate {
	t.Helper()
	cert := &ssh.Certificate{
		Key: key, CertType: ssh.UserCert, KeyId: "me", ValidPrincipals: []string{"deploy"},
		ValidAfter: uint64(time.Now().Add(-time.Hour).Unix()), ValidBefore: ssh.CertTimeInfinity,
	}
	if change != nil {
		change(cert)
	}
	require.NoError(t, cert.SignCert(rand.Reader, authority))
	return cert
}

func writeCertificate(t testing.TB, path string, cert *ssh.Certificate) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, ssh.MarshalAuthorizedKey(cert), 0o644))
}

// takesCertificates makes a server accept certificates of the authority.
func takesCertificates(authority ssh.PublicKey) sshtest.Option {
	return sshtest.Auth(func(c *ssh.ServerConfig) {
		checker := ssh.CertChecker{IsUserAuthority: func(k ssh.PublicKey) bool { return knownhosts.SameKey(k, authority) }}
		c.PublicKeyCallback = func(conn ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if _, ok := key.(*ssh.Certificate); !ok {
				return nil, errors.New("a plain key")
			}
			return checker.Authenticate(conn, key)
		}
	})
}

func TestUserCertificates(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	authority := newSigner(t, "ed25519")
	beside, named, inAgent, locked := sshtest.WriteKey(t, at("beside"), ""), sshtest.WriteKey(t, at("named"), ""), sshtest.WriteKey(t, at("agent"), ""), sshtest.WriteKey(t, at("locked"), "x")
	writeCertificate(t, at("beside-cert.pub"), certify(t, authority, publicOf(t, beside), nil))
	writeCertificate(t, at("elsewhere"), certify(t, authority, publicOf(t, named), nil))
	writeCertificate(t, at("for-the-agent"), certify(t, authority, publicOf(t, inAgent), nil))
	writeCertificate(t, at("locked-cert.pub"), certify(t, authority, publicOf(t, locked), nil))
	late := sshtest.WriteKey(t, at("late"), "")
	writeCertificate(t, at("late-cert.pub"), certify(t, authority, publicOf(t, late), func(c *ssh.Certificate) {
		c.ValidAfter, c.ValidBefore = 0, uint64(time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC).Unix())
	}))
	srv := sshtest.Start(t, takesCertificates(authority.PublicKey()))
	holds := func(keys ...agent.AddedKey) string { return startAgent(t, keys...) }
	both := certify(t, authority, publicOf(t, inAgent), nil)
	for _, test := range []struct {
		name   string
		keys   []string
		certs  []string
		agent  string
		only   bool
		hint   string
		turned bool // away
	}{
		{name: "beside its key", keys: []string{"beside"}},
		{name: "named", keys: []string{"named"}, certs: []string{"elsewhere"}},
		{name: "for a key of the agent", certs: []string{"for-the-agent"}, agent: holds(agent.AddedKey{PrivateKey: inAgent})},
		{name: "of the agent", agent: holds(agent.AddedKey{PrivateKey: inAgent}, agent.AddedKey{PrivateKey: inAgent, Certificate: both})},
		{name: "of the agent, for a file", keys: []string{"agent"}, only: true, agent: holds(agent.AddedKey{PrivateKey: inAgent, Certificate: both})},
		{name: "beside an encrypted key that the agent has", keys: []string{"locked"}, agent: holds(agent.AddedKey{PrivateKey: locked})},
		{name: "none", keys: []string{"named"}, turned: true, hint: "ccm-push offered these keys for the user deploy: named; check authorized_keys of this user on the host"},
		{name: "before its plain key", keys: []string{"late"}, turned: true,
			hint: "ccm-push offered these keys for the user deploy: late-cert.pub, late; check authorized_keys of this user on the host; late-cert.pub was valid until 2020-01-02T03:04:05Z"},
		{name: "for another key", keys: []string{"named"}, certs: []string{"for-the-agent"}, turned: true,
			hint: "ccm-push offered these keys for the user deploy: named; check authorized_keys of this user on the host; for-the-agent is for a key that is not there: " + knownhosts.Fingerprint(publicOf(t, inAgent))},
		{name: "missing, which ssh does not mind", keys: []string{"beside"}, certs: []string{"nowhere-cert.pub"}},
		{name: "missing", keys: []string{"named"}, certs: []string{"nowhere-cert.pub"}, turned: true,
			hint: "ccm-push offered these keys for the user deploy: named; check authorized_keys of this user on the host; no file nowhere-cert.pub"},
		{name: "of the agent, which is not to be offered", keys: []string{"named"}, only: true, agent: holds(agent.AddedKey{PrivateKey: inAgent, Certificate: both}), turned: true,
			hint: "ccm-push offered these keys for the user deploy: named; check authorized_keys of this user on the host"},
	} {
		t.Run(test.name, func(t *testing.T) {
			target := targetOf(srv)
			target.PrivateKeys, target.IdentitiesOnly, target.Agent = nil, test.only, test.agent
			for _, k := range test.keys {
				target.PrivateKeys = append(target.PrivateKeys, at(k))
			}
			for _, c := range test.certs {
				target.Certificates = append(target.Certificates, at(c))
			}
			err := dialOnce(t, &dial.Dialer{}, target)
			if !test.turned {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, transport.ErrAuth)
			require.Equal(t, test.hint, err.(*transport.HostError).Hint)
		})
	}
}

// TestRenewedCertificate replaces a certificate after it was read.
func TestRenewedCertificate(t *testing.T) {
	dir := t.TempDir()
	authority := newSigner(t, "ed25519")
	key := publicOf(t, sshtest.WriteKey(t, filepath.Join(dir, "id"), ""))
	srv := sshtest.Start(t, takesCertificates(authority.PublicKey()))
	target := targetOf(srv)
	target.PrivateKeys, target.IdentitiesOnly = []string{"~/id"}, true
	d := &dial.Dialer{Home: dir}
	require.Error(t, dialOnce(t, d, target), "there is none")
	writeCertificate(t, filepath.Join(dir, "id-cert.pub"), certify(t, authority, key, func(c *ssh.Certificate) { c.ValidBefore = uint64(time.Now().Add(-time.Minute).Unix()) }))
	require.Error(t, dialOnce(t, d, target), "it has ended")
	writeCertificate(t, filepath.Join(dir, "new"), certify(t, authority, key, nil))
	require.NoError(t, os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "id-cert.pub")))
	require.NoError(t, dialOnce(t, d, target))
}

func TestUserCertificateFiles(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	authority, key := newSigner(t, "ed25519"), newSigner(t, "ed25519").PublicKey()
	text := func(change func(*ssh.Certificate)) []byte {
		return ssh.MarshalAuthorizedKey(certify(t, authority, key, change))
	}
	const hint = "name the file that ssh-keygen -s writes: KEY-cert.pub"
	for _, test := range []struct {
		name, err, hint, remark string
		text                    []byte
	}{
		{name: "good", text: text(func(c *ssh.Certificate) { c.ValidAfter = 0 })},
		{name: "expired", text: text(func(c *ssh.Certificate) { c.ValidAfter, c.ValidBefore = 0, uint64(now.Unix()) }), remark: "c was valid until 2026-01-02T03:04:05Z"},
		{name: "to come", text: text(func(c *ssh.Certificate) { c.ValidAfter = uint64(now.Unix()) + 1 }), remark: "c is not valid before 2026-01-02T03:04:06Z"},
		{name: "in a far future", text: text(func(c *ssh.Certificate) { c.ValidAfter = 1 << 63 }), remark: "c is not valid before 36812-02-20T00:36:16Z"},
		{name: "of a host", text: text(func(c *ssh.Certificate) { c.CertType = ssh.HostCert }), err: "certificate c: it is the certificate of a host, not of a user", hint: "sign the key without -h"},
		{name: "a public key", text: ssh.MarshalAuthorizedKey(key), err: "certificate c: it is a public key, not a certificate", hint: hint},
		{name: "junk", text: []byte("junk"), err: "certificate c: it is not a certificate", hint: hint},
		{name: "nothing", err: "certificate c: it is not a certificate", hint: hint},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, remark, err := auth.ParseCertificate(test.text, now)
			require.Equal(t, test.err, masked(err))
			require.Equal(t, test.hint, transport.HintOf(err))
			require.Equal(t, test.remark, remark)
		})
	}
	t.Run("missing", func(t *testing.T) {
		require.Empty(t, (&dial.Dialer{Home: t.TempDir()}).CheckFiles(transport.Target{Certificates: []string{"~/none"}}))
	})
}

func FuzzCertificateFile(f *testing.F) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(f, err)
	signer, err := ssh.NewSignerFromKey(private)
	require.NoError(f, err)
	f.Add(ssh.MarshalAuthorizedKey(certify(f, signer, signer.PublicKey(), nil)))
	f.Add(ssh.MarshalAuthorizedKey(signer.PublicKey()))
	f.Add([]byte("# comment\n"))
	now := time.Unix(1e9, 0)
	f.Fuzz(func(t *testing.T, text []byte) {
		cert, remark, err := auth.ParseCertificate(text, now)
		if err != nil {
			require.Nil(t, cert)
			return
		}
		again, remarkAgain, err := auth.ParseCertificate(ssh.MarshalAuthorizedKey(cert), now)
		require.NoError(t, err)
		require.Equal(t, cert.Marshal(), again.Marshal())
		require.Equal(t, remark, remarkAgain)
	})
}
