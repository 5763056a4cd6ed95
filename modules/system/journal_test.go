package system

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJournal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "above", "ccm-push")
	j := &Journal{dir, "refreshes.json", maxJournal}
	text, err := j.Read()
	require.NoError(t, err)
	require.Nil(t, text)
	require.NoError(t, j.MayWrite())
	require.NoError(t, j.Replace([]byte("one")))
	require.NoError(t, j.Replace([]byte("two")))
	text, err = j.Read()
	require.NoError(t, err)
	require.Equal(t, "two", string(text))
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, "drwx------", info.Mode().String())
	info, err = os.Stat(j.path())
	require.NoError(t, err)
	require.Equal(t, "-rw-------", info.Mode().String())

	require.NoError(t, os.WriteFile(j.path()+".new", []byte("left by a run that was killed"), 0o600))
	require.NoError(t, j.Replace([]byte("three")))
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, names, 1)

	require.NoError(t, j.Replace(nil))
	require.NoError(t, j.Replace(nil))
	text, err = j.Read()
	require.NoError(t, err)
	require.Nil(t, text)
	require.ErrorContains(t, j.Replace(make([]byte, maxJournal+1)), "would be larger than 1048576 bytes")
}

// TestJournalIsNotTrusted uses files that others could have put there.
func TestJournalIsNotTrusted(t *testing.T) {
	for _, test := range []struct {
		name string
		put  func(t *testing.T, path string)
		want string // PATH is the journal
	}{
		{"a link", func(t *testing.T, path string) { require.NoError(t, os.Symlink("/etc/passwd", path)) }, "PATH is not a regular file but a symlink"},
		{"a directory", func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path, 0o700)) }, "PATH is not a regular file but a directory"},
		{"writable by others", func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, nil, 0o600))
			require.NoError(t, os.Chmod(path, 0o602))
		}, "PATH has mode 0602: others can write to it; run on the host: chmod go-w PATH"},
		{"too large", func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, make([]byte, maxJournal+1), 0o600))
		}, "PATH is larger than 1048576 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.Chmod(dir, 0o700))
			j := &Journal{dir, "refreshes.json", maxJournal}
			test.put(t, j.path())
			_, err := j.Read()
			require.EqualError(t, err, strings.ReplaceAll(test.want, "PATH", j.path()))
			moved, err := j.SetAside()
			require.NoError(t, err)
			require.Equal(t, j.path()+".damaged", moved)
			text, err := j.Read()
			require.NoError(t, err)
			require.Nil(t, text)
		})
	}
}

// TestJournalInAFolderOfOthers is refused altogether.
func TestJournalInAFolderOfOthers(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o770))
	j := &Journal{dir, "refreshes.json", maxJournal}
	want := dir + " has mode 0770: others can write to it; run on the host: chmod go-w " + dir
	_, err := j.Read()
	require.EqualError(t, err, want)
	require.EqualError(t, j.MayWrite(), want)
	require.EqualError(t, j.Replace([]byte("x")), want)
	_, err = j.SetAside()
	require.EqualError(t, err, want)
}

// TestJournalThatCannotBeWritten knows so beforehand.
func TestJournalThatCannotBeWritten(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("NOT TESTED: root may write everywhere")
	}
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o500))
	t.Cleanup(func() { os.Chmod(dir, 0o700) })
	for _, j := range []*Journal{{dir, "refreshes.json", maxJournal}, {filepath.Join(dir, "ccm-push"), "refreshes.json", maxJournal}} {
		require.ErrorContains(t, j.MayWrite(), "may not write in")
		require.Error(t, j.Replace([]byte("x")))
	}
}
