package gather

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"unicode/utf8"

	"github.com/ccm-push/ccm-push/facts"
)

const (
	// MaxCustomFile bounds one file of custom facts: 256 KiB.
	MaxCustomFile = 256 << 10
	// MaxCustomFiles bounds their number.
	MaxCustomFiles = 64
)

// Dirs lists the directories in which CCM looks for custom facts: the system's and, below userConfig (see
// os.UserConfigDir), the user's. An empty userConfig omits the latter.
func Dirs(userConfig string) []string {
	dirs := []string{"/etc/choria/ccm"}
	if userConfig != "" {
		dirs = append(dirs, filepath.Join(userConfig, "choria/ccm"))
	}
	return dirs
}

// custom has the custom facts that were read.
type custom struct {
	files   []facts.CustomFile
	partial []string // omitted files, with the reasons
}

// readCustom reads the files in the order in which they are merged. It does not parse their text: the receiver of the
// facts does.
func readCustom(dirs []string) custom {
	var c custom
	for _, dir := range dirs {
		paths := []string{filepath.Join(dir, "facts.json"), filepath.Join(dir, "facts.yaml")}
		for _, path := range append(paths, factsIn(filepath.Join(dir, "facts.d"))...) {
			c.add(path)
		}
	}
	return c
}

// factsIn lists the fact files of a directory by name.
func factsIn(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // usually the directory is missing
	}
	var paths []string
	for _, e := range entries {
		if slices.Contains([]string{".json", ".yaml"}, filepath.Ext(e.Name())) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths
}

// add reads one file. A path that does not exist, or is a symbolic link or not a regular file, is ignored; unusable
// files are listed in partial.
func (c *custom) add(path string) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	if len(c.files) == MaxCustomFiles {
		c.partial = append(c.partial, fmt.Sprintf("%s: skipped, because there are more than %d files", path, MaxCustomFiles))
		return
	}
	text, err := readBounded(path)
	if err != nil {
		c.partial = append(c.partial, fmt.Sprintf("%s: %v", path, err))
		return
	}
	c.files = append(c.files, facts.CustomFile{Path: path, Text: text})
}

func readBounded(path string) (string, error) {
	// The file may have become a link or a pipe since the check.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", reason(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, MaxCustomFile+1))
	switch {
	case err != nil:
		return "", reason(err)
	case len(text) > MaxCustomFile:
		return "", fmt.Errorf("larger than %d bytes", MaxCustomFile)
	case !utf8.Valid(text):
		return "", fmt.Errorf("not UTF-8 text")
	}
	return string(text), nil
}

// reason returns an error without its path, which is printed next to it.
func reason(err error) error {
	if p, ok := err.(*fs.PathError); ok {
		return p.Err
	}
	return err
}
