package auth

import (
	"crypto/rand"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport/sshtest"
)

func TestRSAKeysNeverSignWithSHA1(t *testing.T) {
	c := newCandidate("rsa", sshtest.NewKey(t, "rsa"))
	require.Equal(t, []string{"rsa-sha2-512", "rsa-sha2-256"}, c.Algorithms())
	_, err := c.SignWithAlgorithm(rand.Reader, []byte("x"), ssh.KeyAlgoRSASHA512)
	require.NoError(t, err)
}
