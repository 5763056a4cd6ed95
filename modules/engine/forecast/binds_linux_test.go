package forecast_test

import (
	"io"
	"io/fs"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// TestBindMounts predicts a change at one path of a directory, and reads it at another one.
func TestBindMounts(t *testing.T) {
	if !modtest.InMountNamespace(t) {
		return
	}
	root := modtest.Root(t)
	modtest.Build(t, root, []modtest.Node{
		{Path: "a", Dir: true}, {Path: "a/d", Dir: true}, {Path: "a/d/old", Text: "x"}, {Path: "a/gone", Text: "x"}, {Path: "a/t", Dir: true}, {Path: "b", Dir: true},
		{Path: "f", Text: "f"}, {Path: "g", Text: "g"}, {Path: "l", Link: "b/d"}, {Path: "a/up", Link: "../g"},
	})
	modtest.Bind(t, root+"/a", root+"/b")
	modtest.Tmpfs(t, root+"/b/t")
	modtest.Bind(t, root+"/f", root+"/g")
	path := func(name string, kind modules.FileKind, text string) modules.Effect {
		return modules.Effect{Kind: modules.PathEffect, Key: root + name, State: modules.PathState{FileInfo: modules.FileInfo{Kind: kind, Mode: 0o644, UID: 7}, Content: modules.TextContent(text)}}
	}
	for _, dirs := range [][2]string{{"/a", "/b"}, {"/b", "/a"}} {
		f := forecast.New(modtest.Host())
		effects := f.Settled([]modules.Effect{
			path(dirs[0]+"/d/new", modules.Regular, "new"), path(dirs[0]+"/gone", modules.Absent, ""), path("/b/t/own", modules.Regular, "own"), path("/f", modules.Regular, "other"),
		})
		f.Record(forecast.Plan{Entry: -1, Ref: "file#x", Effects: effects})
		p := &forecast.Prediction{}
		h := f.Host(t.Context(), f.Everything(), p, modules.Discard{})
		for _, name := range []string{"/a/d/new", "/b/d/new", "/l/new"} {
			info, err := h.Files.Stat(root + name)
			require.NoError(t, err, name)
			require.Equal(t, 7, info.UID)
		}
		for _, name := range []string{"/a/gone", "/b/gone"} {
			_, err := h.Files.Stat(root + name)
			require.ErrorIs(t, err, fs.ErrNotExist, name)
		}
		for _, dir := range []string{"/a", "/b"} {
			names, err := h.Files.List(root + dir)
			require.NoError(t, err)
			require.Equal(t, []string{"d", "t", "up"}, names)
			names, err = h.Files.List(root + dir + "/d")
			require.NoError(t, err)
			require.Equal(t, []string{"new", "old"}, names)
		}
		_, err := h.Files.Stat(root + "/a/t/own")
		require.ErrorIs(t, err, fs.ErrNotExist, "another file system is mounted at /b/t")
		_, err = h.Files.Stat(root + "/b/t/own")
		require.NoError(t, err)
		for _, name := range []string{"/g", "/b/up"} { // the file that is mounted is not the new one
			in, err := h.Files.Open(root + name)
			require.NoError(t, err)
			text, err := io.ReadAll(in)
			require.NoError(t, err)
			require.NoError(t, in.Close())
			require.Equal(t, "f", string(text), name)
		}
		require.Empty(t, p.Because.Ref)
	}
	_, err := os.Stat(root + "/a/d/new")
	require.ErrorIs(t, err, fs.ErrNotExist)
}
