package brings

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/url"
	"os"
	"path"
	"strconv"
	"sync"
	"time"
)

// Limits of the downloads of one check of a resource.
const (
	maxPackages = 200       // packages that are looked into
	maxControls = 4 << 20   // bytes for control data
	maxData     = 3 << 19   // bytes for files: 1.5 MiB
	maxControl  = 256 << 10 // bytes up to the end of the control data of one package
	maxHead     = 512 << 10 // bytes of one package
	firstPart   = 16 << 10  // bytes of the first request for a package
	smallWhole  = 128 << 10 // size in bytes up to which a package is fetched whole, if its files are needed at all
	atOnce      = 8
	fetchTime   = 5 * time.Second
)

// Fetcher gets the begin of package files: from the folders of the package manager, or by requests for a part. It
// keeps downloaded parts in the folder of the cache.
type Fetcher struct {
	// Proxy returns the proxy for a URI of a file; nil means none.
	Proxy    func(file File, u *url.URL) (*url.URL, error)
	Archives string            // folder with whole package files, which belongs to the manager
	Password func(string) bool // reports whether a host needs a password
	Cache    *Cache

	mu   sync.Mutex
	left int64 // bytes that may be fetched
	// modified has the times at which servers last modified package files, by URI.
	modified map[string]time.Time
}

var (
	errTooMuch = errors.New("more would have to be fetched than a check may fetch")
)

// take reserves bytes.
func (f *Fetcher) take(n int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n > f.left {
		return false
	}
	f.left -= n
	return true
}

func (f *Fetcher) allow(n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left = n
}

// part is a package file, or the begin of one, on this host.
type part struct {
	path string
	have int64 // bytes of it
}

// get returns a file with at least the first most bytes of a package, or all of it.
func (f *Fetcher) get(ctx context.Context, file File, most int64) (part, error) {
	most = min(most, file.Size)
	if whole := path.Join(f.Archives, file.Name); f.Archives != "" && sizeOf(whole) == file.Size {
		return part{whole, file.Size}, nil
	}
	u, err := url.Parse(file.URI)
	if err != nil || u.User != nil {
		return part{}, errSettings
	}
	switch u.Scheme {
	case "file", "copy":
		if sizeOf(u.Path) != file.Size {
			return part{}, os.ErrNotExist
		}
		return part{u.Path, file.Size}, nil
	case "http", "https":
	default:
		return part{}, errSettings
	}
	key := file.key()
	have := f.Cache.read(key)
	if int64(len(have)) >= most {
		return part{f.Cache.path(key), int64(len(have))}, nil
	}
	if f.Password(u.Hostname()) {
		return part{}, errSettings
	}
	if !f.take(most - int64(len(have))) {
		return part{}, errTooMuch
	}
	more, err := f.request(ctx, file, int64(len(have)), most)
	if err != nil {
		return part{}, err
	}
	have = append(have, more...)
	if sum := sha256.Sum256(have); int64(len(have)) == file.Size && file.SHA256 != "" && hex.EncodeToString(sum[:]) != file.SHA256 {
		return part{}, errProtocol
	}
	return part{f.Cache.path(key), int64(len(have))}, errors.Join(f.Cache.Keep(key, have), f.keepOrigin(file))
}

// key returns the name of the file in a cache: its SHA-256, or else the SHA-256 of its URI, size and time of build.
func (file File) key() string {
	if file.SHA256 != "" {
		return file.SHA256
	}
	sum := sha256.Sum256([]byte(file.URI + "\x00" + strconv.FormatInt(file.Size, 10) + "\x00" + file.Built))
	return hex.EncodeToString(sum[:])
}

func sizeOf(name string) int64 {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return -1
	}
	return info.Size()
}

// head reads the first bytes of a part.
func (p part) head(most int64) ([]byte, error) {
	file, err := os.Open(p.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, most))
}

// control gets a package up to the end of its control data.
func (f *Fetcher) control(ctx context.Context, file File) (part, error) {
	p, err := f.get(ctx, file, firstPart)
	if err != nil {
		return p, err
	}
	head, err := p.head(firstPart)
	if err != nil {
		return p, err
	}
	end, err := ControlEnd(head)
	switch {
	case err != nil:
		return p, err
	case end == 0 || end > file.Size:
		return p, errArchive
	case end > maxControl:
		return p, errTooMuch
	}
	return f.get(ctx, file, end)
}
