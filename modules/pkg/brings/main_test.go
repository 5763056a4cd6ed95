package brings_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/pkg/brings"
)

// build makes a package file from files below its root, among them DEBIAN/control.
func build(t testing.TB, name string, files map[string]string) brings.File {
	t.Helper()
	needs.Program(t, "dpkg-deb")
	tree := t.TempDir()
	for at, text := range files {
		mode := os.FileMode(0o644)
		if dir := path.Dir(at); dir == "DEBIAN" && text[:1] == "#" {
			mode = 0o755
		}
		require.NoError(t, os.MkdirAll(filepath.Join(tree, path.Dir(at)), 0o755))
		if path.Base(at) != "." {
			require.NoError(t, os.WriteFile(filepath.Join(tree, at), []byte(text), mode))
		}
	}
	control := fmt.Sprintf("Package: %s\nVersion: 1\nArchitecture: all\nMaintainer: t <t@localhost>\nDescription: test\n", name)
	require.NoError(t, os.MkdirAll(filepath.Join(tree, "DEBIAN"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(tree, "DEBIAN/control"), []byte(control), 0o644))
	deb := filepath.Join(t.TempDir(), name+"_1_all.deb")
	out, err := exec.Command("dpkg-deb", "--root-owner-group", "-Zxz", "-b", tree, deb).CombinedOutput()
	require.NoError(t, err, string(out))
	data, err := os.ReadFile(deb)
	require.NoError(t, err)
	sum := sha256.Sum256(data)
	return brings.File{URI: "file:" + deb, Name: filepath.Base(deb), Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:])}
}

func look(ctx context.Context, most int, argv ...string) (string, bool, error) {
	exit, err := modtest.Host().Commands.Probe(ctx, modules.Command{Argv: argv, MaxOutput: most, Timeout: 20 * time.Second})
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("%s ended with %d: %s", argv[0], exit.Code, exit.Stderr.Text)
	}
	return exit.Stdout.Text, exit.Stdout.Dropped == 0, err
}

func fetcher(t testing.TB) *brings.Fetcher {
	cache, err := brings.OpenCache(t.TempDir(), "parts")
	require.NoError(t, err)
	return &brings.Fetcher{Proxy: brings.Settings{}.Proxy, Password: func(string) bool { return false }, Cache: cache}
}

// tarOf makes a tar archive of regular files.
func tarOf(t testing.TB, files map[string]string) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, text := range files {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg, Format: tar.FormatGNU}))
		_, err := w.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}
