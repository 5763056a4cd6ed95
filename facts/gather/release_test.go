package gather

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRelease(t *testing.T) {
	dir := t.TempDir()
	etc, usr := filepath.Join(dir, "etc"), filepath.Join(dir, "usr")
	none, err := release(etc, usr)
	require.NoError(t, err)
	require.Nil(t, none)
	for text, want := range map[string]releaseTree{
		"PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\nID=debian\n": {"debian", "12", "bookworm"},
		"NAME=\"Fedora Linux\"\nID=fedora\nVERSION_ID=41\nVERSION_CODENAME=\"\"\n":                                  {"fedora", "41", ""},
		"ID='x'\r\n# VERSION_CODENAME=no\nVERSION_ID=\"\n":                                                          {"x", "\"", ""},
		"ID=rhel\nVERSION=\"8.6 (Ootpa)\"\nVERSION_ID=8.6\n":                                                        {"rhel", "8.6", "Ootpa"},
		"ID=fedora\nVERSION=\"41 (Server Edition)\"\nVERSION_CODENAME=\"\"\n":                                       {"fedora", "", ""},
		"": {},
	} {
		require.NoError(t, os.WriteFile(usr, []byte(text), 0o600))
		is, err := release(etc, usr)
		require.NoError(t, err)
		require.Equal(t, &want, is)
	}
	require.NoError(t, os.WriteFile(etc, []byte("ID=mine\n"), 0o600))
	is, err := release(etc, usr)
	require.NoError(t, err)
	require.Equal(t, "mine", is.ID)
}
