package needs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// An outcome records how a test ends.
type outcome struct {
	testing.TB
	said string
}

func (*outcome) Helper()             {}
func (o *outcome) Skip(args ...any)  { o.said = "skipped: " + fmt.Sprint(args...); panic(o) }
func (o *outcome) Fatal(args ...any) { o.said = "failed: " + fmt.Sprint(args...); panic(o) }

func TestProgram(t *testing.T) {
	dir := t.TempDir()
	here := filepath.Join(dir, "here")
	require.NoError(t, os.WriteFile(here, []byte("#!/bin/sh\n"), 0o755))
	t.Setenv("PATH", dir)
	ask := func(program func(testing.TB, ...string) string, ci string, names ...string) (path, said string) {
		t.Setenv("CI", ci)
		o := &outcome{TB: t}
		defer func() { said = o.said }()
		defer func() { require.Contains(t, []any{nil, o}, recover()) }()
		return program(o, names...), ""
	}
	extra := func(tb testing.TB, names ...string) string { return needs.Extra(tb, names[0]) }
	for _, program := range []func(testing.TB, ...string) string{needs.Program, extra} {
		path, said := ask(program, "true", "here")
		require.Equal(t, here, path)
		require.Empty(t, said)
	}
	for _, test := range []struct {
		program func(testing.TB, ...string) string
		ci      string
		want    string
	}{
		{needs.Program, "", "skipped: NOT TESTED: this machine has no elsewhere"},
		{needs.Program, "true", "failed: cannot run in CI: this machine has no elsewhere"},
		{extra, "true", "skipped: NOT TESTED: this machine has no elsewhere, and CI does not install it"},
	} {
		path, said := ask(test.program, test.ci, "elsewhere", "here")
		require.Empty(t, path)
		require.Equal(t, test.want, said)
	}
}
