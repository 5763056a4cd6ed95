// Package repository reads the folder of someone else's playbooks: nothing outside of it, no device or
// pipe, and no more than the bounds below.
package repository

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// Limits for reading a folder.
const (
	MaxFile  = 16 << 20 // bytes of one file
	maxBytes = 1 << 30  // bytes of all files, with each reading counted
	maxNames = 200_000  // names of one listing
	maxDepth = 64       // folders below one another
)

// A Folder is an opened folder. Its methods take paths as [os] does; what is outside of it is not there.
type Folder struct {
	ctx      context.Context
	given    string // as it was given, which paths that are returned begin with
	absolute string
	real     string // absolute, without symbolic links
	root     *os.Root
	bytes    int64
	mode     fs.FileMode
	refused  func(path, why string)
	told     map[string]bool
}

// Open opens a folder. refused is called once for each path that is not read although it is there.
// The end of ctx ends all reading.
func Open(ctx context.Context, folder string, refused func(path, why string)) (*Folder, error) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(absolute)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, err
	}
	return &Folder{ctx: ctx, given: folder, absolute: absolute, real: real, root: root, mode: 0o666, refused: refused, told: map[string]bool{}}, nil
}

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

// Mode returns the permissions of the least readable file that was read so far: what is made of all of
// them can have no more.
func (f *Folder) Mode() fs.FileMode { return f.mode | 0o600 }

var errOutside = errors.New("is outside of the folder that is converted, or a link leads out of it")

// below returns the slash-separated path of name below the folder.
func (f *Folder) below(name string) (string, error) {
	absolute, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	for _, base := range []string{f.absolute, f.real} {
		if rel, err := filepath.Rel(base, absolute); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), nil
		}
	}
	return "", errOutside
}

// path returns the path of a name below the folder, for the os package.
func (f *Folder) path(below string) string { return filepath.Join(f.given, filepath.FromSlash(below)) }

// refuse reports that a path is not read.
func (f *Folder) refuse(name string, err error) error {
	if err := f.ctx.Err(); err != nil {
		return context.Cause(f.ctx)
	}
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathError.Err
		if err.Error() == "path escapes from parent" { // which os does not export
			err = errOutside
		}
	}
	if !f.told[name] && !errors.Is(err, fs.ErrNotExist) {
		f.told[name] = true
		f.refused(name, err.Error()+", so it was not read")
	}
	return err
}

func (f *Folder) stat(name string) (fs.FileInfo, error) {
	below, err := f.below(name)
	if err != nil {
		// Only what a stranger's text names is worth telling; places that are tried are not.
		return nil, err
	}
	if err := f.ctx.Err(); err != nil {
		return nil, context.Cause(f.ctx)
	}
	info, err := f.root.Stat(below)
	if err != nil {
		return nil, f.refuse(name, err)
	}
	return info, nil
}

// IsFolder reports whether a path is a folder.
func (f *Folder) IsFolder(name string) bool {
	info, err := f.stat(name)
	return err == nil && info.IsDir()
}

// IsFile reports whether a path is a file.
func (f *Folder) IsFile(name string) bool {
	info, err := f.stat(name)
	return err == nil && info.Mode().IsRegular()
}

// YAMLFile finds a file with one of the endings of YAML, or as it is called; "" if there is none.
func (f *Folder) YAMLFile(name string) string {
	for _, ending := range []string{"", ".yml", ".yaml", ".json"} {
		if f.IsFile(name + ending) {
			return name + ending
		}
	}
	return ""
}

// ReadFile reads a regular file of at most [MaxFile] bytes.
func (f *Folder) ReadFile(name string) ([]byte, error) {
	text, mode, err := f.read(name)
	if err == nil {
		f.mode &= mode
	}
	return text, err
}

// Copy reads a file that is written again as it is, with its permissions.
func (f *Folder) Copy(name string) ([]byte, fs.FileMode, error) { return f.read(name) }

func (f *Folder) read(name string) ([]byte, fs.FileMode, error) {
	below, err := f.below(name)
	if err != nil {
		return nil, 0, f.refuse(name, err)
	}
	info, err := f.stat(name)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, f.refuse(name, errors.New("is not a regular file"))
	}
	file, err := f.root.OpenFile(below, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have become a pipe
	if err != nil {
		return nil, 0, f.refuse(name, err)
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, 0, f.refuse(name, errors.New("is not a regular file"))
	}
	if info.Size() > MaxFile {
		return nil, 0, f.refuse(name, fmt.Errorf("is larger than %d MiB", MaxFile>>20))
	}
	text, err := io.ReadAll(io.LimitReader(file, MaxFile+1))
	if f.bytes += int64(len(text)); err == nil && len(text) > MaxFile {
		err = fmt.Errorf("is larger than %d MiB", MaxFile>>20)
	}
	if err == nil && f.bytes > maxBytes {
		err = fmt.Errorf("was not read, since more than %d MiB have been read already", maxBytes>>20)
	}
	if err != nil {
		return nil, 0, f.refuse(name, err)
	}
	return text, info.Mode().Perm(), nil
}

// Files returns the sorted paths of everything below a folder except folders. It does not follow
// links to folders.
func (f *Folder) Files(folder string) (list []string) {
	top, err := f.below(folder)
	if err != nil {
		return nil
	}
	names := 0
	err = fs.WalkDir(f.root.FS(), top, func(name string, d fs.DirEntry, err error) error {
		if f.ctx.Err() != nil {
			return context.Cause(f.ctx)
		}
		if err != nil {
			return nil // what cannot be read fails where it is used
		}
		if names++; names > maxNames {
			return fmt.Errorf("has more than %d names", maxNames)
		}
		if d.IsDir() && strings.Count(name, "/") > maxDepth {
			f.refuse(f.path(name), fmt.Errorf("is more than %d folders deep", maxDepth))
			return fs.SkipDir
		}
		if !d.IsDir() {
			list = append(list, f.path(name))
		}
		return nil
	})
	if err != nil {
		f.refuse(folder, err)
	}
	return list
}

// Glob returns the paths that a pattern matches, as [filepath.Glob] does.
func (f *Folder) Glob(pattern string) (list []string) {
	below, err := f.below(pattern)
	if err != nil {
		return nil
	}
	found, _ := fs.Glob(f.root.FS(), path.Clean(below))
	for _, name := range found {
		list = append(list, f.path(name))
	}
	return list
}

// Real returns the path without symbolic links, as far as these stay within the folder.
func (f *Folder) Real(name string) string {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return name
	}
	below, err := f.below(real)
	if err != nil {
		return name
	}
	return f.path(below)
}
