package knownhosts

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport/keys"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// FuzzRevoked writes the keys that were read again, and reads them. No line with a key
// is passed over.
func FuzzRevoked(f *testing.F) {
	line := sshtest.PublicLine(sshtest.NewKey(f, ""))
	for _, text := range []string{"", line, "# old\n\n" + line + " me\r\n" + line, `no-pty ` + line, "web1 " + line, krlMagic, "ssh-ed25519 AAAA\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, err := parseRevoked("f", text)
		if err != nil {
			require.Nil(t, entries)
			require.True(t, err.(*FileError).Revoked)
			return
		}
		var again bytes.Buffer
		for _, e := range entries {
			require.LessOrEqual(t, e.line, bytes.Count(text, []byte("\n"))+1)
			again.Write(ssh.MarshalAuthorizedKey(e.key))
		}
		want, err := parseRevoked("f", again.Bytes())
		require.NoError(t, err)
		require.Len(t, want, len(entries))
		for i, e := range want {
			require.True(t, keys.Same(e.key, entries[i].key))
		}
	})
}
