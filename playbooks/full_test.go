package playbooks

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// warehouse serves one archive at every path, and counts requests.
type warehouse struct {
	*httptest.Server
	archive []byte
	asks    atomic.Int64
	fail    atomic.Bool
}

func newWarehouse(t *testing.T) *warehouse {
	t.Helper()
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	tw := tar.NewWriter(zw)
	require.NoError(t, tw.WriteHeader(&tar.Header{Name: "bin/app", Typeflag: tar.TypeReg, Mode: 0o755, Size: 3}))
	_, err := tw.Write([]byte("app"))
	require.NoError(t, err)
	require.NoError(t, tw.Close())
	require.NoError(t, zw.Close())
	h := &warehouse{archive: b.Bytes()}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.asks.Add(1)
		if user, password, _ := r.BasicAuth(); h.fail.Load() || user+":"+password != "deploy:secret" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Write(h.archive)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *warehouse) checksum() string {
	sum := sha256.Sum256(h.archive)
	return hex.EncodeToString(sum[:])
}

// resource is an archive below the home of a host.
func (h *warehouse) resource(more string) string {
	return fmt.Sprintf(`archive: ["{{ Data.home }}/app.tar.gz": {url: %q, username: deploy, password: secret, checksum: %s, owner: "%d", group: "%d"%s}]`,
		h.URL+"/app.tar.gz?token=other", h.checksum(), os.Geteuid(), os.Getegid(), more)
}

const unpacked = `, extract_parent: "{{ Data.home }}/opt", creates: "{{ Data.home }}/opt/bin/app"`

// programs lists the host programs that a host has received.
func (w *world) programs(t *testing.T, srv *sshtest.Server) string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(srv.Home, ".cache/ccm-push"))
	require.NoError(t, err)
	var all []string
	for _, e := range entries {
		switch e.Name() {
		case w.Builds[0].SHA256:
			all = append(all, "lean")
		case w.FullBuilds[0].SHA256:
			all = append(all, "full")
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestFullProgramFromTheBeginning(t *testing.T) {
	h := newWarehouse(t)
	hosts := servers(t, "web1")
	w := newWorld(t, hosts, `
- name: one
  ccm: {resources: [exec: ["true": {}]]}
- name: two
  ccm: {resources: [`+h.resource(unpacked)+`]}
`)
	w.withFull(t)
	w.uninstall(t)
	w.run(t) // leaves the host program there
	require.Equal(t, "full", w.programs(t, hosts["web1"]))
	require.FileExists(t, filepath.Join(hosts["web1"].Home, "opt/bin/app"))
	before := hosts["web1"].Stats()
	require.Equal(t, []string{
		"play one 1/1: web1", "web1 exec#true changed",
		"play two 1/1: web1", "web1 archive#app.tar.gz stable", "web1 done: ok",
	}, w.run(t))
	after := hosts["web1"].Stats()
	require.Equal(t, int64(1), after.Execs-before.Execs, "the first play uses it as well")
	require.Equal(t, int64(1), h.asks.Load(), "a converged host downloads nothing")
}

// TestFullProgramInMidRun finds out that it is needed when a play is compiled.
func TestFullProgramInMidRun(t *testing.T) {
	h := newWarehouse(t)
	conditional := strings.Replace(h.resource(unpacked), "{url", "{control: {if: 'Facts.host.info.os != \"none\"'}, url", 1)
	plays := `
- name: one
  ccm: {resources: [exec: ["true": {}]]}
- name: two
  ccm: {resources: [` + conditional + `]}
- name: three
  ccm: {resources: [exec: ["test {{ Facts.host.info.os }} != none": {}]]}
`
	run := []string{
		"play one 1/1: web1", "web1 exec#true changed",
		"play two 1/1: web1", "web1 archive#app.tar.gz changed",
		"play three 1/1: web1", "web1 exec#test linux != none changed", "web1 done: ok",
	}
	hosts := servers(t, "web1")
	w := newWorld(t, hosts, plays)
	w.withFull(t)
	w.uninstall(t)
	w.Options.NoLock = os.Geteuid() == 0 // an ordinary user's lock is its own: it must be free for the second program
	w.Options.Check = true
	require.Equal(t, run, w.run(t))
	require.Zero(t, h.asks.Load(), "a check run downloads nothing")
	require.Contains(t, w.text.String(), "would have downloaded, extracted")
	require.Contains(t, w.text.String(), "because an earlier play may change the result")

	w.Options.Check = false
	require.Equal(t, run, w.run(t))
	require.Equal(t, "full lean", w.programs(t, hosts["web1"]))
	before := hosts["web1"].Stats()
	w.run(t)
	after := hosts["web1"].Stats()
	require.Equal(t, int64(2), after.Execs-before.Execs, "a lean one, and a full one for the rest")
	require.Equal(t, int64(1), after.Connections-before.Connections)
}

func TestNoFullProgram(t *testing.T) {
	h := newWarehouse(t)
	w := newWorld(t, servers(t, "web1"), `ccm: {resources: [`+h.resource("")+`]}`)
	require.Equal(t, []string{"play site 1/1: web1", "web1 failed in install", "web1 done: failed"}, w.run(t))
	_, text := w.recorded.failure("web1")
	require.Equal(t, "a resource needs the full host program, but this ccm-push has only lean programs: build ccm-push with make, or pass --module-dir FOLDER", text)
}

// TestControllerDownloads has the controller download once for all hosts.
func TestControllerDownloads(t *testing.T) {
	h := newWarehouse(t)
	hosts := servers(t, "web1", "web2", "web3")
	w := newWorld(t, hosts, "name: p\nccm: {resources: ["+h.resource(", fetch: controller")+"]}")
	w.withFull(t)
	w.uninstall(t)
	each := func(status string) []string {
		lines := []string{"play p 1/1: web1 web2 web3"}
		for _, name := range []string{"web1", "web2", "web3"} {
			lines = append(lines, name+" archive#app.tar.gz "+status, name+" done: ok")
		}
		return lines
	}

	w.Options.Check = true
	require.Equal(t, each("changed"), w.run(t))
	require.Zero(t, h.asks.Load())

	w.Options.Check = false
	require.Equal(t, each("changed"), w.run(t))
	require.Equal(t, int64(1), h.asks.Load())
	for _, srv := range hosts {
		b, err := os.ReadFile(filepath.Join(srv.Home, "app.tar.gz"))
		require.NoError(t, err)
		require.Equal(t, h.archive, b)
		require.Equal(t, "lean", w.programs(t, srv))
	}
	require.Equal(t, each("stable"), w.run(t))
	require.Equal(t, int64(1), h.asks.Load(), "converged hosts need no download")
}

func TestControllerCannotDownload(t *testing.T) {
	h := newWarehouse(t)
	h.fail.Store(true)
	w := newWorld(t, servers(t, "web1", "web2"), "name: p\nccm: {resources: ["+h.resource(", fetch: controller")+", exec: [\"true\": {}]]}")
	require.Equal(t, []string{
		"play p 1/1: web1 web2",
		"web1 archive#app.tar.gz failed", "web1 exec#true changed", "web1 done: failed",
		"web2 archive#app.tar.gz failed", "web2 exec#true changed", "web2 done: failed",
	}, w.run(t))
	require.Equal(t, int64(1), h.asks.Load())
	require.Contains(t, w.text.String(), "download failed: on the controller: "+h.URL+"/app.tar.gz?…: HTTP request failed with status 403: Forbidden")
	require.NotContains(t, w.text.String(), "secret")
}

// TestControllerDownloadsWhatIsUnpacked: the controller sends an archive, which the host unpacks.
func TestControllerDownloadsWhatIsUnpacked(t *testing.T) {
	h := newWarehouse(t)
	hosts := servers(t, "web1")
	w := newWorld(t, hosts, "name: p\nccm: {resources: ["+h.resource(unpacked+", fetch: controller, cleanup: true")+"]}")
	w.withFull(t)
	require.Equal(t, []string{"play p 1/1: web1", "web1 archive#app.tar.gz changed", "web1 done: ok"}, w.run(t))
	b, err := os.ReadFile(filepath.Join(hosts["web1"].Home, "opt/bin/app"))
	require.NoError(t, err)
	require.Equal(t, "app", string(b))
	require.NoFileExists(t, filepath.Join(hosts["web1"].Home, "app.tar.gz"))
	for _, e := range w.recorded.list {
		if r, ok := e.(events.Result); ok {
			require.Equal(t, "downloaded. extracted. cleaned up", r.Message)
			require.Equal(t, "extracted 1 entry, 3 bytes", r.Messages[0].Text)
		}
	}
}

// TestControllerRefusesAnotherArchive verifies before anything is pushed.
func TestControllerRefusesAnotherArchive(t *testing.T) {
	h := newWarehouse(t)
	text := "name: p\nccm: {resources: [" + h.resource(", fetch: controller") + "]}"
	h.archive = append(h.archive, 'x')
	w := newWorld(t, servers(t, "web1"), text)
	require.Equal(t, []string{"play p 1/1: web1", "web1 archive#app.tar.gz failed", "web1 done: failed"}, w.run(t))
	require.Contains(t, w.text.String(), "download failed: on the controller: "+h.URL+"/app.tar.gz?…: checksum mismatch, expected ")
}
