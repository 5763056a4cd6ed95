package dsc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
)

// TestSafe leaves out what others can change, but only for root.
func TestSafe(t *testing.T) {
	h := newBench(t).host()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o777))
	inside := filepath.Join(dir, "a")
	require.NoError(t, os.Mkdir(inside, 0o700))
	paths := []string{"/usr/bin", "/no/such", dir, inside, "/etc"}

	kept, unsafe := safe(h, 1000, paths)
	require.Equal(t, paths, kept)
	require.Empty(t, unsafe)
	kept, unsafe = safe(h, 0, paths)
	require.Equal(t, []string{"/usr/bin", "/etc"}, kept)
	require.Len(t, unsafe, 2)
}

// TestRootRunsNothingOfOthers has manifests that others can change, and directories
// of PATH and of manifests in which they can put some.
func TestRootRunsNothingOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: others than root may trust whom they like")
	}
	manifest := manifestOf("A/B", "1.0.0", "", `"{}"`)
	t.Run("a manifest", func(t *testing.T) {
		b := newBench(t)
		dir := b.hosted(t, map[string]string{"a.dsc.resource.json": manifest})
		require.NoError(t, os.Chown(filepath.Join(dir, "a.dsc.resource.json"), 1000, 0))
		_, err := b.got(`{"name": "x", "type": "A/B"}`)
		require.EqualError(t, err, strings.ReplaceAll("there is no DSC resource A/B; found $DIR/a.dsc.resource.json, but: user 1000 can change $DIR/a.dsc.resource.json", "$DIR", dir))
	})
	t.Run("a directory", func(t *testing.T) {
		b := newBench(t)
		dir := b.hosted(t, map[string]string{"a.dsc.resource.json": manifest})
		require.NoError(t, os.Chmod(dir, 0o1777))
		_, err := b.got(`{"name": "x", "type": "A/B"}`)
		require.EqualError(t, err, "there is no DSC resource A/B; looked into resources/ beside the manifest; did not look where others can put something: everybody can change "+dir)
	})
	t.Run("a program", func(t *testing.T) {
		b := newBench(t)
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "of-others"), []byte("#!/bin/sh\necho '{}'\n"), 0o755))
		t.Setenv("PATH", dir)
		b.write("a.dsc.resource.json", strings.Replace(manifest, "printf", "of-others", 1))
		got, err := b.got(`{"name": "x", "type": "A/B"}`)
		require.NoError(t, err)
		require.Equal(t, "{}", got)
		require.NoError(t, os.Chown(dir, 1000, 0))
		_, err = b.got(`{"name": "x", "type": "A/B"}`)
		require.EqualError(t, err, `get of A/B: "of-others" is not found in `+modules.DefaultPath+":"+b.resources)
	})
}
