package render_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/templates"
	"github.com/ccm-push/ccm-push/templates/templatetest"
)

func TestFiles(t *testing.T) {
	files := templatetest.Open(t, map[string]string{"a.txt": "a\x00\xff\r\n", "sub/b.txt": "b", "empty": ""})
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o644))
	require.NoError(t, os.Symlink("a.txt", filepath.Join(files.Dir(), "inside-link")))
	require.NoError(t, os.Symlink(outside, filepath.Join(files.Dir(), "link")))
	require.NoError(t, os.Symlink(filepath.Dir(outside), filepath.Join(files.Dir(), "dirlink")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(files.Dir(), "pipe"), 0o644))
	big, err := os.Create(filepath.Join(files.Dir(), "big"))
	require.NoError(t, err)
	require.NoError(t, big.Truncate(templates.MaxFile+1))
	require.NoError(t, big.Close())

	escapes := func(name string) string {
		return `"` + name + `" is outside the folder ` + files.Dir()
	}
	cases := []struct{ name, want, err string }{
		{"a.txt", "a\x00\xff\r\n", ""},
		{"./sub/../a.txt", "a\x00\xff\r\n", ""},
		{"sub/b.txt", "b", ""},
		{"empty", "", ""},
		{"inside-link", "a\x00\xff\r\n", ""},
		{"nope", "", `no file "nope" in ` + files.Dir()},
		{"sub/nope", "", `no file "sub/nope" in ` + files.Dir()},
		{"", "", `"." is not a regular file`},
		{"sub", "", `"sub" is not a regular file`},
		{"pipe", "", `"pipe" is not a regular file`},
		{"a.txt/b", "", `reading "a.txt/b": not a directory`},
		{"a\x00b", "", `reading "a\x00b": invalid argument`},
		{"big", "", `"big" is larger than 16 MiB`},
		{"../x", "", escapes("../x")},
		{"sub/../../x", "", escapes("../x")},
		{"link", "", escapes("link")},
		{"dirlink/outside", "", escapes("dirlink/outside")},
		{outside, "", `"` + outside + `" is not below the folder of the play`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := files.Read(c.name)
			require.Equal(t, c.err, templatetest.ErrorText(err))
			require.Equal(t, c.want, string(got))
		})
	}
}

func TestOpenErrors(t *testing.T) {
	_, err := templates.Open(filepath.Join(t.TempDir(), "nope"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.True(t, strings.HasPrefix(err.Error(), "opening the folder of the play: "))
}

// TestReadKeeps checks that Read keeps files and errors: all hosts of a run see the same.
func TestReadKeeps(t *testing.T) {
	files := templatetest.Open(t, map[string]string{"a.txt": "a"})
	_, err := files.Read("nope")
	require.EqualError(t, err, `no file "nope" in `+files.Dir())
	for _, name := range []string{"a.txt", "./sub/../a.txt", "nope"} {
		before, wasErr := files.Read(name)
		require.NoError(t, os.WriteFile(filepath.Join(files.Dir(), filepath.Base(name)), []byte("changed"), 0o644))
		after, err := files.Read(name)
		require.Equal(t, wasErr, err)
		require.Equal(t, string(before), string(after))
	}
	once, err := files.ReadOnce("a.txt")
	require.NoError(t, err)
	require.Equal(t, "changed", string(once))
}
