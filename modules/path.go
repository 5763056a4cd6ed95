package modules

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// ValidatePath holds the value of a property against what [Files] takes: absolute
// and clean. The error is a [PropertyError]; an empty value is for others to
// report.
func ValidatePath(property, value string) error {
	switch {
	case value == "":
		return nil
	case strings.ContainsRune(value, 0):
		return Errorf(property, "file path must not contain a NUL byte")
	case path.Clean(value) != value:
		return &PropertyError{Path: property, Msg: "file path must be canonical", Hint: "write " + path.Clean(value)}
	case !path.IsAbs(value):
		return Errorf(property, "file path must be absolute")
	}
	return nil
}

// NotThere reports whether an error means that there is nothing at a path.
func NotThere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// InDirectory refuses a name whose directory is not there or is something else,
// links followed: nothing can be made at that name.
func InDirectory(files FileReader, name string) error {
	dir := path.Dir(name)
	info, err := Follow(files, dir)
	switch {
	case err != nil:
		return NoDirectory(files, dir, err)
	case info.Kind != Directory:
		return Refuse("%q is not a directory", dir)
	}
	return nil
}

// NoDirectory says what to do about an error of [Follow] on a path where a directory
// should be. One that does not mean that nothing is there is returned as it is.
func NoDirectory(files FileReader, dir string, err error) error {
	if !NotThere(err) {
		return err
	}
	for at := dir; ; at = path.Dir(at) {
		info, err := files.Stat(at)
		leads, followed := Follow(files, at)
		switch {
		case err == nil && info.Kind == Symlink && NotThere(followed):
			return Refuse("%q is a link to nothing; make what it leads to, or correct the link", at)
		case followed == nil && leads.Kind != Directory:
			return Refuse("%q is not a directory", at)
		case followed == nil || at == "/" || !NotThere(followed):
			return Refuse("%q is not a directory: it does not exist (make it with a file resource, ensure: directory)", dir)
		}
	}
}
