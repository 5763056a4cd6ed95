package system

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ccm-push/ccm-push/modules"
)

// Within implements [modules.Confiner].
func (f *files) Within(dir string) modules.FileWriter {
	return &confined{files: &files{changed: f.changed, within: dir}}
}

// confined is a writer whose directories are all found in one that is held open:
// the os package follows no link out of it.
type confined struct{ *files }

// SetAttributes implements [modules.FileWriter]. The file must be one that the
// process may read.
func (c *confined) SetAttributes(ctx context.Context, path string, a modules.Attributes) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	dir, name, err := c.openParent(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	defer c.changed()
	file, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return at("set attributes of", path, err)
	}
	defer file.Close()
	info, err := unlinked(dir, name, file)
	if err == nil {
		err = setAttributes(&openFile{file, info}, a)
	}
	return at("set attributes of", path, err)
}

// unlinked describes an open file, unless name is that of a link: a Root follows
// links whatever the flags say.
func unlinked(dir *os.Root, name string, file *os.File) (fs.FileInfo, error) {
	named, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !os.SameFile(info, named) {
		err = syscall.ELOOP
	}
	return info, err
}

// openFile is an inode that is held by an ordinary descriptor.
type openFile struct {
	*os.File
	info fs.FileInfo
}

func (o *openFile) mode() (bits uint32, directory bool) {
	return uint32(o.info.Sys().(*syscall.Stat_t).Mode) & 0o7777, o.info.IsDir()
}

func (o *openFile) chown(uid, gid int) error { return o.Chown(uid, gid) }

func (o *openFile) chmod(mode uint32) error { return unix.Fchmod(int(o.Fd()), mode) }

// confinedParent opens the directory of path from the directory that a writer
// keeps to.
func confinedParent(within, path string) (dir *os.Root, name string, err error) {
	below, ok := strings.CutPrefix(path, strings.TrimSuffix(within, "/")+"/")
	if !ok {
		return nil, "", at("change", path, errNotWithin)
	}
	top, err := os.OpenRoot(within)
	if err != nil || filepath.Dir(below) == "." {
		return top, below, err
	}
	defer top.Close()
	dir, err = top.OpenRoot(filepath.Dir(below))
	return dir, filepath.Base(below), at("open the directory of", path, err)
}

var errNotWithin = errors.New("the path is not below the directory that is managed")
