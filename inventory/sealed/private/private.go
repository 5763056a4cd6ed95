// Package private opens a text in an editor. The file is in memory instead of on a disk, if possible, and no other user
// can read it. Nothing of it remains.
package private

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/kballard/go-shellquote"
)

// memory is a file system in memory, on Linux.
const memory = "/dev/shm"

// An Editor is a program that a person edits a file with.
type Editor struct {
	argv   []string
	Stdin  io.Reader // files, so that it can be on a terminal
	Stdout io.Writer
	Stderr io.Writer
}

// EditorOf returns the program that the environment names, or vi.
func EditorOf(getenv func(string) string) (*Editor, error) {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		words, err := shellquote.Split(getenv(name))
		switch {
		case err != nil:
			return nil, fmt.Errorf("$%s is not a command: %w", name, err)
		case len(words) > 0:
			return &Editor{argv: words}, nil
		}
	}
	return &Editor{argv: []string{"vi"}}, nil
}

// withoutTraces are arguments that keep vim from storing the text anywhere else. A small vim does not know all of the
// settings.
var withoutTraces = []string{"-n", "-i", "NONE", "-c", "silent! set nobackup", "-c", "silent! set nowritebackup", "-c", "silent! set noundofile"}

func (e *Editor) command(ctx context.Context, path string) []string {
	argv := slices.Clone(e.argv)
	if isVim(ctx, argv[0]) {
		argv = append(argv, withoutTraces...)
	}
	return append(argv, path)
}

// viNames match what vi and its successors are called, such as vi, vim.tiny, nvim, gview and rvim.
var viNames = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(n|g|r|e|rg)?(vi|vim|view|ex|vimdiff|vimx)([.-].*)?$`)
})

// isVim reports whether a program is vim or neovim, whatever its name: on many systems vi and editor are. To find out,
// it runs only programs that have the name of one of them, or are a link to one.
func isVim(ctx context.Context, program string) bool {
	found, err := exec.LookPath(program)
	if err != nil {
		return false
	}
	names := []string{filepath.Base(found)}
	if real, err := filepath.EvalSymlinks(found); err == nil {
		names = append(names, filepath.Base(real))
	}
	if !slices.ContainsFunc(names, viNames().MatchString) {
		return false
	}
	const patience = 3 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, found, "--version") // which other vis refuse
	cmd.WaitDelay = time.Second
	said, _ := cmd.Output()
	return bytes.HasPrefix(said, []byte("VIM ")) || bytes.HasPrefix(said, []byte("NVIM "))
}

// A File is a text that is edited. It must be closed.
type File struct{ folder, path string }

// Write makes a file for this user alone. name is its base name, from which editors detect its kind.
func Write(name string, text []byte) (*File, error) {
	within := os.TempDir()
	if info, err := os.Stat(memory); err == nil && info.IsDir() {
		within = memory
	}
	folder, err := os.MkdirTemp(within, "ccm-push-secret-*")
	if err != nil {
		return nil, err
	}
	f := &File{folder, filepath.Join(folder, filepath.Base(name))}
	if err := os.WriteFile(f.path, text, 0o600); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Edit runs the editor on the file, and returns the edited text. The end of ctx ends the program.
func (f *File) Edit(ctx context.Context, e *Editor) ([]byte, error) {
	argv := e.command(ctx, f.path)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.Stdin, e.Stdout, e.Stderr
	cmd.Env = append(os.Environ(), "TMPDIR="+f.folder)                       // temporary files of the editor are wiped with it
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it may have to put the terminal in order
	cmd.WaitDelay = 2 * time.Second
	if err := cmd.Run(); err != nil {
		return nil, errors.Join(ctx.Err(), fmt.Errorf("%s: %v", argv[0], err)) // not wrapped: its exit status is not ours
	}
	return os.ReadFile(f.path)
}

// Close overwrites and removes the file, and all files that the editor has put next to it.
func (f *File) Close() error {
	entries, err := os.ReadDir(f.folder)
	for _, entry := range entries {
		if entry.Type().IsRegular() {
			err = errors.Join(err, wipe(filepath.Join(f.folder, entry.Name())))
		}
	}
	return errors.Join(err, os.RemoveAll(f.folder))
}

// wipe overwrites a file. On file systems that keep former versions of blocks it overwrites
// nothing, which is why the file is in memory where that can be had.
func wipe(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, info.Size()))
	return errors.Join(err, f.Sync())
}
