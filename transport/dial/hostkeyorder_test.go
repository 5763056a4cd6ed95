package dial

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
)

// TestHostKeyOrder: a list that names host key algorithms is kept in its order,
// unless it is said that it has none.
func TestHostKeyOrder(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	public, err := ssh.NewPublicKey(private.Public())
	require.NoError(t, err)
	target := transport.Target{Host: "web1", Address: "web1", User: "me"}
	target.KnownHosts = []string{writeFile(t, target.KnownHost().Line(public)+"\n")}
	list := []string{ssh.CertAlgoED25519v01, ssh.KeyAlgoED25519, ssh.KeyAlgoRSA, ssh.KeyAlgoECDSA256, "no-such-algorithm"}
	for _, c := range []struct {
		anyOrder bool
		want     []string
	}{
		{false, []string{ssh.CertAlgoED25519v01, ssh.KeyAlgoED25519, ssh.KeyAlgoRSA, ssh.KeyAlgoECDSA256}},
		{true, []string{ssh.KeyAlgoECDSA256, ssh.KeyAlgoED25519, ssh.KeyAlgoRSA}},
	} {
		target.Algorithms = transport.Algorithms{HostKeys: list, HostKeysInAnyOrder: c.anyOrder}
		a := &attempt{dialer: &Dialer{}, target: target}
		require.NoError(t, a.prepare())
		require.Equal(t, c.want, a.hostKeyAlgorithms())
	}
}
