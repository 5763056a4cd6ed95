package process

import (
	"errors"
	"io"
	"path"

	"github.com/ccm-push/ccm-push/modules"
)

// Find gives the path of a program, which is the first executable file of that name in
// one of the directories; "" if there is none. A name that is a path is looked for there.
func Find(files modules.FileReader, dirs []string, name string) string {
	if path.IsAbs(name) {
		dirs = []string{"/"}
	}
	for _, dir := range dirs {
		file := path.Join(dir, name)
		info, err := modules.Follow(files, file)
		if err == nil && info.Kind == modules.Regular && info.Mode&0o111 != 0 {
			return file
		}
	}
	return ""
}

// Safe reports a path at which others can put something, if uid is root's: root would run
// it. Other users may trust whom they like.
func Safe(files modules.FileReader, uid int, name string) error {
	if uid != 0 {
		return nil
	}
	return modules.OthersMayChange(files, name, uid)
}

// ErrTooLong says that there is more to read than was asked for.
var ErrTooLong = errors.New("it is too long")

// ReadText reads the first most bytes of a file. The error of a longer one is
// [ErrTooLong], and its beginning is there.
func ReadText(files modules.FileReader, name string, most int) (string, error) {
	r, err := files.Open(name)
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := ReadAtMost(r, most)
	return string(text), err
}

// ReadAtMost is [ReadText] of what is open.
func ReadAtMost(r io.Reader, most int) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err == nil && len(text) > most {
		return text[:most], ErrTooLong
	}
	return text, err
}
