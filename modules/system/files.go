package system

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/rooted"
)

// files implements [modules.FileReader] and [modules.FileWriter].
type files struct {
	digests   digests
	changed   func() // called after every change
	within    string // directory that contains all changes; empty means none
	sweptDirs *sweptDirs
}

// Stat implements [modules.FileReader].
func (f *files) Stat(path string) (modules.FileInfo, error) {
	if err := checkPath(path); err != nil {
		return modules.FileInfo{}, err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return modules.FileInfo{}, err
	}
	described := describe(info)
	if described.Kind == modules.Symlink {
		described.Target, err = os.Readlink(path)
		if errors.Is(err, syscall.EINVAL) { // it has just been exchanged
			return f.Stat(path)
		}
	}
	return described, err
}

// describe translates what lstat found. A link's target is not in it.
func describe(info fs.FileInfo) modules.FileInfo {
	st := info.Sys().(*syscall.Stat_t)
	described := modules.FileInfo{
		Kind: kind(info.Mode()),
		Mode: info.Mode() & (fs.ModePerm | modules.SpecialBits),
		UID:  int(st.Uid),
		GID:  int(st.Gid),
	}
	if described.Kind == modules.Regular {
		described.Size = info.Size()
		described.Links = int(st.Nlink)
	}
	return described
}

func kind(mode fs.FileMode) modules.FileKind {
	switch mode.Type() {
	case 0:
		return modules.Regular
	case fs.ModeDir:
		return modules.Directory
	case fs.ModeSymlink:
		return modules.Symlink
	}
	return modules.Special
}

// xattrs is Xattrs of [modules.Files].
func xattrs(path string, is modules.FileInfo) ([]string, error) {
	all, err := xattrsIn(unix.AT_FDCWD, path, is)
	return all, at("read attributes of", path, err)
}

// xattrsIn returns the extended attributes of a name in a directory; is describes it.
func xattrsIn(dir int, name string, is modules.FileInfo) ([]string, error) {
	node, err := openInode(dir, name)
	if err != nil {
		return nil, err
	}
	defer node.close()
	now := rooted.Describe(&node.stat)
	if now.Kind != is.Kind || now.UID != is.UID || now.GID != is.GID || now.Mode != is.Mode {
		return nil, errExchanged
	}
	return node.xattrs()
}

// Open implements [modules.FileReader].
func (f *files) Open(path string) (io.ReadCloser, error) { return openRegular(path) }

// openRegular refuses all but regular files: reading a pipe or a device could wait for ever or have effects.
func openRegular(path string) (*os.File, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	file, err := rooted.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errNotRegular}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

var errNotRegular = errors.New("not a regular file")

// List implements [modules.FileReader].
func (f *files) List(path string) ([]string, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	// Without O_NONBLOCK, opening a named pipe that was just put there would wait.
	dir, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

func checkPath(path string) error {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return fmt.Errorf("path %q is not absolute and clean", path)
	}
	return nil
}

// OpenDirectory implements [modules.DirectoryOpener].
func (f *files) OpenDirectory(path string) (*os.Root, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	f.changed() // the caller may write anything
	return rooted.Directory(path)
}

// ModTime implements [modules.FileReader].
func (f *files) ModTime(path string) (time.Time, error) {
	if err := checkPath(path); err != nil {
		return time.Time{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}
