package system_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/system"
)

// refuses compares a refusal with its text, in which $ROOT stands for the root
// and $UID for the own user.
func refuses(t *testing.T, want, root string, err error) {
	t.Helper()
	if want == "" {
		require.NoError(t, err)
		return
	}
	want = strings.NewReplacer("$ROOT", root, "$UID", fmt.Sprint(os.Geteuid())).Replace(want)
	require.EqualError(t, err, want)
	require.ErrorIs(t, err, fs.ErrPermission)
}

func TestMayReplace(t *testing.T) {
	modtest.AsOrdinaryUser(t, func(t *testing.T) {
		root := modtest.Root(t)
		modtest.Build(t, root, []modtest.Node{
			{Path: "f", Text: "x"},
			{Path: "closed", Dir: true, Mode: 0o555},
			{Path: "blind", Dir: true, Mode: 0o300},
			{Path: "flat", Dir: true, Mode: 0o600},
			{Path: "sticky", Dir: true, Mode: 0o777 | fs.ModeSticky},
			{Path: "sticky/f", Text: "x"},
			{Path: "l", Link: "closed"},
		})
		files := system.New().Files
		for path, want := range map[string]string{
			"$ROOT/f":         "",
			"$ROOT/new":       "",
			"$ROOT/none/new":  "", // for others to report
			"$ROOT/f/new":     "",
			"$ROOT/sticky/f":  "",
			"$ROOT/closed":    "",
			"$ROOT/closed/f":  `user $UID may not write in "$ROOT/closed"; use "become"`,
			"$ROOT/l/f":       `user $UID may not write in "$ROOT/l"; use "become"`,
			"$ROOT/blind/f":   `user $UID may not read "$ROOT/blind"; use "become"`,
			"$ROOT/flat/f":    `user $UID may not write in "$ROOT/flat"; use "become"`,
			"$ROOT/flat/f/in": `user $UID may not reach "$ROOT/flat/f"; use "become"`,
			"/proc":           `user $UID may not write in "/"; use "become"`,
		} {
			refuses(t, want, root, files.MayReplace(strings.Replace(path, "$ROOT", root, 1)))
		}
	})
}

// TestMayReplaceInStickyDirectory needs another user's file in a directory that all users may write to: there is one if
// root runs the tests.
func TestMayReplaceInStickyDirectory(t *testing.T) {
	files := system.New().Files
	if os.Geteuid() == 0 {
		dir, err := os.MkdirTemp("", "sticky")
		require.NoError(t, err)
		t.Cleanup(func() { os.RemoveAll(dir) })
		require.NoError(t, os.Chmod(dir, 0o777|fs.ModeSticky))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), nil, 0o666))
		require.NoError(t, files.MayReplace(filepath.Join(dir, "f")))
		t.Setenv("STICKY", dir)
	}
	modtest.AsOrdinaryUser(t, func(t *testing.T) {
		dir := os.Getenv("STICKY")
		if dir == "" {
			t.Skip("NOT TESTED: only root can make a file of somebody else's")
		}
		require.NoError(t, files.MayReplace(filepath.Join(dir, "new")))
		err := files.MayReplace(filepath.Join(dir, "f"))
		refuses(t, `"$ROOT/f" belongs to user 0 and its directory is sticky, so user $UID may not replace or remove it; use "become"`, dir, err)
		require.ErrorIs(t, files.Remove(t.Context(), filepath.Join(dir, "f"), false), fs.ErrPermission)
	})
}

func TestMaySetAttributes(t *testing.T) {
	modtest.AsOrdinaryUser(t, func(t *testing.T) {
		root := modtest.Root(t)
		modtest.Build(t, root, []modtest.Node{{Path: "f", Text: "x", Mode: 0o400}})
		files := system.New().Files
		for _, test := range []struct {
			path     string
			uid, gid int
			err      string
		}{
			{"$ROOT/f", -1, -1, ""},
			{"$ROOT/f", os.Geteuid(), os.Getegid(), ""},
			{"$ROOT/none", 0, 0, ""}, // for others to report
			{"$ROOT/f/none", 0, 0, ""},
			{"$ROOT/f", 0, -1, `user $UID may not give files to user 0; use "become"`},
			{"$ROOT/f", -1, 1 << 20, `user $UID may not give files to group 1048576, which it is not in; use "become"`},
			{"/", -1, -1, `"/" belongs to user 0, so user $UID may not change its owner or mode; use "become"`},
		} {
			path := strings.Replace(test.path, "$ROOT", root, 1)
			a := modules.Attributes{Mode: 0o600, UID: test.uid, GID: test.gid}
			refuses(t, test.err, root, files.MaySetAttributes(path, a))
			if test.path == "$ROOT/f" {
				refuses(t, test.err, root, files.MayCreate(a))
			}
		}
	})
}

func TestReadOnlyFileSystem(t *testing.T) {
	dir := readOnlyDirectory()
	if dir == "" {
		t.Skip("NOT TESTED: no directory is mounted read-only here")
	}
	files := system.New().Files
	err := files.MaySetAttributes(dir, modules.Attributes{Mode: 0o755, UID: -1, GID: -1})
	refuses(t, `the file system of "$ROOT" is mounted read-only`, dir, err)
	require.ErrorIs(t, files.MayReplace(filepath.Join(dir, "new")), fs.ErrPermission)
}

// readOnlyDirectory finds one in the mount table of Linux (proc(5)).
func readOnlyDirectory() string {
	table, _ := os.ReadFile("/proc/self/mounts")
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if info, err := os.Stat(fields[1]); err == nil && info.IsDir() && strings.HasPrefix(fields[3], "ro,") {
			return fields[1]
		}
	}
	return ""
}

func TestRootMayAll(t *testing.T) {
	needs.Root(t, "only for root")
	root := modtest.Root(t)
	modtest.Build(t, root, []modtest.Node{{Path: "closed", Dir: true, Mode: 0o500}, {Path: "closed/f", Text: "x"}})
	files := system.New().Files
	a := modules.Attributes{UID: 1 << 20, GID: 1 << 20}
	require.NoError(t, files.MayReplace(filepath.Join(root, "closed/f")))
	require.NoError(t, files.MaySetAttributes(filepath.Join(root, "closed/f"), a))
	require.NoError(t, files.MayCreate(a))
}
