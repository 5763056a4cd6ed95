//go:build e2e

package e2e

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

// A store serves archives by path to clients with the password, and logs their requests.
type store struct {
	*httptest.Server
	mu         sync.Mutex
	files      map[string][]byte
	asks       []string
	breakAfter int // bytes; 0 has answers whole
}

// startStore listens on an address of this machine.
func startStore(t *testing.T, address string, secure bool) *store {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	require.NoError(t, err)
	s := &store{files: map[string][]byte{}}
	s.Server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0)}}
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from, _, _ := net.SplitHostPort(r.RemoteAddr)
	s.asks = append(s.asks, strings.TrimSpace(from+" "+r.URL.Path+" "+r.Header.Get("Range")))
	b, ok := s.files[r.URL.Path]
	user, password, _ := r.BasicAuth()
	switch {
	case user+":"+password != "deploy:s3cret":
		w.WriteHeader(http.StatusUnauthorized)
		return
	case !ok:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", strconv.Quote(sum(b)))
	if s.breakAfter > 0 {
		w.Header().Set("Content-Length", strconv.Itoa(len(b)))
		w.Write(b[:s.breakAfter])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
}

func (s *store) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asks := s.asks
	s.asks = nil
	return asks
}

func sum(b []byte) string {
	digest := sha256.Sum256(b)
	return hex.EncodeToString(digest[:])
}

// packApp returns a tar of a program, a link to it and a large file, whose owner
// no host knows.
func packApp(t *testing.T, large int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	noise := make([]byte, large)
	rand.Read(noise)
	for _, e := range []struct {
		header tar.Header
		body   []byte
	}{
		{tar.Header{Name: "bin/", Typeflag: tar.TypeDir, Mode: 0o755}, nil},
		{tar.Header{Name: "bin/app", Typeflag: tar.TypeReg, Mode: 0o4755}, []byte("#!/bin/sh\necho it works\n")},
		{tar.Header{Name: "bin/also", Typeflag: tar.TypeSymlink, Linkname: "app"}, nil},
		{tar.Header{Name: "share/large", Typeflag: tar.TypeReg, Mode: 0o664}, noise},
	} {
		e.header.Uid, e.header.Gid, e.header.Size, e.header.ModTime = 4711, 4711, int64(len(e.body)), time.Unix(1_600_000_000, 0)
		require.NoError(t, w.WriteHeader(&e.header))
		_, err := w.Write(e.body)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func gzipped(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(b)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

// bridgeAddress is the address of this machine that the hosts reach.
func (f *fleet) bridgeAddress() string {
	f.Helper()
	return f.routeTo(strings.Fields(f.sh("h001", "hostname -I"))[0])
}

// routeTo is the address of this machine by which it reaches a host.
func (f *fleet) routeTo(host string) string {
	f.Helper()
	conn, err := net.Dial("udp", net.JoinHostPort(host, "9")) // sends nothing
	require.NoError(f, err)
	defer conn.Close()
	address, _, err := net.SplitHostPort(conn.LocalAddr().String())
	require.NoError(f, err)
	return address
}

const archiveLogin = `username: deploy, password: "{{ Data.password }}", owner: root, group: root`

// TestFleetArchive has hosts download from this machine and unpack, in every
// format that needs no other program to write here.
func TestFleetArchive(t *testing.T) {
	f := startFleet(t)
	s := startStore(t, f.bridgeAddress(), false)
	app := packApp(t, 3<<20)
	zw, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	var zipped bytes.Buffer
	z := zip.NewWriter(&zipped)
	entry, err := z.Create("inner/file")
	require.NoError(t, err)
	_, err = entry.Write([]byte("from a zip\n"))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	s.files["/app.tar"], s.files["/app.tar.gz"], s.files["/app.tar.zst"], s.files["/x.zip"] = app, gzipped(t, app), zw.EncodeAll(app, nil), zipped.Bytes()
	write(t, f.path("archive.yaml"), fmt.Sprintf(`
data: {password: s3cret}
ccm:
  resources:
    - file:
        - /tmp/e2e-archive: {ensure: directory, owner: root, group: root, mode: "0755"}
    - archive:
        - defaults: {%[1]s}
        - /tmp/e2e-archive/kept.tgz: {url: "%[2]s/app.tar.gz?token=other", checksum: "%[3]s", extract_parent: /tmp/e2e-archive/gz/deep, creates: /tmp/e2e-archive/gz/deep/bin/app, owner: deploy, mode: "0640"}
        - /tmp/e2e-archive/used.tar.zst: {url: "%[2]s/app.tar.zst", extract_parent: /tmp/e2e-archive/zst, creates: /tmp/e2e-archive/zst/bin/app, cleanup: true}
        - /tmp/e2e-archive/plain.tar: {url: "%[2]s/app.tar"}
        - /tmp/e2e-archive/x.zip: {url: "%[2]s/x.zip", extract_parent: /tmp/e2e-archive}
    - exec:
        - /tmp/e2e-archive/gz/deep/bin/also: {require: ["archive#/tmp/e2e-archive/kept.tgz"], creates: /tmp/e2e-archive/zst/bin/app}
`, archiveLogin, s.URL, strings.ToUpper(sum(s.files["/app.tar.gz"]))))

	r := f.push("-i", "root.yaml", "--check", "archive.yaml")
	r.requireCode(t, 0)
	require.Contains(t, r.stdout, "would have downloaded, extracted, cleaned up: creates absent -> present")
	require.Empty(t, s.asked(), "a check run downloads nothing")
	r = f.push("-i", "root.yaml", "--detailed-exitcode", "archive.yaml")
	r.requireCode(t, 8)
	require.NotContains(t, r.stdout+r.stderr, "s3cret")
	require.NotContains(t, r.stdout+r.stderr, "token")
	require.Len(t, s.asked(), 4*len(hosts), "each host downloads for itself")
	for _, host := range hosts {
		require.Equal(t, `root root drwxr-xr-x gz/deep
root root lrwxrwxrwx gz/deep/bin/also
root root -rwxr-xr-x gz/deep/bin/app
root root -rw-r--r-- gz/deep/share/large
root root -rw-r--r-- inner/file
deploy root -rw-r----- kept.tgz
root root -rw------- plain.tar
root root -rw------- x.zip
root root -rw-r--r-- zst/share/large
`, f.sh(host, "cd /tmp/e2e-archive && stat -c '%U %G %A %n' gz/deep gz/deep/bin/also gz/deep/bin/app gz/deep/share/large inner/file kept.tgz plain.tar x.zip zst/share/large"))
		require.Equal(t, "gz\ninner\nkept.tgz\nplain.tar\nx.zip\nzst\n", f.sh(host, "ls -A /tmp/e2e-archive"), "nothing else is left")
		require.Equal(t, "1600000000\n", f.sh(host, "stat -c %Y /tmp/e2e-archive/zst/bin/app"))
	}
	f.push("-i", "root.yaml", "--detailed-exitcode", "archive.yaml").requireCode(t, 0)
	require.Empty(t, s.asked(), "converged hosts download nothing")

	f.sh("h002", "rm /tmp/e2e-archive/gz/deep/bin/app; chown root /tmp/e2e-archive/kept.tgz")
	r = f.push("-i", "root.yaml", "--detailed-exitcode", "archive.yaml")
	r.requireCode(t, 8)
	require.Empty(t, s.asked(), "what is verified is not downloaded again")
	require.Equal(t, "deploy\n", f.sh("h002", "test -x /tmp/e2e-archive/gz/deep/bin/app && stat -c %U /tmp/e2e-archive/kept.tgz"))
}

// TestFleetArchiveFromController serves hosts that cannot reach the server. That
// they need the full host program shows in mid-run, when the lean one holds the
// host's lock.
func TestFleetArchiveFromController(t *testing.T) {
	f := startFleet(t)
	s := startStore(t, "127.0.0.1", false)
	s.files["/app.tar.gz"] = gzipped(t, packApp(t, 5<<20))
	site := func(fetch string) {
		write(t, f.path("archive.yaml"), fmt.Sprintf(`
- ccm:
    resources:
      - file: [/tmp/e2e-first: {content: x, owner: root, group: root, mode: "0644"}]
- data: {password: s3cret}
  ccm:
    resources:
      - archive:
          - /tmp/e2e-app.tar.gz:
              {url: "%s/app.tar.gz?token=other", checksum: "%s", extract_parent: /tmp/e2e-app, creates: /tmp/e2e-app/bin/app, cleanup: true, fetch: %s, %s,
               control: {if: Facts.host.info.os == "linux"}}
`, s.URL, sum(s.files["/app.tar.gz"]), fetch, archiveLogin))
	}
	site("host")
	r := f.push("-i", "root.yaml", "archive.yaml")
	r.requireCode(t, 2)
	require.Contains(t, r.stdout, "download failed: "+s.URL+"/app.tar.gz?…: dial tcp")
	require.Contains(t, r.stdout, "connection refused")
	require.Empty(t, s.asked())
	site("controller")
	r = f.push("-i", "root.yaml", "--detailed-exitcode", "archive.yaml")
	r.requireCode(t, 8)
	require.Equal(t, []string{"127.0.0.1 /app.tar.gz"}, s.asked(), "once, by the controller")
	for _, host := range hosts {
		require.Equal(t, "it works\n", f.sh(host, "/tmp/e2e-app/bin/also; test ! -e /tmp/e2e-app.tar.gz"))
	}
	f.push("-i", "deploy.yaml", "--detailed-exitcode", "-b", "archive.yaml").requireCode(t, 0)
	require.Empty(t, s.asked())
}

// TestFleetArchiveContinues breaks a download, over TLS, and has the next run continue it.
func TestFleetArchiveContinues(t *testing.T) {
	f := startFleet(t)
	address := f.bridgeAddress()
	s := startStore(t, address, true)
	s.files["/big.tar"] = packApp(t, 8<<20)
	url := strings.Replace(s.URL, address, "example.com", 1) // as the certificate has it
	f.sh("h001", "cp /etc/hosts /tmp/e2e-hosts && echo "+address+" example.com >>/etc/hosts")
	t.Cleanup(func() { f.sh("h001", "cp /tmp/e2e-hosts /etc/hosts; rm -f /etc/ssl/certs/e2e.pem") })
	write(t, f.path("archive.yaml"), fmt.Sprintf(`
data: {password: s3cret}
hosts: h001
ccm:
  resources:
    - archive:
        - /tmp/e2e-big.tar: {url: "%s/big.tar", checksum: "%s", %s}
`, url, sum(s.files["/big.tar"]), archiveLogin))
	r := f.push("-i", "root.yaml", "archive.yaml")
	r.requireCode(t, 2)
	require.Contains(t, r.stdout, "certificate signed by unknown authority")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	f.sh("h001", "mkdir -p /etc/ssl/certs && cat >/etc/ssl/certs/e2e.pem <<'END'\n"+string(certificate)+"END\n")

	s.breakAfter = 3 << 20
	r = f.push("-i", "root.yaml", "archive.yaml")
	r.requireCode(t, 2)
	require.Contains(t, r.stdout, "the first 3.0 MiB are kept, and the next run continues there")
	require.Equal(t, "600 0 .e2e-big.tar.ccm-etag\n600 0 .e2e-big.tar.ccm-part\n", f.sh("h001", "cd /tmp && stat -c '%a %u %n' .e2e-big.tar.*"))
	s.asked()
	s.breakAfter = 0
	r = f.push("-i", "root.yaml", "-v", "archive.yaml")
	r.requireCode(t, 0)
	require.Contains(t, r.stdout, "downloaded 8.0 MiB, of which 3.0 MiB had been kept")
	asks := s.asked()
	require.Len(t, asks, 1)
	require.Contains(t, asks[0], "/big.tar bytes=3145728-")
	require.Equal(t, "", f.sh("h001", "cd /tmp && ls -A | grep ccm- || true"))
}
