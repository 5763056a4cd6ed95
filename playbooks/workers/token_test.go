package workers_test

import (
	"crypto/ed25519"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/playbooks/workers"
)

// FuzzParseToken holds that an invitation that is read can be written, and is read as the same one then.
func FuzzParseToken(f *testing.F) {
	key, err := ssh.NewPublicKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public())
	require.NoError(f, err)
	invitation := &workers.Invitation{Secret: make([]byte, 32), URL: "tls://broker:4222", Coordinator: key.Marshal(), Name: "ann", Until: time.Now().Add(time.Hour).Truncate(time.Second).UTC()}
	token, err := invitation.Token()
	require.NoError(f, err)
	for _, text := range []string{token, token[:40] + "\n " + token[40:], token[:len(token)-8], "", "ccm-push-join-1.", "ccm-push-join-1.e30"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, token string) {
		i, err := workers.ParseToken(token)
		if err != nil {
			return
		}
		text, err := i.Token()
		require.NoError(t, err)
		again, err := workers.ParseToken(text)
		require.NoError(t, err)
		require.Equal(t, i, again)
	})
}
