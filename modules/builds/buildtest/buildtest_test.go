package buildtest

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/builds"
)

// TestCache loads stored programs, but not a damaged one.
func TestCache(t *testing.T) {
	var packed bytes.Buffer
	zw := gzip.NewWriter(&packed)
	_, err := zw.Write([]byte("program"))
	require.NoError(t, err)
	require.NoError(t, zw.Close())
	sum := sha256.Sum256([]byte("program"))
	want := builds.Build{OS: "linux", Arch: "amd64", ID: "id", SHA256: hex.EncodeToString(sum[:]), Size: int64(len("program"))}.WithCompressed(packed.Bytes())

	parent := filepath.Join(t.TempDir(), "cache")
	old, dir := filepath.Join(parent, "old"), filepath.Join(parent, "id-linux-amd64")
	require.NoError(t, os.MkdirAll(old, 0o700))
	require.NoError(t, os.Chtimes(old, time.Time{}, time.Now().Add(-2*age)))
	_, err = load(dir)
	require.Error(t, err)
	require.NoError(t, store(dir, want))
	require.Error(t, store(dir, want), "another process was faster")
	require.NoDirExists(t, old)
	got, err := load(dir)
	require.NoError(t, err)
	program, err := got.Program()
	require.NoError(t, err)
	require.Equal(t, "program", string(program))
	got.Compressed, want.Compressed = nil, nil
	require.Equal(t, want, got)

	files, err := filepath.Glob(filepath.Join(dir, "*.gz"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	damaged := packed.Bytes()
	damaged[len(damaged)/2] ^= 1
	require.NoError(t, os.WriteFile(files[0], damaged, 0o600))
	_, err = load(dir)
	require.Error(t, err)
}
