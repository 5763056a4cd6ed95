package scaffold_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
	"github.com/ccm-push/ccm-push/modules/scaffold"
)

// resource makes a scaffold of $ROOT/t.
func resource(t *testing.T, root, properties string) modules.Resource {
	return modtest.Decode(t, modules.Registry{scaffold.Type()}, "scaffold", `{"name":"$ROOT/t",`+properties+`}`, root)
}

// check returns the plan of a resource, which must not be an error.
func check(t *testing.T, res modules.Resource) modules.Plan {
	t.Helper()
	plan, err := res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
	require.NoError(t, err)
	return plan
}

func apply(t *testing.T, res modules.Resource) error {
	t.Helper()
	return res.Apply(t.Context(), modtest.Host(), check(t, res))
}

// notesOf returns the directory of the record and the copies.
func notesOf(t *testing.T, res modules.Resource) string {
	t.Helper()
	dir, err := res.(*scaffold.Scaffold).Notes(modtest.Host())
	require.NoError(t, err)
	return dir
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// script writes a program at a path below root; it records every run in the file "ran".
func script(t *testing.T, root, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte("#!/bin/sh\necho \"$(basename \"$1\")\" >> "+root+"/ran\n"+text), 0o755))
}

const files = `"tree":{"mode":493,"nodes":[
	{"path":"a.txt","mode":420,"content":"a\n"},{"path":"d","mode":493},{"path":"d/b.txt","mode":384,"content":"b\n"},{"path":"plain","mode":420,"content":"p\n"}
]}`

func TestPost(t *testing.T) {
	root := modtest.Root(t)
	script(t, root, "upper", `tr a-z A-Z < "$1" > "$1.new" && cat "$1.new" > "$1"`)
	res := resource(t, root, `"post":[{"*.txt":"$ROOT/upper {}"},{"b*":"chmod 0640"}],`+files)

	plan := check(t, res)
	require.Equal(t, "changed 3 scaffold files", plan.Action)
	require.Contains(t, plan.Changes, changed("a.txt", "absent", "the output of post"))
	require.Contains(t, plan.Changes, changed("plain", "absent", sum("p\n")))
	require.Contains(t, plan.Effects, modules.Anything)
	require.NoFileExists(t, filepath.Join(root, "ran"), "a check runs nothing")
	require.NoError(t, res.Apply(t.Context(), modtest.Host(), plan))
	require.Equal(t, "a.txt\nb.txt\n", content(t, filepath.Join(root, "ran")))
	require.Equal(t, "A\n", content(t, filepath.Join(root, "t/a.txt")))
	require.Equal(t, "B\n", content(t, filepath.Join(root, "t/d/b.txt")))
	info, err := os.Stat(filepath.Join(root, "t/d/b.txt"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode(), "a command may set the mode")
	names, err := os.ReadDir(notesOf(t, res))
	require.NoError(t, err)
	require.Len(t, names, 1, "the copies are gone")
	names, err = os.ReadDir(filepath.Join(root, "t"))
	require.NoError(t, err)
	require.Len(t, names, 3, "nothing of this is in the target")

	// A second run finds nothing, and runs nothing.
	require.False(t, check(t, res).Pending())
	require.Equal(t, "a.txt\nb.txt\n", content(t, filepath.Join(root, "ran")))

	// Only a changed file is made again.
	require.NoError(t, os.WriteFile(filepath.Join(root, "t/a.txt"), []byte("drift"), 0o644))
	plan = check(t, res)
	require.Equal(t, []modules.Change{changed("a.txt", sum("drift"), sum("A\n"))}, plan.Changes)
	require.NoError(t, res.Apply(t.Context(), modtest.Host(), plan))
	require.Equal(t, "a.txt\nb.txt\na.txt\n", content(t, filepath.Join(root, "ran")))
	require.False(t, check(t, res).Pending(), "the record keeps the others")

	// A mode is restored without a command.
	require.NoError(t, os.Chmod(filepath.Join(root, "t/d/b.txt"), 0o600))
	plan = check(t, res)
	require.Equal(t, []modules.Change{changed("d/b.txt mode", "0600", "0640")}, plan.Changes)
	require.NotContains(t, plan.Effects, modules.Anything)
	require.NoError(t, res.Apply(t.Context(), modtest.Host(), plan))
	require.Equal(t, "a.txt\nb.txt\na.txt\n", content(t, filepath.Join(root, "ran")))

	// Another command makes other files.
	other := resource(t, root, `"post":[{"*.txt":"$ROOT/upper {} again"}],`+files)
	require.Equal(t, "changed 2 scaffold files", check(t, other).Action)
	require.NoError(t, apply(t, other))
	require.False(t, check(t, other).Pending())
	require.True(t, check(t, res).Pending())

	// Without commands the files are the rendered ones.
	bare := resource(t, root, `"purge":true,`+files)
	require.NoError(t, apply(t, bare))
	require.Equal(t, "a\n", content(t, filepath.Join(root, "t/a.txt")))
	require.NoError(t, apply(t, resource(t, root, `"ensure":"absent","post":[{"*.txt":"$ROOT/upper"}],`+files)))
	require.NoDirExists(t, filepath.Join(root, "t"))
	require.NoDirExists(t, notesOf(t, res))
}

// TestPostFails uses failing commands: the existing file is kept, and the next run tries again.
func TestPostFails(t *testing.T) {
	for _, test := range []struct{ name, script, err, redacted string }{
		{"exit code", "echo out; echo bad secret >&2; exit 3",
			`post for "a.txt": "$ROOT/tool $NOTES/work/0/a.txt" ended with exit code 3: bad secret`,
			`post: a command for "a.txt" failed with exit code 3`},
		{"exit code and output only", "echo secret; exit 1",
			`post for "a.txt": "$ROOT/tool $NOTES/work/0/a.txt" ended with exit code 1: secret`,
			`post: a command for "a.txt" failed with exit code 1`},
		{"removes the file", `rm "$1"`, `post: the commands for "a.txt" have not left a file`, `post: the commands for "a.txt" have not left a file`},
		{"leaves a link", `ln -sf /etc/passwd "$1"`, `post: the commands for "a.txt" have not left a file`, `post: the commands for "a.txt" have not left a file`},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := modtest.Root(t)
			modtest.Build(t, root, []modtest.Node{dir("t"), node("t/a.txt", "old", 0o644)})
			script(t, root, "tool", test.script)
			res := resource(t, root, `"post":[{"a.*":"$ROOT/tool {}"}],`+files)
			err := apply(t, res)
			require.EqualError(t, err, strings.NewReplacer("$ROOT", root, "$NOTES", notesOf(t, res)).Replace(test.err))
			var r modules.Redactor
			require.ErrorAs(t, err, &r)
			require.Equal(t, test.redacted, r.Redacted())
			require.Equal(t, "old", content(t, filepath.Join(root, "t/a.txt")))
			names, err := os.ReadDir(notesOf(t, res))
			require.NoError(t, err)
			require.Empty(t, names, "a copy is left")
			require.True(t, check(t, res).Pending())
		})
	}
	root := modtest.Root(t)
	err := apply(t, resource(t, root, `"post":[{"a.*":"$ROOT/nowhere"}],`+files))
	require.EqualError(t, err, `post for "a.txt": "`+root+`/nowhere" cannot be started: no such file or directory`)
	require.NoDirExists(t, filepath.Join(root, "t/d"), "a directory is left that nothing is in")
}

// TestPostRecordIsNotTrusted uses records that another user could have written: the commands run again.
func TestPostRecordIsNotTrusted(t *testing.T) {
	for name, spoil := range map[string]func(notes string) error{
		"others may write": func(notes string) error { return os.Chmod(notes, 0o777) },
		"no JSON":          func(notes string) error { return os.WriteFile(notes+"/made.json", []byte("{"), 0o600) },
		"a link": func(notes string) error {
			if err := os.Rename(notes+"/made.json", notes+"/other"); err != nil {
				return err
			}
			return os.Symlink("other", notes+"/made.json")
		},
		"somebody else's": func(notes string) error {
			return os.WriteFile(notes+"/made.json", []byte(`{"a.txt":{"from":"","sha256":"x"}}`), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := modtest.Root(t)
			script(t, root, "tool", "")
			res := resource(t, root, `"post":[{"a.*":"$ROOT/tool"}],`+files)
			require.NoError(t, apply(t, res))
			require.False(t, check(t, res).Pending())
			notes := notesOf(t, res)
			require.NoError(t, spoil(notes))
			if name == "others may write" {
				_, err := res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
				require.EqualError(t, err, fmt.Sprintf("post: %s is not a directory that only user %d can write in", notes, os.Geteuid()))
				require.NoError(t, os.Chmod(notes, 0o700))
				return
			}
			plan := check(t, res)
			require.True(t, plan.Pending())
			require.NoError(t, res.Apply(t.Context(), modtest.Host(), plan))
			require.False(t, check(t, res).Pending())
		})
	}
}
