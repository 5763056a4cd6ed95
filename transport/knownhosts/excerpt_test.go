package knownhosts

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// TestExcerpt checks that an excerpt judges keys as the original does, and names the lines of the original.
func TestExcerpt(t *testing.T) {
	known, other, gone := sshtest.NewKey(t, ""), sshtest.NewKey(t, ""), sshtest.NewKey(t, "")
	text := "# keys\nweb1 " + sshtest.PublicLine(known) + " me\nweb2 " + sshtest.PublicLine(other) + "\n@revoked * " + sshtest.PublicLine(gone) + "\n"
	whole := open(t, writeFile(t, text))
	web1 := Host{Name: "web1"}
	excerpt := open(t, writeFile(t, whole.Excerpt(web1)))
	require.NoError(t, excerpt.Check(web1, known.PublicKey()))
	require.ErrorIs(t, excerpt.Check(Host{Name: "web2"}, other.PublicKey()), ErrUnknown)
	for _, shown := range []ssh.PublicKey{other.PublicKey(), gone.PublicKey()} {
		want := whole.Check(web1, shown)
		require.Error(t, want)
		require.EqualError(t, excerpt.Check(web1, shown), want.Error())
	}

	odd := filepath.Join(t.TempDir(), "known\nweb3 hosts")
	require.NoError(t, os.WriteFile(odd, []byte(text), 0o600))
	excerpt = open(t, writeFile(t, open(t, odd).Excerpt(web1)))
	require.NoError(t, excerpt.Check(web1, known.PublicKey()))
	require.Len(t, excerpt.store.files, 1)
	for _, file := range excerpt.store.files {
		require.Equal(t, 2, file.count, "the name of the file is none of its lines")
	}
}
