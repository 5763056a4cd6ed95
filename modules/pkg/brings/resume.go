package brings

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// originOf is the suffix of a file of a cache that describes another one: the time at which the server last modified the
// package file, in seconds since 1970, the size of the whole file in bytes, and its name.
const originOf = ".origin"

// keepOrigin notes the origin of a kept begin, so that the package manager can continue its download.
func (f *Fetcher) keepOrigin(file File) error {
	f.mu.Lock()
	modified := f.modified[file.URI]
	f.mu.Unlock()
	if modified.IsZero() || !plainName(file.Name) {
		return nil
	}
	return f.Cache.Keep(file.key()+originOf, fmt.Appendf(nil, "%d %d %s\n", modified.Unix(), file.Size, file.Name))
}

// plainName reports whether a name is one of a package file, without a folder.
func plainName(name string) bool {
	return strings.HasSuffix(name, ".deb") && len(name) < 256 && name[0] != '.' && !strings.ContainsAny(name, "/ \n\x00")
}

// Resume copies the kept begins of package files into partial, the folder in which apt continues interrupted downloads: apt
// requests only the rest, and verifies the whole. The function that Resume returns removes the copies that apt did not use.
func (c *Cache) Resume(partial string) (remove func()) {
	var copied []string
	root, err := os.OpenRoot(partial)
	if err != nil { // apt has no such folder
		return func() {}
	}
	entries, _ := os.ReadDir(c.dir)
	for _, e := range entries {
		key, ok := strings.CutSuffix(e.Name(), originOf)
		if !ok {
			continue
		}
		if name, err := c.resume(root, key); err == nil {
			copied = append(copied, name)
		}
	}
	return func() {
		defer root.Close()
		for _, name := range copied {
			_ = root.Remove(name)
		}
	}
}

var errOrigin = errors.New("the origin of the file is not known")

// resume copies one begin.
func (c *Cache) resume(root *os.Root, key string) (name string, err error) {
	var modified, size int64
	if n, err := fmt.Sscanf(string(c.read(key+originOf)), "%d %d %s\n", &modified, &size, &name); n != 3 || err != nil || size < 1 || !plainName(name) {
		return "", errOrigin
	}
	data := c.read(key)
	if data = data[:min(int64(len(data)), size-1)]; len(data) == 0 { // apt must request at least one byte
		return "", errOrigin
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close(), root.Chtimes(name, time.Unix(modified, 0), time.Unix(modified, 0))); err != nil {
		return "", errors.Join(err, root.Remove(name))
	}
	return name, nil
}
