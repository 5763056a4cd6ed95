package workers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/playbooks/workers/queue/queuetest"
	"github.com/ccm-push/ccm-push/playbooks/workers/sealing"
)

// lending has web1 run a resource on db1. $dir is a folder that both know, and $keys the folder of the worker's keys.
const lending = `
hosts: web1
ccm:
  resources:
    - exec: ["ls $keys | grep -c cert.pub >$dir/first; until test -e $dir/go; do sleep 0.1; done": {provider: shell, on: db1}]
    - exec: ["ls $keys | grep -c cert.pub >$dir/second": {provider: shell, on: db1}]
    - exec: ["ls $keys | grep -c cert.pub >$dir/third": {provider: shell}]
`

// ofLent matches the files with certificates for lent hosts.
var ofLent = strings.Repeat("?", 2*sealing.HandoutSize) + "-*" + certificateFile

// newestOf is the number of the newest certificate that a worker has in files of a name.
func newestOf(t *testing.T, w *Worker, name string) (serial uint64) {
	files, err := filepath.Glob(filepath.Join(w.Temp, "*", name))
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		require.NoError(t, err)
		key, _, _, _, err := ssh.ParseAuthorizedKey(text)
		require.NoError(t, err)
		serial = max(serial, key.(*ssh.Certificate).Serial)
	}
	return serial
}

// TestLentHost renews the certificate for a lent host, and finds none of its files at the worker afterwards.
func TestLentHost(t *testing.T) {
	s := newSite(t, "", "web1", "db1")
	q := queuetest.New(0)
	var worker *Worker
	s.work(q, "worker", "", func(w *Worker) { worker = w })
	s.write("site.yaml", strings.NewReplacer("$dir", s.dir, "$keys", worker.Temp+"/*").Replace(lending))
	c, warned := s.coordinator(q, s.runner(s.inventory(nil)))
	s.numbered(c, 2*time.Second, func(uint64) error { return nil })
	go func() {
		require.Eventually(t, func() bool { return newestOf(t, worker, ofLent) > 0 }, wait, 10*time.Millisecond)
		first := newestOf(t, worker, ofLent)
		require.Eventually(t, func() bool { return newestOf(t, worker, ofLent) > first }, wait, 10*time.Millisecond)
		s.write("go", "")
	}()
	summary := s.run(c)
	require.Equal(t, 1, summary.Totals.Hosts.OK, warned.all())
	for name, want := range map[string]string{"first": "2\n", "second": "2\n", "third": "1\n"} {
		files, err := os.ReadFile(filepath.Join(s.dir, name))
		require.NoError(t, err)
		require.Equal(t, want, string(files), name)
	}
	require.Eventually(t, func() bool {
		left, err := filepath.Glob(filepath.Join(worker.Temp, "*", "*"))
		require.NoError(t, err)
		return len(left) == 1 && filepath.Base(left[0]) == "files"
	}, wait, 10*time.Millisecond)
}

// TestLentHostIsDialledAgain has the connection of a lent host be lost in a check run, whose forecast it has, and the host be dialled again
// when the certificate has ended that it was logged in to with.
func TestLentHostIsDialledAgain(t *testing.T) {
	s := newSite(t, "", "web1", "db1")
	guard := func(name string) string {
		return fmt.Sprintf("touch %[1]s/%[2]s; until test -e %[1]s/%[2]s-go; do sleep 0.1; done", s.dir, name)
	}
	s.write("site.yaml", fmt.Sprintf(`
hosts: web1
ccm:
  resources:
    - exec: ["false": {provider: shell, on: db1, onlyif: %q}]
    - exec: ["true": {provider: shell, onlyif: %q}]
    - exec: ["true": {provider: shell, on: db1}]
`, guard("lost"), guard("renewed")))
	var oldest atomic.Uint64
	s.admits = func(c *ssh.Certificate) error {
		if c.Serial < oldest.Load() {
			return errors.New("it has ended")
		}
		return nil
	}
	q := queuetest.New(0)
	var worker *Worker
	s.work(q, "worker", "", func(w *Worker) { worker = w })
	got := &recorded{}
	r := s.runner(s.inventory(nil), got)
	r.Options.Check = true
	c, warned := s.coordinator(q, r)
	s.numbered(c, 2*time.Second, func(uint64) error { return nil })
	go func() {
		require.Eventually(t, s.exists("lost"), wait, 10*time.Millisecond)
		s.hosts["db1"].Cut()
		s.write("lost-go", "")
		require.Eventually(t, s.exists("renewed"), wait, 10*time.Millisecond)
		first := newest(t, worker)
		require.Eventually(t, func() bool { return newest(t, worker) > first }, wait, 10*time.Millisecond)
		oldest.Store(first + 1)
		s.write("renewed-go", "")
	}()
	s.run(c)
	lines := strings.Join(got.lines(s), "\n")
	require.Equal(t, 3, strings.Count(lines, `"status":"changed"`), "%s\n%s", lines, warned.all())
	require.Contains(t, warned.all(), "db1 is reached again, for the result of exec#false")
}
