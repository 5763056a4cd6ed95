package workers

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// folderPrefix begins the names of the folders in which workers keep the files of a run, opened, and keys.
const folderPrefix = "ccm-push-worker-"

// A folder is locked for the life of its process, so that another worker recognises the folder of a killed one.
type folder struct {
	path string
	held *os.File
}

// newFolder makes one below parent, "" being the system's folder for such, and removes what workers of this user have
// left there.
func newFolder(parent string) (*folder, error) {
	parent = cmp.Or(parent, os.TempDir())
	removeLeft(parent)
	for {
		path, err := os.MkdirTemp(parent, folderPrefix) // which has mode 0700
		if err != nil {
			return nil, err
		}
		held, err := holdFolder(path)
		if !errors.Is(err, os.ErrNotExist) { // otherwise another worker took it for a leftover
			return &folder{path, held}, err
		}
	}
}

// remove removes the folder and its contents.
func (f *folder) remove() error {
	defer f.held.Close()
	return os.RemoveAll(f.path)
}

// removeLeft removes the folders of this user below parent that no process holds.
func removeLeft(parent string) {
	folders, _ := ownFolders(parent)
	for _, path := range folders {
		if left, err := holdFolder(path); err == nil {
			_ = (&folder{path, left}).remove() // or the next worker does
		}
	}
}

// ownFolders returns the folders of runs below parent that belong to this user.
func ownFolders(parent string) (paths []string, err error) {
	entries, err := os.ReadDir(parent)
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.IsDir() && strings.HasPrefix(e.Name(), folderPrefix) && isOwn(info) {
			paths = append(paths, filepath.Join(parent, e.Name()))
		}
	}
	return paths, err
}

// holdFolder locks a folder that no other process holds; [os.ErrNotExist] reports that it was removed meanwhile.
func holdFolder(path string) (*os.File, error) {
	dir, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		_, err = os.Lstat(path)
	}
	if err != nil {
		dir.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) { // by a worker that removes it
			err = os.ErrNotExist
		}
		return nil, err
	}
	return dir, nil
}

func isOwn(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// Held returns the files that the workers of this user hold below parent; "" is the folder of the system.
func Held(parent string) (files []string, err error) {
	folders, err := ownFolders(cmp.Or(parent, os.TempDir()))
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				files = append(files, path)
			}
			return nil // the worker may remove it meanwhile
		})
	}
	return files, nil
}
