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
	rest := elements(name)
	at, links := "/", 0
	info = FileInfo{Kind: Directory}
	for len(rest) > 0 {
		next := path.Join(at, rest[0])
		rest = rest[1:]
		if info, err = files.Stat(next); err != nil {
			return info, err
		}
		if info.Kind != Symlink {
			if len(rest) > 0 && info.Kind != Directory {
				return info, &fs.PathError{Op: "stat", Path: name, Err: syscall.ENOTDIR}
			}
			at = next
			continue
		}
		if links++; links > maxLinks {
			return info, &fs.PathError{Op: "stat", Path: name, Err: syscall.ELOOP}
		}
		if path.IsAbs(info.Target) {
			at = "/"
		}
		rest = append(elements(info.Target), rest...)
	}
	return files.Stat(at)
}

func elements(name string) []string {
	return strings.FieldsFunc(name, func(r rune) bool { return r == '/' })
}
