package manifest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/webpage"
)

// maxPacked bounds the archives of nested manifests that are downloaded.
var maxPacked = webpage.Limits{Time: time.Minute, Bytes: 64 << 20}

// Archives unpacks the archives that nested manifests stand in, into folders of
// its own that last until Close.
type Archives struct {
	Transport http.RoundTripper // nil is http.DefaultTransport
	Temp      string            // where the folders are made; "" is the system's place

	mu      sync.Mutex
	folders []string
}

// Close removes what was unpacked.
func (a *Archives) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var errs []error
	for _, folder := range a.folders {
		errs = append(errs, os.RemoveAll(folder))
	}
	a.folders = nil
	return errors.Join(errs...)
}

func (a *Archives) folder() (string, error) {
	folder, err := os.MkdirTemp(a.Temp, "ccm-push-*")
	if err == nil {
		a.mu.Lock()
		a.folders = append(a.folders, folder)
		a.mu.Unlock()
	}
	return folder, err
}

// IsURL reports whether a manifest is to be downloaded.
func IsURL(name string) bool { return strings.Contains(name, "://") }

// ShownName is how a manifest is called: of a URL without user, password and query.
func ShownName(name string) string {
	if !IsURL(name) {
		return name
	}
	page, err := webpage.Parse(name)
	if err != nil {
		return "URL"
	}
	return page.String()
}

// An enclosure is the folder that an archive was unpacked into. Its manifests may
// not name what is outside of it: it is not the operator who wrote them. The zero
// enclosure is none.
type enclosure struct {
	folder string
	shown  string // how positions call it: the archive
}

// has reports whether a path lies within it.
func (e enclosure) has(path string) bool {
	rel, err := filepath.Rel(e.folder, path)
	return e.folder == "" || err == nil && filepath.IsLocal(rel)
}

// call gives the path as positions have it.
func (e enclosure) call(path string) string {
	rel, err := filepath.Rel(e.folder, path)
	if e.folder == "" || err != nil {
		return filepath.Clean(path)
	}
	return e.shown + "/" + filepath.ToSlash(rel)
}

// An origin is where a nested manifest comes from.
type origin struct {
	key      string // the same for the same manifest
	file     string // the manifest; "" if it is in an archive, until that is unpacked
	shown    string // how positions call it
	confined enclosure
	archive  string // a path
	page     *webpage.Page
	checksum string // of the archive; "" if it is not known
	hint     string // for when it cannot be read
}

// origin finds out where a manifest comes from.
func (l *loader) origin(at *yamlpos.Node, nest modules.Nest) (*origin, error) {
	if IsURL(nest.Manifest) {
		page, err := webpage.Parse(nest.Manifest)
		if err != nil {
			return nil, at.Errorf("", "%v", err)
		}
		if page.InTheClear() {
			l.warn(at, "the password goes there unencrypted; use https://")
		}
		return &origin{key: nest.Manifest + " " + nest.Checksum, shown: page.String() + "/" + manifestFile, page: &page, checksum: nest.Checksum}, nil
	}
	name := *at
	name.Text = nest.Manifest
	path := l.beside(&name)
	if err := l.checkEnclosed(at, path); err != nil {
		return nil, err
	}
	o := &origin{key: path, file: path, shown: l.confined.call(path), confined: l.confined}
	if IsBundle(path) {
		o.key += " " + nest.Checksum
		o.archive, o.checksum, o.file, o.shown = path, nest.Checksum, "", o.shown+"/"+manifestFile
	}
	return o, nil
}

// read gives the text of the manifest, and sets file and confined if it comes from
// an archive.
func (o *origin) read(ctx context.Context, archives *Archives) ([]byte, error) {
	if o.file != "" {
		return read(o.file, "manifest")
	}
	if archives == nil {
		return nil, errors.New("archives are not unpacked here")
	}
	folder, err := archives.folder()
	if err == nil {
		err = o.unpackInto(ctx, folder, archives)
	}
	if err != nil {
		return nil, err
	}
	o.file, o.confined = filepath.Join(folder, manifestFile), enclosure{folder, strings.TrimSuffix(o.shown, "/"+manifestFile)}
	return read(o.file, "manifest")
}

func (o *origin) unpackInto(ctx context.Context, folder string, archives *Archives) error {
	name := o.archive
	if o.page != nil {
		name = o.page.String()
	}
	packed, err := o.open(ctx, folder, archives)
	if err != nil {
		return err
	}
	defer packed.Close()
	if err := o.verify(packed, name); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := unpack(packed, root); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if _, err := root.Stat(manifestFile); err != nil {
		return noManifest(root, name)
	}
	return nil
}

// open gives the archive. One that is downloaded is a file without a name.
func (o *origin) open(ctx context.Context, folder string, archives *Archives) (*os.File, error) {
	if o.page == nil {
		f, err := os.Open(o.archive)
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%s: there is no such manifest", o.archive)
		}
		if err != nil {
			return nil, fmt.Errorf("reading a manifest: %w", err)
		}
		return f, nil
	}
	f, err := os.CreateTemp(folder, "download-*")
	if err != nil {
		return nil, err
	}
	err = os.Remove(f.Name())
	transport := archives.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	if err == nil {
		err = o.page.CopyTo(ctx, transport, maxPacked, f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// verify holds an archive against its checksum, before anything of it is looked at.
func (o *origin) verify(packed *os.File, name string) error {
	if _, err := packed.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if o.checksum == "" {
		return nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, packed); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != o.checksum {
		o.hint = "somebody has changed it: look at what is in it before you write its new checksum"
		return fmt.Errorf("%s has the checksum %s, not %s", name, got, o.checksum)
	}
	_, err := packed.Seek(0, io.SeekStart)
	return err
}

// checkEnclosed refuses a path that leads out of the archive that the loader's file
// stands in.
func (l *loader) checkEnclosed(at *yamlpos.Node, path string) error {
	if l.confined.has(path) {
		return nil
	}
	return at.Errorf("an archive holds all that its manifests need", "%q leads out of the archive %s", at.Text, l.confined.shown)
}
