// Package private has a text edited in a place that is on no disk, where there is one, and that
// nobody else can read. Nothing of it is left.
package private

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// EditorOf is the program that the environment names, or vi.
func EditorOf(getenv func(string) string) (*Editor, error) {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		words, err := shellquote.Split(getenv(name))
		switch {
		case err != nil:
			return nil, fmt.Errorf("$%s is no command: %w", name, err)
		case len(words) > 0:
			return &Editor{argv: words}, nil
		}
	}
	return &Editor{argv: []string{"vi"}}, nil
}

// withoutTraces are arguments that have vim keep no copies of what it edits.
var withoutTraces = []string{"-n", "-i", "NONE", "-c", "set nobackup nowritebackup noundofile"}

func (e *Editor) command(path string) []string {
	argv := slices.Clone(e.argv)
	if slices.Contains([]string{"vim", "nvim"}, filepath.Base(argv[0])) {
		argv = append(argv, withoutTraces...)
	}
	return append(argv, path)
}

// A File is a text that is edited. It must be closed.
type File struct{ folder, path string }

// Write makes a file, for this user alone. name is what it is called, which editors judge its
// kind by.
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

// Edit has a person edit the file, and gives what it is then. The end of ctx ends the program.
func (f *File) Edit(ctx context.Context, e *Editor) ([]byte, error) {
	argv := e.command(f.path)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.Stdin, e.Stdout, e.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it may have to put the terminal in order
	cmd.WaitDelay = 2 * time.Second
	if err := cmd.Run(); err != nil {
		return nil, errors.Join(ctx.Err(), fmt.Errorf("%s: %v", argv[0], err)) // not wrapped: its exit status is not ours
	}
	return os.ReadFile(f.path)
}

// Close overwrites and removes the file, and all that the editor has put beside it.
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
