package session_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/modules/engine/session"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A largeFile is one whose content is sent in several sessions of one host.
type largeFile struct {
	t     *testing.T
	dir   string // folder of the host program
	all   []byte
	path  string
	entry wire.Entry
	of    modules.Content
}

func newLargeFile(t *testing.T) *largeFile {
	f := &largeFile{t: t, dir: t.TempDir(), all: make([]byte, 9<<20), path: filepath.Join(t.TempDir(), "large")}
	random := rand.NewChaCha8([32]byte{1})
	_, err := random.Read(f.all)
	require.NoError(t, err)
	f.of = modules.TextContent(string(f.all))
	json, err := f.of.MarshalJSON()
	require.NoError(t, err)
	f.entry = file(f.path, `"mode":"0644","content":`+string(json))
	return f
}

// session starts a session that requests the file.
func (f *largeFile) session() (*controller, *wire.Want) {
	f.t.Helper()
	c := serveSession(f.t, builtin.Types(), func(s *session.Session) { s.SpoolDir = f.dir })
	c.catalog(f.entry)
	return c, c.said().Want
}

// send sends the bytes from one to before another one.
func (f *largeFile) send(c *controller, from, to int) {
	f.t.Helper()
	for from < to {
		n := min(wire.MaxChunk, to-from)
		c.send(&wire.Message{Blob: &wire.Blob{SHA256: f.of.SHA256(), Size: f.of.Size(), Offset: int64(from), Data: f.all[from : from+n]}})
		from += n
	}
}

// cut loses the connection once so much of the file has come.
func (f *largeFile) cut(after int) {
	f.t.Helper()
	c, want := f.session()
	require.Empty(f.t, want.From)
	f.send(c, 0, after)
	require.NoError(f.t, c.input.Close())
	<-c.ended
}

// arrives ends a session whose file has been sent.
func (f *largeFile) arrives(c *controller) {
	f.t.Helper()
	r := c.said().Result
	require.Equal(f.t, wire.Changed, r.Status, r.Error)
	have, err := os.ReadFile(f.path)
	require.NoError(f.t, err)
	require.True(f.t, bytes.Equal(f.all, have), "other bytes")
	require.Empty(f.t, f.partials())
}

func (f *largeFile) partials() []string {
	f.t.Helper()
	names, err := filepath.Glob(filepath.Join(f.dir, ".partial-*"))
	require.NoError(f.t, err)
	return names
}

// TestResumes continues a content where an earlier session was cut.
func TestResumes(t *testing.T) {
	const part = 5 << 20
	t.Run("behind what has come", func(t *testing.T) {
		f := newLargeFile(t)
		f.cut(part)
		require.NoFileExists(t, f.path)
		require.Equal(t, []string{filepath.Join(f.dir, ".partial-"+f.of.SHA256())}, f.partials())
		info, err := os.Stat(f.partials()[0])
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode())

		c, want := f.session()
		require.Equal(t, map[string]int64{f.of.SHA256(): part}, want.From)
		f.send(c, part, len(f.all))
		f.arrives(c)
	})
	t.Run("what has come is damaged", func(t *testing.T) {
		f := newLargeFile(t)
		f.cut(part)
		kept, err := os.OpenFile(f.partials()[0], os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = kept.WriteAt([]byte("damaged"), 1<<20)
		require.NoError(t, err)
		require.NoError(t, kept.Close())

		c, want := f.session()
		require.Equal(t, map[string]int64{f.of.SHA256(): part}, want.From)
		f.send(c, part, len(f.all))
		require.Equal(t, &wire.Want{SHA256: []string{f.of.SHA256()}}, c.said().Want, "it asks for the whole")
		f.send(c, 0, len(f.all))
		f.arrives(c)
	})
	t.Run("as long as the whole, or longer", func(t *testing.T) {
		f := newLargeFile(t)
		require.NoError(t, os.WriteFile(filepath.Join(f.dir, ".partial-"+f.of.SHA256()), make([]byte, len(f.all)+1), 0o600))
		c, want := f.session()
		require.Empty(t, want.From)
		f.send(c, 0, len(f.all))
		f.arrives(c)
	})
	t.Run("a link in its place", func(t *testing.T) {
		f := newLargeFile(t)
		other := filepath.Join(t.TempDir(), "other")
		require.NoError(t, os.WriteFile(other, []byte("others"), 0o600))
		link := filepath.Join(f.dir, ".partial-"+f.of.SHA256())
		require.NoError(t, os.Symlink(other, link))
		c, want := f.session()
		require.Empty(t, want.From)
		require.NoError(t, os.Remove(link))
		f.send(c, 0, len(f.all))
		f.arrives(c)
		have, err := os.ReadFile(other)
		require.NoError(t, err)
		require.Equal(t, "others", string(have))
	})
	t.Run("another session is at it", func(t *testing.T) {
		f := newLargeFile(t)
		f.cut(part)
		kept, err := os.Open(f.partials()[0])
		require.NoError(t, err)
		defer kept.Close()
		require.NoError(t, syscall.Flock(int(kept.Fd()), syscall.LOCK_EX))
		c, want := f.session()
		require.Empty(t, want.From)
		f.send(c, 0, len(f.all))
		require.Equal(t, wire.Changed, c.said().Result.Status)
		require.Len(t, f.partials(), 1, "it is of the other one")
	})
	t.Run("the controller cannot read it any more", func(t *testing.T) {
		f := newLargeFile(t)
		f.cut(part)
		c, _ := f.session()
		c.send(&wire.Message{Blob: &wire.Blob{SHA256: f.of.SHA256(), Gone: "the file changed during the run"}})
		require.Contains(t, c.said().Result.Error, "the file changed during the run")
		require.Empty(t, f.partials())
	})
}

// TestSweepsPartials removes old files, and files above their limit.
func TestSweepsPartials(t *testing.T) {
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{"1": 0, "2": time.Hour, "3": 6 * 24 * time.Hour, "old": 8 * 24 * time.Hour, "4": 2 * time.Hour, "5": 24 * time.Hour} {
		path := filepath.Join(dir, ".partial-"+name)
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		then := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(path, then, then))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "module"), nil, 0o600))
	c := serveSession(t, builtin.Types(), func(s *session.Session) { s.SpoolDir = dir })
	require.NoError(t, c.input.Close())
	<-c.ended
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimPrefix(e.Name(), ".partial-"))
	}
	require.Equal(t, []string{"1", "2", "4", "5", "module"}, names)
}
