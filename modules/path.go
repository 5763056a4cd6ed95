package modules

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// Inside reports whether a clean path is dir or below it.
func Inside(name, dir string) bool {
	return name == dir || dir == "/" || strings.HasPrefix(name, dir+"/")
}

// NotThere reports whether an error means that a path does not exist.
func NotThere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// InDirectory refuses a name whose directory is not there or is something else,
// links followed: nothing can be made at that name.
func InDirectory(files FileReader, name string) error {
	dir := path.Dir(name)
	if f, ok := files.(Files); ok {
		files = f.Knowing(KindOnly)
	}
	info, err := Follow(files, dir)
	switch {
	case err != nil:
		return NoDirectory(files, dir, err)
	case info.Kind != Directory:
		return Refuse("%q is not a directory", dir)
	}
	return nil
}

// NoDirectory adds the next step to an error of [Follow] on the path of a directory. It returns an error unchanged
// unless it means that the path does not exist.
func NoDirectory(files FileReader, dir string, err error) error {
	if !NotThere(err) {
		return err
	}
	for at := dir; ; at = path.Dir(at) {
		info, err := files.Stat(at)
		leads, followed := Follow(files, at)
		switch {
		case err == nil && info.Kind == Symlink && NotThere(followed):
			return Refuse("%q is a link to a missing path; create the target, or correct the link", at)
		case followed == nil && leads.Kind != Directory:
			return Refuse("%q is not a directory", at)
		case followed == nil || at == "/" || !NotThere(followed):
			return Refuse("the directory %q does not exist (create it with a file resource that has ensure: directory)", dir)
		}
	}
}

// maxLinks is the number of symbolic links that one path may pass, as in Linux.
const maxLinks = 40

// Follow describes the target of name, through any number of symbolic links. The error is fs.ErrNotExist if a link has
// no target, and syscall.ELOOP for a circle. It reads single paths only, so that it sees predictions in a check run.
func Follow(files FileReader, name string) (FileInfo, error) {
	info, err := files.Stat(name)
	if err != nil || info.Kind != Symlink {
		return info, err
	}
	at, _, err := Resolve(files, name)
	if err != nil {
		return FileInfo{}, err
	}
	return files.Stat(at)
}

// Resolve returns the target of name as a path without symbolic links. passed has the links on the way, also by such
// paths. The errors are the same as of [Follow].
func Resolve(files FileReader, name string) (at string, passed []string, err error) {
	rest := elements(name)
	at = "/"
	for len(rest) > 0 {
		next := path.Join(at, rest[0])
		rest = rest[1:]
		info, err := files.Stat(next)
		if err != nil {
			return "", passed, err
		}
		if info.Kind != Symlink {
			if len(rest) > 0 && info.Kind != Directory {
				return "", passed, &fs.PathError{Op: "stat", Path: name, Err: syscall.ENOTDIR}
			}
			at = next
			continue
		}
		if passed = append(passed, next); len(passed) > maxLinks {
			return "", passed, &fs.PathError{Op: "stat", Path: name, Err: syscall.ELOOP}
		}
		if path.IsAbs(info.Target) {
			at = "/"
		}
		rest = append(elements(info.Target), rest...)
	}
	return at, passed, nil
}

func elements(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return r == '/' })
}
