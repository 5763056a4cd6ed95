package source

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Bounds of a download.
const (
	maxDownload  = 64 << 20 // bytes
	downloadTime = time.Minute
)

// An Unpacker unpacks archives that contain nested manifests, into its own folders, which exist until Close.
type Unpacker struct {
	Transport   http.RoundTripper // nil is http.DefaultTransport
	Temp        string            // where the folders are made; "" is the system's place
	Objects     Objects           // archives in buckets of NATS; nil has none
	MaxDownload int64             // bytes of an archive that is downloaded; 0 is 64 MiB
	Before      []Unpacked        // elsewhere, by another one
	Warn        func(string)      // reports objects without a checksum; may be nil

	mu      sync.Mutex
	folders []string
	done    []doneArchive
}

// An Unpacked is an archive that was unpacked, and compared with its checksum.
type Unpacked struct {
	Name     string `json:"name"` // an absolute path, or a URL without secrets
	Checksum string `json:"checksum,omitempty"`
	Folder   string `json:"folder"`
}

type doneArchive struct {
	Unpacked
	archive Archive
}

// Unpacked are the archives that were unpacked. The error is that two of them are called the same.
func (u *Unpacker) Unpacked() (list []Unpacked, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	known := map[[2]string]Archive{}
	for _, one := range u.done {
		key := [2]string{one.Name, one.Checksum}
		switch before, met := known[key]; {
		case !met:
			known[key] = one.archive
			list = append(list, one.Unpacked)
		case !before.same(one.archive):
			return nil, fmt.Errorf("two archives have the URL %s, with different users or query strings: rename one of them", one.Name)
		}
	}
	return list, nil
}

// Close removes the unpacked folders.
func (u *Unpacker) Close() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	var errs []error
	for _, folder := range u.folders {
		errs = append(errs, os.RemoveAll(folder))
	}
	u.folders = nil
	return errors.Join(errs...)
}

func (u *Unpacker) folder() (string, error) {
	folder, err := os.MkdirTemp(u.Temp, "ccm-push-*")
	if err == nil {
		u.mu.Lock()
		u.folders = append(u.folders, folder)
		u.mu.Unlock()
	}
	return folder, err
}

// An Archive is the place of an archive, and its checksum.
type Archive struct {
	Path     string     // if Page and Object are nil
	Page     *Page      // where it is downloaded from
	Object   *BucketKey // where it is in NATS
	Checksum string     // its SHA-256 in lower case hexadecimal digits; "" if it is not known
}

// name returns the archive's name in errors.
func (s Archive) name() string {
	switch {
	case s.Page != nil:
		return s.Page.String()
	case s.Object != nil:
		return s.Object.String()
	}
	return s.Path
}

// full is its name as an absolute path, or the URL.
func (s Archive) full() (string, error) {
	if s.Page != nil || s.Object != nil {
		return s.name(), nil
	}
	return filepath.Abs(s.Path)
}

// same reports whether two archives of the same name are the same one.
func (s Archive) same(other Archive) bool {
	if s.Page == nil || other.Page == nil {
		return true
	}
	return s.Page.url.String() == other.Page.url.String() && s.Page.user.String() == other.Page.user.String()
}

// A ChecksumError is the error of an archive that has another checksum than required.
type ChecksumError struct{ Name, Got, Want string }

func (e *ChecksumError) Error() string {
	return fmt.Sprintf("%s has the checksum %s, not %s", e.Name, e.Got, e.Want)
}

// Unpack returns a new folder with the contents of an archive, manifest.yaml at its top. If ctx ends, a download ends.
// The error is a [*ChecksumError] if the checksum does not match.
func (u *Unpacker) Unpack(ctx context.Context, s Archive) (folder string, err error) {
	name, err := s.full()
	if err != nil {
		return "", err
	}
	for _, one := range u.Before {
		if one.Name == name && one.Checksum == s.Checksum {
			return one.Folder, nil
		}
	}
	if folder, err = u.folder(); err != nil {
		return "", err
	}
	packed, err := u.open(ctx, s, folder)
	if err != nil {
		return "", err
	}
	defer packed.Close()
	if err := u.verify(s, packed); err != nil {
		return "", err
	}
	if err := unpackAll(packed, s.name(), folder); err != nil {
		return "", err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.done = append(u.done, doneArchive{Unpacked{name, s.Checksum, folder}, s})
	return folder, nil
}

// open opens the archive. A downloaded archive is an unlinked file.
func (u *Unpacker) open(ctx context.Context, s Archive, folder string) (*os.File, error) {
	if s.Page == nil && s.Object == nil {
		// Without O_NONBLOCK, opening a named pipe would wait for a writer.
		f, err := os.OpenFile(s.Path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("unknown manifest %s", s.Path)
		}
		if err != nil {
			return nil, fmt.Errorf("reading a manifest: %w", err)
		}
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			f.Close()
			return nil, fmt.Errorf("%s: is not a regular file", s.Path)
		}
		return f, nil
	}
	f, err := os.CreateTemp(folder, "download-*")
	if err != nil {
		return nil, err
	}
	err = os.Remove(f.Name())
	if err == nil {
		err = u.download(ctx, s, f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (u *Unpacker) download(ctx context.Context, s Archive, w io.Writer) error {
	most := cmp.Or(u.MaxDownload, maxDownload)
	if s.Object != nil {
		return s.Object.copyTo(ctx, u.Objects, s.Checksum != "", most, w)
	}
	transport := u.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	return s.Page.CopyTo(ctx, transport, PageLimits{Time: downloadTime, Bytes: most}, w)
}

// verify compares an archive with its checksum before it is unpacked. An object without a checksum is reported.
func (u *Unpacker) verify(s Archive, packed *os.File) error {
	if s.Checksum == "" && (s.Object == nil || u.Warn == nil) {
		_, err := packed.Seek(0, io.SeekStart)
		return err
	}
	if _, err := packed.Seek(0, io.SeekStart); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, packed); err != nil {
		return fmt.Errorf("%s: %w", s.name(), err)
	}
	got := hex.EncodeToString(sum.Sum(nil))
	switch {
	case s.Checksum == "":
		u.Warn(s.Object.unpinned(got))
	case got != s.Checksum:
		return &ChecksumError{Name: s.name(), Got: got, Want: s.Checksum}
	}
	_, err := packed.Seek(0, io.SeekStart)
	return err
}

// An ArchiveRoot is the folder into which an archive was unpacked. Its manifests may not name files outside of it,
// since the operator did not write them. The zero ArchiveRoot means no archive.
type ArchiveRoot struct {
	Folder string
	Shown  string // how positions call it: the archive
}

// Contains reports whether a path lies within it.
func (e ArchiveRoot) Contains(path string) bool {
	return e.Folder == "" || isBelow(e.Folder, path)
}

// isBelow reports whether path is folder, or lies below it, by its text alone.
func isBelow(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// ShownPath returns the path in the form that positions use.
func (e ArchiveRoot) ShownPath(path string) string {
	rel, err := filepath.Rel(e.Folder, path)
	if e.Folder == "" || err != nil {
		return filepath.Clean(path)
	}
	return e.Shown + "/" + filepath.ToSlash(rel)
}

// IsURL reports whether a manifest has to be downloaded.
func IsURL(name string) bool { return strings.Contains(name, "://") }

// ShownName returns the name of a manifest for messages: a URL without user, password and query.
func ShownName(name string) string {
	if !IsURL(name) {
		return name
	}
	if key, err := ParseBucketKey(name); err == nil && key.Scheme == "kv" { // data, which is called as manifests are
		return key.String()
	}
	archive, err := parseURL(name)
	if err != nil {
		return "URL"
	}
	return archive.name()
}

// Plain returns the name of a manifest whose archive has been unpacked before: a URL without user, password and query.
func Plain(name string) string {
	if !IsURL(name) {
		return name
	}
	_, sum, pinned := strings.Cut(name, pin)
	if name = ShownName(name); pinned {
		name += pin + sum
	}
	return name
}

// pin begins the checksum at the end of a URL.
const pin = "#sha256="

var checksum = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{64}$`) })

// ParseURL reads the URL of an archive, which may hold user and password and end in the checksum: #sha256=HEX. A URL
// whose content others could change on the way needs the checksum. No error shows a secret.
func ParseURL(text string) (Archive, error) {
	archive, err := parseURL(text)
	if err != nil {
		return Archive{}, err
	}
	pinned := strings.Contains(text, pin)
	path, _, _ := strings.Cut(archive.name(), "?")
	switch page := archive.Page; {
	case page != nil && !IsArchive(path):
		return Archive{}, fmt.Errorf("%s: a manifest on the web is a .tar.gz with %s in it", page, ManifestFile)
	case pinned && !checksum().MatchString(archive.Checksum):
		return Archive{}, fmt.Errorf("%s: the text after %s is not a checksum: write 64 hexadecimal digits, as sha256sum prints them", archive.name(), pin)
	case page != nil && !pinned && page.Unprotected():
		return Archive{}, fmt.Errorf("%s: the connection is not encrypted, so others could change the manifest: use https://, or append a checksum: %s…", page, pin)
	}
	return archive, nil
}

// parseURL takes a URL apart.
func parseURL(text string) (Archive, error) {
	address, sum, _ := strings.Cut(text, pin)
	sum = strings.ToLower(sum)
	switch scheme, _, _ := strings.Cut(text, "://"); strings.ToLower(scheme) {
	case "http", "https":
		page, err := ParsePage(address)
		if err != nil {
			return Archive{}, fmt.Errorf("a manifest: %w", err)
		}
		return Archive{Page: &page, Checksum: sum}, nil
	case "obj":
		object, err := ParseBucketKey(address)
		if err != nil {
			return Archive{}, fmt.Errorf("a manifest: %w", err)
		}
		return Archive{Object: &object, Checksum: sum}, nil
	default:
		return Archive{}, fmt.Errorf("%q is not a supported scheme for manifests: use https://, http://, obj:// or a path", scheme)
	}
}
