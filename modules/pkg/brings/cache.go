package brings

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Limits in bytes: of the folder, in which the oldest files go first, and of one file.
const (
	maxCache = 8 << 20
	maxKept  = maxHeader + maxHead
)

// A Cache is a folder with the begins of package files, each named by [File.key]. Only this user can
// read and change them.
type Cache struct {
	dir string
	mu  sync.Mutex
}

var errFolder = errors.New("the folder for parts of packages is not safe")

// Parts returns the folder of the cache below the private folder of a host program.
func Parts(private string) string { return filepath.Join(private, "packages", "parts") }

// OpenParts returns the cache at [Parts], and creates the folder.
func OpenParts(private string) (*Cache, error) { return OpenCache(private, "packages", "parts") }

// OpenCache returns the cache in a folder, and makes it. parent must exist; folders below it are made, too.
func OpenCache(parent string, names ...string) (*Cache, error) {
	dir := parent
	for n := 0; ; n++ {
		info, err := os.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			if err = os.Mkdir(dir, 0o700); err == nil || errors.Is(err, fs.ErrExist) {
				info, err = os.Lstat(dir)
			}
		}
		if err != nil {
			return nil, err
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !info.IsDir() || !ok || int(stat.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
			return nil, errFolder
		}
		if n == len(names) {
			return &Cache{dir: dir}, nil
		}
		dir = filepath.Join(dir, names[n])
	}
}

// Dir is the path of the folder.
func (c *Cache) Dir() string { return c.dir }

func (c *Cache) path(name string) string { return filepath.Join(c.dir, name) }

// read returns the kept begin of a file; empty if the folder does not have it.
func (c *Cache) read(name string) []byte {
	file, err := os.OpenFile(c.path(name), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxKept+1))
	if err != nil || len(data) > maxKept {
		return nil
	}
	return data
}

// Keep keeps the begin of a file.
func (c *Cache) Keep(name string, data []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.shrink(maxCache - int64(len(data))); err != nil {
		return err
	}
	file, err := os.CreateTemp(c.dir, ".new-")
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), c.path(name))
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}

// shrink removes the oldest files until the others have at most so many bytes. It keeps a file that another process
// writes.
func (c *Cache) shrink(most int64) error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	var infos []fs.FileInfo
	var size int64
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			infos = append(infos, info)
			size += info.Size()
		}
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int { return cmp.Compare(a.ModTime().UnixNano(), b.ModTime().UnixNano()) })
	for _, info := range infos {
		if size <= most {
			break
		}
		if name := info.Name(); name[0] != '.' || time.Since(info.ModTime()) > time.Minute {
			if err := os.Remove(filepath.Join(c.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			size -= info.Size()
		}
	}
	return nil
}
