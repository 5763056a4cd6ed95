package ral

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shell gives what a script prints that is run with one argument.
func shell(t *testing.T, script, arg string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "bash", "-c", script, "bash", arg).Output()
	require.NoError(t, err)
	return string(out)
}

// python is shell for a program in Python.
func python(t *testing.T, program, arg string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "python3", "-X", "utf8", "-c", program, arg).Output()
	require.NoError(t, err)
	return string(out)
}

// realDir is a folder whose path leads through no link.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

// named puts names for folders into a text.
func named(text string, names map[string]string) string {
	for name, dir := range names {
		text = strings.ReplaceAll(text, dir, name)
	}
	return text
}
