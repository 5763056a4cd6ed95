package modules_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

func TestValidatePath(t *testing.T) {
	for path, want := range map[string]string{
		"":         "",
		"/":        "",
		"/etc/a b": "",
		"/...":     "",
		"etc":      "target: file path must be absolute (write a path that begins with /)",
		"/etc/":    "target: file path must be canonical (write /etc)",
		"/a/../b":  "target: file path must be canonical (write /b)",
		"/a\x00":   "target: file path must not contain a NUL byte",
	} {
		err := modules.ValidatePath("target", path)
		if want == "" {
			require.NoError(t, err, path)
			continue
		}
		require.EqualError(t, err, want, path)
	}
}

func TestResolve(t *testing.T) {
	root := modtest.Root(t)
	modtest.Build(t, root, []modtest.Node{
		{Path: "d", Dir: true},
		{Path: "d/f", Text: "x"},
		{Path: "ld", Link: "d"},
		{Path: "far", Link: "$ROOT/ld/../ld/f"},
		{Path: "circle", Link: "circle"},
		{Path: "nothing", Link: "gone"},
	})
	files := modtest.Host().Files
	for _, test := range []struct {
		name, at string
		passed   []string
		err      error
	}{
		{"d/f", "d/f", nil, nil},
		{"ld/f", "d/f", []string{"ld"}, nil},
		{"far", "d/f", []string{"far", "ld", "ld"}, nil},
		{"circle/x", "", nil, syscall.ELOOP},
		{"nothing", "", nil, fs.ErrNotExist},
		{"d/f/g", "", nil, syscall.ENOTDIR},
	} {
		at, passed, err := modules.Resolve(files, filepath.Join(root, test.name))
		if test.err != nil {
			require.ErrorIs(t, err, test.err, test.name)
			continue
		}
		require.NoError(t, err, test.name)
		require.Equal(t, filepath.Join(root, test.at), at, test.name)
		for i := range passed {
			passed[i], _ = filepath.Rel(root, passed[i])
		}
		require.Equal(t, test.passed, passed, test.name)
	}
}

func TestRefuse(t *testing.T) {
	err := modules.Refuse("%s: %w", "x", fs.ErrPermission)
	require.ErrorIs(t, err, fs.ErrPermission)
	var r modules.Redactor
	require.ErrorAs(t, err, &r)
	require.Equal(t, "x: permission denied", r.Redacted())
	plan, err := modules.PlanIfPermitted(modules.Plan{Action: "did it"}, nil, fs.ErrPermission, fs.ErrExist)
	require.EqualError(t, err, "permission denied")
	require.Equal(t, modules.Plan{}, plan)
}

func TestInDirectory(t *testing.T) {
	root := modtest.Root(t)
	modtest.Build(t, root, []modtest.Node{
		{Path: "d", Dir: true}, {Path: "f", Text: "x"}, {Path: "ld", Link: "d"}, {Path: "lf", Link: "f"}, {Path: "nothing", Link: "gone"},
	})
	const advice = " (create it with a file resource that has ensure: directory)"
	for name, want := range map[string]string{
		"d/x":         "",
		"ld/x":        "",
		"no/x":        `the directory "$ROOT/no" does not exist` + advice,
		"d/no/such/x": `the directory "$ROOT/d/no/such" does not exist` + advice,
		"ld/no/x":     `the directory "$ROOT/ld/no" does not exist` + advice,
		"f/x":         `"$ROOT/f" is not a directory`,
		"lf/x":        `"$ROOT/lf" is not a directory`,
		"f/no/such/x": `"$ROOT/f" is not a directory`,
		"nothing/x":   `"$ROOT/nothing" is a link to a missing path; create the target, or correct the link`,
		"nothing/a/x": `"$ROOT/nothing" is a link to a missing path; create the target, or correct the link`,
	} {
		err := modules.InDirectory(modtest.Host().Files, filepath.Join(root, name))
		if want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.EqualError(t, err, strings.ReplaceAll(want, "$ROOT", root), name)
	}
}
