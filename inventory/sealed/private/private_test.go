package private

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// script is an editor that does what a shell script says; $1 is the file.
func script(t *testing.T, text string) *Editor {
	t.Helper()
	path := filepath.Join(t.TempDir(), "editor")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700))
	return &Editor{argv: []string{path}}
}

func TestEdit(t *testing.T) {
	f, err := Write("group_vars/all.yaml", []byte("before"))
	require.NoError(t, err)
	require.Equal(t, "all.yaml", filepath.Base(f.path))
	for path, mode := range map[string]os.FileMode{f.folder: 0o700, f.path: 0o600} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm())
	}
	text, err := f.Edit(t.Context(), script(t, `cp "$1" "$1~"; echo after >> "$1"`))
	require.NoError(t, err)
	require.Equal(t, "beforeafter\n", string(text))
	require.NoError(t, f.Close())
	require.NoDirExists(t, f.folder, "with what the editor has put there")
}

func TestEditorFails(t *testing.T) {
	f, err := Write("x", nil)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.Edit(t.Context(), script(t, "exit 3"))
	require.ErrorContains(t, err, "editor: exit status 3")
	_, err = f.Edit(t.Context(), &Editor{argv: []string{"/nowhere/editor"}})
	require.ErrorContains(t, err, "no such file")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = f.Edit(ctx, script(t, "exit 0"))
	require.ErrorIs(t, err, context.Canceled)
}

func TestWipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(path, []byte("secret"), 0o600))
	require.NoError(t, wipe(path))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, make([]byte, len("secret")), text)
}

func TestEditorOf(t *testing.T) {
	for _, c := range []struct{ visual, editor, want string }{
		{"", "", "vi|/f"}, {"", "code --wait", "code|--wait|/f"}, {"emacs", "nano", "emacs|/f"},
		{"", "/usr/bin/vim", "/usr/bin/vim|" + strings.Join(withoutTraces, "|") + "|/f"},
	} {
		e, err := EditorOf(func(name string) string { return map[string]string{"VISUAL": c.visual, "EDITOR": c.editor}[name] })
		require.NoError(t, err)
		require.Equal(t, c.want, strings.Join(e.command("/f"), "|"))
	}
	_, err := EditorOf(func(string) string { return "'" })
	require.ErrorContains(t, err, "$VISUAL is no command")
}
