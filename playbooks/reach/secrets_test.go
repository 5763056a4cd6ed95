package reach

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/transport"
)

// TestPasswordProgramOfAnotherUser is not run: its owner could have root run anything.
func TestPasswordProgramOfAnotherUser(t *testing.T) {
	needs.Root(t, "only root can give a file away")
	path := filepath.Join(t.TempDir(), "vault")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\necho hunter2\n"), 0o700))
	var s SecretSources
	text, err := s.text(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, "hunter2\n", string(text))
	require.NoError(t, os.Chown(path, 65534, 65534))
	_, err = s.text(t.Context(), path)
	require.EqualError(t, err, "it is executable, and belongs to another user, who can change it")
}

func TestReadHidden(t *testing.T) {
	for _, test := range []struct{ name, keys, line, rest, err string }{
		{"a line", "abc\nd", "abc", "d", ""},
		{"carriage return", "abc\rd", "abc", "d", ""},
		{"nothing", "\n", "", "", ""},
		{"bytes", "\xff{{ }}\t\x00 \n", "\xff{{ }}\t\x00 ", "", ""},
		{"backspace", "ab\x7f\x08\x08c\n", "c", "", ""},
		{"backspace takes a character", "a\u00e9\x7f\n", "a", "", ""},
		{"kill", "ab\x15c\n", "c", "", ""},
		{"end of file after something", "ab\x04", "ab", "", ""},
		{"end of file", "\x04\n", "", "\n", "no answer"},
		{"interrupt", "ab\x03\n", "", "\n", "interrupted"},
		{"hang up", "ab", "", "", "no answer\nEOF"},
		{"too long", strings.Repeat("a", maxPassword) + "b\n", "", "b\n", "more than 64 KiB are not an answer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := strings.NewReader(test.keys)
			line, err := readHidden(r)
			if test.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, test.err)
			}
			require.Equal(t, test.line, string(line))
			rest, err := io.ReadAll(r)
			require.NoError(t, err)
			require.Equal(t, test.rest, string(rest))
		})
	}
}

func FuzzReadHidden(f *testing.F) {
	f.Add("abc\n")
	f.Add("ab\x7f\x15\u00e9\x7f\x04")
	f.Fuzz(func(t *testing.T, keys string) {
		r := strings.NewReader(keys)
		line, err := readHidden(r)
		if err != nil {
			return
		}
		require.NotContains(t, string(line), "\n")
		require.LessOrEqual(t, len(line), len(keys)-r.Len())
	})
}

// TestPassphraseIsAskedForOnce: a later run in the same process may have no person at the terminal.
func TestPassphraseIsAskedForOnce(t *testing.T) {
	given := transport.NewSecret([]byte("secret"))
	c := &Secrets{given: map[string]*transport.Secret{"id_ed25519": given, "id_rsa": nil}}
	for path, want := range c.given {
		got, err := c.Passphrase(t.Context(), path, false)
		require.NoError(t, err)
		require.Same(t, want, got)
	}
}
