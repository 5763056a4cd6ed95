package brings

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestResume copies kept begins into the folder of apt, and removes the copies that apt did not use.
func TestResume(t *testing.T) {
	cache, err := OpenCache(t.TempDir(), "parts")
	require.NoError(t, err)
	modified := time.Unix(1_700_000_000, 0)
	keep := func(name, data string, size int64) {
		file := File{URI: "http://a.example/" + name, Name: name, SHA256: name + "-sum", Size: size}
		f := &Fetcher{Cache: cache}
		f.notes(file, modified.UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT"))
		require.NoError(t, cache.Keep(file.key(), []byte(data)))
		require.NoError(t, f.keepOrigin(file))
	}
	keep("a_1_all.deb", "begin", 100)
	keep("whole_1_all.deb", "whole", 5)
	keep("there_1_all.deb", "begin", 100)
	keep("../evil_1_all.deb", "begin", 100)
	keep("noname", "begin", 100)
	require.NoError(t, cache.Keep("unknown-sum", []byte("a file from another time")))
	require.NoError(t, cache.Keep("bad-sum"+originOf, []byte("1 2\n")))
	require.NoError(t, cache.Keep("evil-sum"+originOf, []byte("1 9 ../../evil_1_all.deb\n")))
	require.NoError(t, cache.Keep("evil-sum", []byte("begin")))
	partial := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(partial, "there_1_all.deb"), []byte("longer begin"), 0o600))
	contents := func() map[string]string {
		all := map[string]string{}
		entries, err := os.ReadDir(partial)
		require.NoError(t, err)
		for _, e := range entries {
			text, err := os.ReadFile(filepath.Join(partial, e.Name()))
			require.NoError(t, err)
			all[e.Name()] = string(text)
		}
		return all
	}

	remove := cache.Resume(partial)
	require.Equal(t, map[string]string{"a_1_all.deb": "begin", "whole_1_all.deb": "whol", "there_1_all.deb": "longer begin"}, contents())
	info, err := os.Stat(filepath.Join(partial, "a_1_all.deb"))
	require.NoError(t, err)
	require.True(t, info.ModTime().Equal(modified))
	require.NoError(t, os.Remove(filepath.Join(partial, "a_1_all.deb"))) // as apt does with a complete file
	remove()
	require.Equal(t, map[string]string{"there_1_all.deb": "longer begin"}, contents())

	cache.Resume(filepath.Join(partial, "none"))()
}
