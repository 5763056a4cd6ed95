package private

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// script returns an editor that runs a shell script; $1 is the file.
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

// TestEditorsKeepNothing edits with the real vi and vim of this machine, under each of their names.
func TestEditorsKeepNothing(t *testing.T) {
	const canary = "CANARY-991"
	ran := false
	quick := []string{"./odd name", "ex", "nvi"}
	for _, name := range []string{"vi", "vim.tiny", "nvim", "editor", "ex", "rvim", "./odd name", "nvi"} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			if testing.Short() && !slices.Contains(quick, name) {
				t.Skip("vim waits for two seconds each time")
			}
			program := name
			if at, local := strings.CutPrefix(name, "./"); local { // a name of one's own
				real := needs.Extra(t, "vim")
				program = filepath.Join(t.TempDir(), at)
				require.NoError(t, os.Symlink(real, program))
			} else {
				needs.Extra(t, program)
			}
			ran = true
			t.Setenv("HOME", home)
			t.Setenv("TERM", "vt100")
			f, err := Write("vars.yaml", []byte("password: "+canary+"\n"))
			require.NoError(t, err)
			keys := filepath.Join(t.TempDir(), "keys")
			script := "/CANARY\ryyddu:s/991/992/\r:wq\r"
			argv := []string{program}
			if name == "nvi" { // which wants a terminal otherwise
				argv = append(argv, "-e", "-s")
			}
			if name == "ex" || name == "nvi" {
				script = "/CANARY/\nyank\ns/991/992/\nwq\n"
			}
			require.NoError(t, os.WriteFile(keys, []byte(script), 0o600))
			in, err := os.Open(keys)
			require.NoError(t, err)
			defer in.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			text, err := f.Edit(ctx, &Editor{argv: argv, Stdin: in})
			require.NoError(t, errors.Join(err, f.Close()))
			require.Equal(t, "password: CANARY-992\n", string(text))
			require.NoError(t, filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() {
					return err
				}
				kept, err := os.ReadFile(path)
				require.False(t, bytes.Contains(kept, []byte("CANARY")), path)
				return err
			}))
		})
	}
	if !ran && os.Getenv("CI") != "" {
		t.Fatal("no editor is installed here")
	}
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
		{"", "code --wait", "code|--wait|/f"}, {"emacs", "nano", "emacs|/f"},
		{"", "/nowhere/vim", "/nowhere/vim|/f"},
	} {
		e, err := EditorOf(func(name string) string { return map[string]string{"VISUAL": c.visual, "EDITOR": c.editor}[name] })
		require.NoError(t, err)
		require.Equal(t, c.want, strings.Join(e.command(t.Context(), "/f"), "|"))
	}
	e, err := EditorOf(func(string) string { return "" })
	require.NoError(t, err)
	require.Equal(t, []string{"vi"}, e.argv)
	_, err = EditorOf(func(string) string { return "'" })
	require.ErrorContains(t, err, "$VISUAL is not a command")
}
