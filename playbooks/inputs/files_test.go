package inputs

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

const soon = 5 * time.Millisecond

// TestWait checks that every kind of change of a file is noticed, and reported once.
func TestWait(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(path, text string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("site.yaml", "one")
	write("vars/web", "x")
	write("elsewhere", "one")
	require.NoError(t, os.Symlink("site.yaml", "link.yaml"))
	var f Files
	for _, path := range []string{"site.yaml", "./site.yaml", "link.yaml", "vars", "vars/web", "none/yet.yaml"} {
		f.Note(path)
	}
	require.Len(t, f.known, 5)
	here, err := os.Getwd()
	require.NoError(t, err)
	for _, c := range []struct {
		name   string
		change func()
		want   []string
	}{
		{"written", func() { write("site.yaml", "two and more") }, []string{"link.yaml", "site.yaml"}},
		{"with the same size and time, by another file", func() {
			info, err := os.Stat("site.yaml")
			require.NoError(t, err)
			write("new", "two and less")
			require.NoError(t, os.Chtimes("new", info.ModTime(), info.ModTime()))
			require.NoError(t, os.Rename("new", "site.yaml"))
		}, []string{"link.yaml", "site.yaml"}},
		{"removed", func() { require.NoError(t, os.Remove("vars/web")) }, []string{"vars", "vars/web"}},
		{"made", func() { write("none/yet.yaml", "") }, []string{"none/yet.yaml"}},
		{"a link", func() {
			require.NoError(t, os.Remove("link.yaml"))
			require.NoError(t, os.Symlink("elsewhere", "link.yaml"))
		}, []string{"link.yaml"}},
		{"another file in a folder", func() { write("vars/db", "") }, []string{"vars"}},
		{"what may be read now", func() { require.NoError(t, os.Chmod("site.yaml", 0o644)) }, []string{"site.yaml"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.change()
			for i := range c.want {
				c.want[i] = filepath.Join(here, c.want[i])
			}
			require.Equal(t, c.want, f.Wait(t.Context(), soon))
			require.Empty(t, f.changed())
		})
	}

	write("vars/.web.swp", "")
	write("vars/web~", "")
	write("unread", "")
	require.Empty(t, f.changed(), "what an editor leaves, and what was not read")
}

// TestWaitUntilQuiet checks that a file is not reported while it is being written.
func TestWaitUntilQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "site.yaml")
		var f Files
		f.Note(path)
		began := time.Now()
		go func() {
			for size := range 3 { // half a second after the first look, and the next two
				time.Sleep(time.Second)
				_ = os.WriteFile(path, make([]byte, size), 0o600)
			}
		}()
		time.Sleep(500 * time.Millisecond)
		require.Equal(t, []string{path}, f.Wait(t.Context(), time.Second))
		require.Equal(t, 4500*time.Millisecond, time.Since(began), "looks find it otherwise after 1.5, 2.5 and 3.5 seconds, and then no more")
	})
}

func TestNothingToNote(t *testing.T) {
	var none *Files
	none.Note("site.yaml")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Nil(t, new(Files).Wait(ctx, soon))
}

func BenchmarkChanged(b *testing.B) {
	var f Files
	dir := b.TempDir()
	for i := range 100 {
		path := filepath.Join(dir, string(rune('a'+i/26))+string(rune('a'+i%26)))
		require.NoError(b, os.WriteFile(path, nil, 0o600))
		f.Note(path)
	}
	for b.Loop() {
		if len(f.changed()) > 0 {
			b.Fatal("changed")
		}
	}
}

// TestHashes holds that files and folders that were noted have the hash of when they were noted.
func TestHashes(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(path, text string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("role/a.templ", "one")
	var f Files
	require.Nil(t, f.Hashes(0))
	for _, path := range []string{"role", "role/a.templ", "none"} {
		f.Note(path)
	}
	all := f.Hashes(0)
	require.Len(t, all, 3)
	require.Nil(t, f.Hashes(3), "there are no more")
	for path, hash := range all {
		require.Equal(t, hash, Hash(path), path)
	}
	here, err := os.Getwd()
	require.NoError(t, err)
	write("role/a.templ", "two")
	require.NotEqual(t, all[filepath.Join(here, "role/a.templ")], Hash("role/a.templ"))
	write("role/b", "")
	require.NotEqual(t, all[filepath.Join(here, "role")], Hash("role"))
	write("none", "")
	require.NotEqual(t, all[filepath.Join(here, "none")], Hash("none"))

	write("late", "one")
	f.Note("late")
	write("late", "other")
	require.NotEqual(t, f.Hashes(3)[filepath.Join(here, "late")], Hash("late"), "it was written between the note and the hash")
}
