package system

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// digests remembers the SHA-256 of files, so that a second look at an unchanged
// file costs one stat.
type digests struct {
	now func() time.Time

	mu    sync.Mutex
	known map[string]digest
}

type digest struct {
	of  version
	hex string
}

// A version identifies one state of a file.
type version struct {
	dev, inode   uint64
	size         int64
	mtime, ctime int64 // Unix time in ns
}

func versionOf(st *unix.Stat_t) version {
	return version{
		dev:   uint64(st.Dev),
		inode: uint64(st.Ino),
		size:  st.Size,
		mtime: st.Mtim.Nano(),
		ctime: st.Ctim.Nano(),
	}
}

// quiet is the age of the last change at which a digest may be kept. Two changes within one tick of a file system's
// clock look the same; the coarsest clock in use (FAT) ticks every two seconds.
const quiet = 2 * time.Second

// readBuffers are for reading files: a catalog may have thousands of small ones.
var readBuffers = sync.Pool{New: func() any {
	b := make([]byte, 32<<10)
	return &b
}}

// Digest implements [modules.FileReader].
func (f *files) Digest(path string) (string, error) { return f.digests.of(path) }

func (d *digests) of(path string) (string, error) {
	if sum, ok := d.recall(path); ok {
		return sum, nil
	}
	file, err := openRegular(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	before, began := new(unix.Stat_t), d.now()
	if err := unix.Fstat(int(file.Fd()), before); err != nil {
		return "", &fs.PathError{Op: "fstat", Path: path, Err: err}
	}
	hash, buffer := sha256.New(), readBuffers.Get().(*[]byte)
	defer readBuffers.Put(buffer)
	// Without its own WriteTo, which would allocate a buffer of its own per file.
	if _, err := io.CopyBuffer(hash, struct{ io.Reader }{file}, *buffer); err != nil {
		return "", err
	}
	sum := hex.EncodeToString(hash.Sum(nil))
	d.remember(path, digest{versionOf(before), sum}, began)
	return sum, nil
}

func (d *digests) recall(path string) (string, bool) {
	var st unix.Stat_t
	if checkPath(path) != nil || unix.Stat(path, &st) != nil {
		return "", false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	known, ok := d.known[path]
	return known.hex, ok && known.of == versionOf(&st)
}

// remember keeps a digest whose reading began at the given time. The version is
// that before the reading, so a change during it makes the digest useless but
// never wrong.
func (d *digests) remember(path string, known digest, began time.Time) {
	if began.Sub(time.Unix(0, known.of.ctime)) < quiet {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil {
		d.known = map[string]digest{}
	}
	d.known[path] = known
}
