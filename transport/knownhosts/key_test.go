package knownhosts

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

// TestAlgorithmNames holds the rule against all names that x/crypto has.
func TestAlgorithmNames(t *testing.T) {
	for _, plain := range ssh.SupportedAlgorithms().PublicKeyAuths {
		require.Equal(t, plain, PlainAlgorithm(CertificateAlgorithm(plain)))
		require.True(t, IsCertificate(CertificateAlgorithm(plain)))
	}
	require.Equal(t, ssh.CertAlgoSKED25519v01, CertificateAlgorithm(ssh.KeyAlgoSKED25519))
	require.Equal(t, ssh.CertAlgoRSASHA512v01, CertificateAlgorithm(ssh.KeyAlgoRSASHA512))
}
