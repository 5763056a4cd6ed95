//go:build e2e

package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ccm-push/ccm-push/e2e/needs"
)

// A debian is an HTTP proxy for apt on hosts of the fleet, which have no network of their own. It fetches only from the
// archive that the apt of this machine uses, and keeps the packages. Requests that name no server get files of site.
type debian struct {
	archives  map[string]string // URI on this machine, by URI on hosts without its scheme
	client    *http.Client
	packages  string // folder of files that never change
	lists     string // folder of other files, so that all hosts of a test read the same lists
	site      http.Handler
	download  sync.Mutex
	mu        sync.Mutex
	delivered map[string]map[string]int64 // bytes by the address of a host and path
	sizes     map[string]int64            // bytes of whole files, by path
}

// startDebian skips the test if this machine has no Debian archive.
func startDebian(t *testing.T, site string) *debian {
	t.Helper()
	d := &debian{archives: map[string]string{}, lists: t.TempDir(), site: http.FileServer(http.Dir(site)), delivered: map[string]map[string]int64{}, sizes: map[string]int64{}}
	out, err := exec.Command("apt-get", "indextargets", "--format", "$(RELEASE) $(REPO_URI)", "Created-By: Packages").Output()
	if err != nil {
		needs.Skip(t, "no apt on this machine")
	}
	for line := range strings.Lines(string(out)) {
		switch release, uri, _ := strings.Cut(strings.TrimSpace(line), " "); release {
		case "bookworm":
			d.archives["deb.debian.org/debian/"] = uri
		case "bookworm-security":
			d.archives["security.debian.org/debian-security/"] = uri
		}
	}
	if len(d.archives) < 2 {
		needs.Skip(t, "the apt of this machine has no bookworm and bookworm-security; run: apt-get update")
	}
	proxy := http.ProxyFromEnvironment
	if own, err := exec.Command("apt-config", "shell", "p", "Acquire::http::Proxy").Output(); err == nil {
		if own, err := url.Parse(strings.Trim(strings.TrimPrefix(strings.TrimSpace(string(own)), "p="), "'")); err == nil && own.Host != "" {
			proxy = http.ProxyURL(own)
		}
	}
	d.client = &http.Client{Transport: &http.Transport{Proxy: proxy, ResponseHeaderTimeout: time.Minute}}
	d.packages = filepath.Join(cmp.Or(os.Getenv("FLEET_CACHE"), "/var/cache/ccm-push-fleet"), "archive")
	if _, err := d.fetch("deb.debian.org/debian/dists/bookworm/InRelease"); err != nil {
		needs.Skip(t, fmt.Sprintf("no Debian archive: %v", err))
	}
	return d
}

// serve starts the proxy for a fleet, and has a host use it.
func (d *debian) serve(f *fleet, host string) {
	f.Helper()
	d.start(f)
	f.sh(host, d.setup(f))
}

// start starts the proxy for a fleet.
func (d *debian) start(f *fleet) {
	f.Helper()
	listener := f.listen("8088")
	server := &http.Server{Handler: d}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	f.Cleanup(func() {
		server.Close()
		<-done
	})
}

// setup returns commands with which a host of a fleet uses the proxy. The host reaches site as files.example.net.
func (d *debian) setup(f *fleet) string {
	checks, _ := exec.Command("sh", "-c", "apt-config dump | grep ^Acquire::Check-").Output()
	address := f.address("255.1")
	return fmt.Sprintf(`echo %s files.example.net >>/etc/hosts
cat >/etc/apt/apt.conf.d/10proxy <<'END'
Acquire::http::Proxy "http://%s:8088";
Acquire::http::Proxy::files.example.net "DIRECT";
%sEND
apt-get -qq update`, address, address, checks)
}

// took returns the bytes that a host has fetched since the last call, by path.
func (d *debian) took(address string) map[string]int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.delivered[address]
	delete(d.delivered, address)
	return all
}

// size returns the size of a file that a host has requested.
func (d *debian) size(path string) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sizes[path]
}

// A countedWriter counts the bytes of a body.
type countedWriter struct {
	http.ResponseWriter
	bytes int64
}

func (w *countedWriter) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

func (d *debian) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Host == "" {
		d.site.ServeHTTP(w, r)
		return
	}
	counted, size := &countedWriter{ResponseWriter: w}, int64(0)
	file, err := d.fetch(r.URL.Host + r.URL.Path)
	if status, ok := errors.AsType[httpStatus](err); ok {
		http.Error(counted, status.Error(), int(status))
	} else if err != nil {
		http.Error(counted, err.Error(), http.StatusBadGateway)
	} else {
		http.ServeFile(counted, r, file)
		if info, err := os.Stat(file); err == nil {
			size = info.Size()
		}
	}
	from, _, _ := net.SplitHostPort(r.RemoteAddr)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.delivered[from] == nil {
		d.delivered[from] = map[string]int64{}
	}
	d.delivered[from][r.URL.Path] += counted.bytes
	d.sizes[r.URL.Path] = size
}

type httpStatus int

func (s httpStatus) Error() string { return http.StatusText(int(s)) }

// fetch returns the path of a local copy of a file of an archive.
func (d *debian) fetch(name string) (file string, err error) {
	uri := ""
	for prefix, archive := range d.archives {
		if rest, ok := strings.CutPrefix(name, prefix); ok && fs.ValidPath(rest) {
			uri = archive + (&url.URL{Path: rest}).EscapedPath()
		}
	}
	if uri == "" {
		return "", httpStatus(http.StatusForbidden)
	}
	folder := d.lists
	if strings.Contains(name, "/pool/") {
		folder = d.packages
	}
	file = filepath.Join(folder, filepath.FromSlash(name))
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	d.download.Lock()
	defer d.download.Unlock()
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	response, err := d.client.Get(uri)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", httpStatus(response.StatusCode)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	part, err := os.CreateTemp(filepath.Dir(file), ".part-")
	if err != nil {
		return "", err
	}
	defer os.Remove(part.Name())
	_, err = io.Copy(part, response.Body)
	if err := errors.Join(err, part.Close()); err != nil {
		return "", err
	}
	if modified, err := http.ParseTime(response.Header.Get("Last-Modified")); err == nil {
		os.Chtimes(part.Name(), modified, modified)
	}
	return file, os.Rename(part.Name(), file)
}
