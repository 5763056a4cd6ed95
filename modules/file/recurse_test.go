package file_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/wire"
)

func TestRecurseRefused(t *testing.T) {
	for properties, want := range map[string]string{
		`{"name":"/d","ensure":"absent","recurse":true,"force":true}`:               "recurse: 'recurse' applies to 'owner', 'group' and 'mode', and cannot be used with 'ensure: absent' (write force: true to remove a directory with everything in it)",
		`{"name":"/d","recurse":true,"owner":"a"}`:                                  "recurse: 'recurse: true' is only valid with 'ensure: directory' (write ensure: directory)",
		`{"name":"/d","ensure":"directory","recurse":true}`:                         `recurse: 'recurse' has nothing to apply to the files in the directory (write "owner", "group", "mode" or "file_mode")`,
		`{"name":"/","ensure":"directory","recurse":true,"owner":"a"}`:              "recurse: 'recurse' is not for the root directory",
		`{"name":"/d","ensure":"directory","file_mode":"0644"}`:                     `file_mode: 'file_mode' is only valid with 'recurse: true' (write "mode")`,
		`{"name":"/d","ensure":"directory","recurse":true,"file_mode":"0888"}`:      `file_mode: mode "0888" has a digit outside 0-7 (write an octal string such as mode: "0644")`,
		`{"name":"/d","ensure":"directory","recurse":true,"file_mode":"rw-r--r--"}`: `file_mode: mode "rw-r--r--" is neither octal nor symbolic (write it as in mode: "0640" or mode: "u=rw,g=r,o=", with the letters u, g, o, a and r, w, x, X, s, t)`,
	} {
		var f file.File
		require.NoError(t, json.Unmarshal([]byte(properties), &f))
		require.EqualError(t, f.Validate(), want)
	}
}

// recurse applies a tree's modes in a run, as a check or not.
func recurse(t *testing.T, dir, properties string, check bool) *wire.Result {
	t.Helper()
	types := modules.Registry{file.Type()}
	e := &engine.Engine{Host: modtest.Host(), Now: time.Now}
	e.Decode = func(entry *wire.Entry) (modules.Resource, error) { return types.Decode(entry.Type, entry.Properties) }
	var last *wire.Result
	_, err := e.Run(t.Context(), &wire.Catalog{Check: check, Entries: []wire.Entry{
		{Type: "file", Name: "f", Properties: []byte(`{"name":"` + dir + `","ensure":"directory","recurse":true,` + properties + `}`)},
	}}, func(r *wire.Result) error { last = r; return nil })
	require.NoError(t, err)
	return last
}

// TestRecurseOfMany uses more paths than a result names, and more than are predicted one by one.
func TestRecurseOfMany(t *testing.T) {
	root := modtest.Root(t)
	const dirs, files = 12, 120
	for d := range dirs {
		dir := filepath.Join(root, fmt.Sprintf("d%02d", d))
		require.NoError(t, os.Mkdir(dir, 0o755))
		for f := range files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%03d", f)), nil, 0o644))
		}
	}
	require.NoError(t, os.Chmod(root, 0o755))
	for _, check := range []bool{true, false} {
		r := recurse(t, root, `"mode":"u=rwX,go="`, check)
		message := fmt.Sprintf("updated attributes of %d paths", 1+dirs*(files+1))
		if check {
			message = "Would have " + message
		}
		require.Equal(t, []any{wire.Changed, message, false}, []any{r.Status, r.Message, r.Grade != modules.Certain})
		require.Len(t, r.Changes, 1+20+1)
		require.Equal(t, modules.Change{Property: "d00 mode", Have: "0755", Want: "0700"}, r.Changes[1])
		require.Equal(t, modules.Change{Property: "others", Have: fmt.Sprintf("%d more paths", dirs*(files+1)-20), Want: "changed"}, r.Changes[21])
	}
	require.Empty(t, recurse(t, root, `"mode":"u=rwX,go="`, false).Status, "stable")
}

func TestRecurseTooDeep(t *testing.T) {
	root := modtest.Root(t)
	dir := root
	for range 205 {
		dir += "/d"
	}
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for _, check := range []bool{true, false} {
		r := recurse(t, root, `"mode":"0700"`, check)
		require.Equal(t, wire.Failed, r.Status)
		require.Contains(t, r.Error, "more than 200 directories are in each other")
	}
	info, err := os.Stat(root + "/d")
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), info.Mode().Perm(), "nothing is half done")
}

// exchanging puts something else at a path before its attributes are set.
type exchanging struct {
	modules.Files
	exchange func(path string)
}

func (e exchanging) Within(dir string) modules.FileWriter {
	return exchangingWriter{e.Files.Within(dir), e.exchange}
}

type exchangingWriter struct {
	modules.FileWriter
	exchange func(path string)
}

func (e exchangingWriter) SetAttributes(ctx context.Context, path string, a modules.Attributes) error {
	e.exchange(path)
	return e.FileWriter.SetAttributes(ctx, path, a)
}

// TestRecurseWhileExchanged exchanges paths of a tree after they have been checked.
func TestRecurseWhileExchanged(t *testing.T) {
	for name, test := range map[string]struct {
		at       string // next path that gets its attributes
		exchange func(t *testing.T, root string)
		err      string
	}{
		"a link out of the tree in the place of a directory": {"d/in", func(t *testing.T, root string) {
			require.NoError(t, os.Rename(root+"/d/in", root+"/gone"))
			require.NoError(t, os.Symlink(root+"/keep", root+"/d/in"))
		}, "set attributes of $ROOT/d/in: too many levels of symbolic links"},
		"a link in the place of one that is deeper": {"d/in/deep", func(t *testing.T, root string) {
			require.NoError(t, os.Rename(root+"/d/in/deep", root+"/gone"))
			require.NoError(t, os.Symlink(root+"/keep", root+"/d/in/deep"))
		}, "set attributes of $ROOT/d/in/deep: too many levels of symbolic links"},
		"a link above a file": {"d/in/deep/f", func(t *testing.T, root string) {
			require.NoError(t, os.Rename(root+"/d/in/deep", root+"/gone"))
			require.NoError(t, os.Symlink(root+"/keep", root+"/d/in/deep"))
		}, "open the directory of $ROOT/d/in/deep/f: path escapes from parent"},
		"a file in the place of a directory": {"d/in", func(t *testing.T, root string) {
			require.NoError(t, os.Rename(root+"/d/in", root+"/gone"))
			require.NoError(t, os.WriteFile(root+"/d/in", nil, 0o644))
		}, "set attributes of $ROOT/d/in: another process has just replaced the file; run again"},
		"nothing any more": {"d/in", func(t *testing.T, root string) {
			require.NoError(t, os.Rename(root+"/d/in", root+"/gone"))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := modtest.Root(t)
			modtest.Build(t, root, []modtest.Node{
				{Path: "d", Dir: true}, {Path: "d/in", Dir: true}, {Path: "d/in/deep", Dir: true}, {Path: "d/in/deep/f", Text: "x"},
				{Path: "keep", Dir: true}, {Path: "keep/f", Text: "x"},
			})
			kept := modtest.State(t, root+"/keep")
			res := modtest.Decode(t, modules.Registry{file.Type()}, "file", `{"name":"$ROOT/d","ensure":"directory","recurse":true,"mode":"u=rwX,go="}`, root)
			h := modtest.Host()
			plan, err := res.Check(t.Context(), modules.ReadOnly(h))
			require.NoError(t, err)
			done := false
			h.Forecast = modules.NoForecast{}
			opener := exchanging{h.Files, func(path string) {
				if path == root+"/"+test.at && !done {
					done = true
					test.exchange(t, root)
				}
			}}
			h.Files.DirectoryOpener = opener
			err = res.Apply(t.Context(), h, plan)
			if test.err == "" {
				require.True(t, err == nil || errors.Is(err, os.ErrNotExist), "%v", err)
			} else {
				require.EqualError(t, err, os.Expand(test.err, func(string) string { return root }))
			}
			require.True(t, done)
			require.Equal(t, kept, modtest.State(t, root+"/keep"))
		})
	}
}
