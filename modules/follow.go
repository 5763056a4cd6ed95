package modules

import (
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// maxLinks is how many symbolic links one path may lead through, as in Linux.
const maxLinks = 40

// Follow describes what name leads to, through however many symbolic links. A
// link that leads nowhere gives fs.ErrNotExist, a circle syscall.ELOOP. It asks
// for single paths only, so that it sees what is foreseen in a check run.
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

// Resolve gives the path without symbolic links that name leads to, and the
// links that it passed, each by such a path too. Its errors are those of
// [Follow].
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
