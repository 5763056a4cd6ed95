package knownhosts

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// FuzzRevoked writes the keys that were read, and reads them again. It skips no line with a key.
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
			require.True(t, SameKey(e.key, entries[i].key))
		}
	})
}

// TestUnreadableMarks is about lines that may be there to revoke a key.
func TestUnreadableMarks(t *testing.T) {
	line := sshtest.PublicLine(sshtest.NewKey(t, ""))
	for _, test := range []struct{ text, err string }{
		{"", ""},
		{"# @revokd\n\nweb1 nonsense\n", ""},
		{"@revoked * " + line + "\n@cert-authority *.x " + line + "\n", ""},
		{"@cert-authority * nonsense\n", ""}, // trusts nobody
		{"@revoked * ssh-new AAAAB3NzaC1uZXc=\n", ""},
		{"@revokd * " + line + "\n", `line 1 begins with "@revokd" and cannot be read, so ccm-push cannot know whether the line revokes a key`},
		{"web1 " + line + "\n @revoked * ssh-ed25519 AAAA\n", `line 2 begins with "@revoked" and cannot be read, so ccm-push cannot know whether the line revokes a key`},
		{"@revoked\n", `line 1 begins with "@revoked" and cannot be read, so ccm-push cannot know whether the line revokes a key`},
		{"@ * " + line, `line 1 begins with "@" and cannot be read, so ccm-push cannot know whether the line revokes a key`},
	} {
		if err := unreadable([]byte(test.text)); test.err != "" {
			require.EqualError(t, err, test.err, "%q", test.text)
		} else {
			require.NoError(t, err, "%q", test.text)
		}
	}
	path := filepath.Join(t.TempDir(), "known_hosts")
	require.NoError(t, os.WriteFile(path, []byte("@revokd * "+line+"\n"), 0o600))
	_, err := new(Store).Open(Files{Read: []string{path}})
	require.EqualError(t, err, "known hosts "+path+`: line 1 begins with "@revokd" and cannot be read, so ccm-push cannot know whether the line revokes a key`)
}
