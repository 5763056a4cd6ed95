package system

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkLook measures the host's work for the check of one stable file.
func BenchmarkLook(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "etc/nginx/conf.d")
	require.NoError(b, os.MkdirAll(dir, 0o755))
	path := filepath.Join(dir, "site.conf")
	require.NoError(b, os.WriteFile(path, make([]byte, 2000), 0o644))
	b.ReportAllocs()
	for b.Loop() {
		f := newFiles()
		if _, err := f.Stat(path); err != nil {
			b.Fatal(err)
		}
		if _, err := f.Digest(path); err != nil {
			b.Fatal(err)
		}
	}
}
