package knownhosts

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// open returns a view of one file.
func open(t testing.TB, file string) *View {
	t.Helper()
	v, err := new(Store).Open(Files{AddTo: file, Read: []string{file}})
	require.NoError(t, err)
	return v
}

func writeFile(t testing.TB, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "known_hosts")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestAlgorithms(t *testing.T) {
	rsaKey, ecdsaKey := sshtest.NewKey(t, "rsa"), sshtest.NewKey(t, "ecdsa")
	view := func(text string) *View {
		return open(t, writeFile(t, text))
	}
	plain := []string{"ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "rsa-sha2-512", "rsa-sha2-256"}

	require.Equal(t, plain, view("").Algorithms(Host{Name: "h"})[:6])
	require.Equal(t, []string{"rsa-sha2-512", "rsa-sha2-256", "ecdsa-sha2-nistp256", "ssh-ed25519"},
		view("h " + sshtest.PublicLine(rsaKey) + "\nH,x " + sshtest.PublicLine(ecdsaKey)).Algorithms(Host{Name: "h"})[:4])
	withAuthority := view("@cert-authority *.example " + sshtest.PublicLine(rsaKey))
	require.Equal(t, plain, withAuthority.Algorithms(Host{Name: "h"})[:6])
	require.True(t, IsCertificate(withAuthority.Algorithms(Host{Name: "h.example"})[0]))
	for _, name := range []string{"h", "h.example"} {
		algorithms := withAuthority.Algorithms(Host{Name: name})
		require.NotContains(t, algorithms, ssh.KeyAlgoRSA)
		require.NotContains(t, algorithms, ssh.CertAlgoRSAv01)
		require.Subset(t, ssh.SupportedAlgorithms().HostKeys, algorithms)
	}
}

// TestAlgorithmNames holds the rule against all names that x/crypto has.
func TestAlgorithmNames(t *testing.T) {
	for _, plain := range ssh.SupportedAlgorithms().PublicKeyAuths {
		require.Equal(t, plain, PlainAlgorithm(CertificateAlgorithm(plain)))
		require.True(t, IsCertificate(CertificateAlgorithm(plain)))
	}
	require.Equal(t, ssh.CertAlgoSKED25519v01, CertificateAlgorithm(ssh.KeyAlgoSKED25519))
	require.Equal(t, ssh.CertAlgoRSASHA512v01, CertificateAlgorithm(ssh.KeyAlgoRSASHA512))
}
