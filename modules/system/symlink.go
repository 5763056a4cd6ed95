package system

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/ccm-push/ccm-push/modules/rooted"
)

// Symlink implements [modules.FileWriter]: a link under a temporary name is
// renamed over path.
func (f *files) Symlink(ctx context.Context, path, target string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	dir, name, err := f.openParent(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	defer f.changed()
	if info, err := dir.Lstat(name); err == nil && info.IsDir() {
		return at("link", path, syscall.EISDIR)
	}
	f.sweptDirs.sweep(dir)
	temp, err := tempLink(dir, name, target)
	if err == nil {
		if err = dir.Rename(temp, name); err != nil {
			err = errors.Join(rooted.Cause(err), rooted.Cause(dir.Remove(temp)))
		}
	}
	if err != nil {
		return at("link", path, err)
	}
	return at("sync the directory of", path, rooted.SyncDir(dir))
}

// tempLink makes a link under a name that nothing has.
func tempLink(dir *os.Root, name, target string) (string, error) {
	for {
		temp := rooted.TempName(name)
		if err := dir.Symlink(target, temp); !errors.Is(err, fs.ErrExist) {
			return temp, err
		}
	}
}
