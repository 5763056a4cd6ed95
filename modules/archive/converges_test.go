package archive_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/archive"
	"github.com/ccm-push/ccm-push/modules/download"
	"github.com/ccm-push/ccm-push/modules/exec"
	"github.com/ccm-push/ccm-push/modules/file"
	"github.com/ccm-push/ccm-push/modules/link"
	"github.com/ccm-push/ccm-push/modules/modtest"
)

// tarball is a .tar.gz of files; name and text alternate.
func tarball(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	tw := tar.NewWriter(zw)
	for i := 0; i < len(files); i += 2 {
		require.NoError(t, tw.WriteHeader(&tar.Header{Name: files[i], Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(files[i+1]))}))
		_, err := tw.Write([]byte(files[i+1]))
		require.NoError(t, err)
	}
	require.NoError(t, tw.Close())
	require.NoError(t, zw.Close())
	return b.Bytes()
}

func sum(b []byte) string {
	digest := sha256.Sum256(b)
	return hex.EncodeToString(digest[:])
}

// A shop serves files by path, each with its hash as ETag.
type shop struct {
	*httptest.Server
	mu    sync.Mutex
	files map[string][]byte
	asks  []string // path and Range of each request
	// breakAfter truncates each answer after so many bytes; 0 means never.
	breakAfter int
}

func newShop(t testing.TB) *shop {
	s := &shop{files: map[string][]byte{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asks = append(s.asks, strings.TrimSpace(r.URL.Path+" "+r.Header.Get("Range")))
	b, ok := s.files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", `"`+sum(b)+`"`)
	if s.breakAfter > 0 {
		w.Header().Set("Content-Length", strconv.Itoa(len(b)))
		w.Write(b[:s.breakAfter])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
}

// own names the user and group that tests run as, in JSON.
var own = fmt.Sprintf(`"owner":"%d","group":"%d"`, os.Geteuid(), os.Getegid())

var quick = download.Client{Pause: time.Nanosecond, Tries: 2}

func TestConverges(t *testing.T) {
	s := newShop(t)
	app := tarball(t, "app/bin/app", "#!/bin/sh\n", "app/conf", "x")
	old := tarball(t, "app/old", "x")
	s.files["/app.tar.gz"] = app
	s.files["/evil.tar.gz"] = tarball(t, "../evil", "x")
	s.files["/none.tar.gz"] = []byte("this is no archive")
	res := func(more string) string {
		return `{"name":"$ROOT/app.tar.gz","url":"` + s.URL + `/app.tar.gz",` + own + more + `}`
	}
	checksum := `,"checksum":"sha256:` + strings.ToUpper(sum(app)) + `"`
	unpacked := `,"extract_parent":"$ROOT/opt/x","creates":"$ROOT/opt/x/app/bin/app"`
	pushed := `,"fetch":"controller","content":{"data":"` + base64.StdEncoding.EncodeToString(app) + `"}`
	there := modtest.Node{Path: "app.tar.gz", Text: string(app), Mode: 0o600}
	stale := modtest.Node{Path: "app.tar.gz", Text: string(old), Mode: 0o600}
	installed := []modtest.Node{{Path: "opt", Dir: true}, {Path: "opt/x", Dir: true}, {Path: "opt/x/app", Dir: true}, {Path: "opt/x/app/bin", Dir: true}, {Path: "opt/x/app/bin/app", Text: "old"}}
	with := func(nodes ...modtest.Node) []modtest.Node { return append(nodes, installed...) }
	ensure := modules.Change{Property: "ensure", Have: "absent", Want: "present"}
	creates := modules.Change{Property: "creates", Have: "absent", Want: "present"}
	differs := modules.Change{Property: "checksum", Have: sum(old), Want: sum(app)}
	mode := modules.Change{Property: "mode", Have: "0644", Want: "0600"}

	modtest.Converges(t, archive.FullType(quick), []modtest.Fixture{
		// only the file
		{Name: "download", Properties: res(""), Action: "downloaded", Changes: []modules.Change{ensure}},
		{Name: "download with a checksum", Properties: res(checksum), Action: "downloaded", Changes: []modules.Change{ensure}},
		{Name: "from the controller", Properties: res(checksum + pushed), Action: "downloaded", Changes: []modules.Change{ensure}},
		{Name: "a file without a checksum is enough", Tree: []modtest.Node{stale}, Properties: res("")},
		{Name: "the right file", Tree: []modtest.Node{there}, Properties: res(checksum)},
		{Name: "the wrong file", Tree: []modtest.Node{stale}, Properties: res(checksum), Action: "downloaded", Changes: []modules.Change{differs}},
		{
			Name: "other attributes", Tree: []modtest.Node{{Path: "app.tar.gz", Text: string(app)}},
			Properties: res(checksum), Action: "updated attributes", Changes: []modules.Change{mode},
		},
		{
			Name: "the wrong file with other attributes", Tree: []modtest.Node{{Path: "app.tar.gz", Text: string(old)}},
			Properties: res(checksum), Action: "downloaded", Changes: []modules.Change{differs, mode},
		},
		{
			Name: "a link in its place", Tree: []modtest.Node{there, {Path: "l.tar.gz", Link: "app.tar.gz"}},
			Properties: strings.Replace(res(checksum), "$ROOT/app.tar.gz", "$ROOT/l.tar.gz", 1),
			Action:     "downloaded", Changes: []modules.Change{{Property: "ensure", Have: "symlink", Want: "present"}},
		},
		{
			Name: "a directory in its place", Tree: []modtest.Node{{Path: "app.tar.gz", Dir: true}},
			Properties: res(""), Err: "$ROOT/app.tar.gz is a directory; cannot manage it as an archive",
		},
		{
			Name:       "no parent",
			Properties: strings.Replace(res(""), "$ROOT/app.tar.gz", "$ROOT/d/app.tar.gz", 1), Err: `the directory "$ROOT/d" does not exist (create it with a file resource that has ensure: directory)`,
		},
		{
			Name:       "nobody's",
			Properties: strings.Replace(res(""), own, `"owner":"no-such-user","group":"0"`, 1), Err: `owner: user "no-such-user": no such account`,
		},
		// unpacked
		{Name: "download and extract", Properties: res(`,"extract_parent":"$ROOT/opt"`), Action: "downloaded. extracted", Changes: []modules.Change{ensure}},
		{Name: "without creates the archive is enough", Tree: []modtest.Node{there}, Properties: res(checksum + `,"extract_parent":"$ROOT/opt"`)},
		{Name: "install", Properties: res(unpacked), Action: "downloaded. extracted", Changes: []modules.Change{creates, ensure}},
		{Name: "install from the controller", Properties: res(checksum + unpacked + pushed), Action: "downloaded. extracted", Changes: []modules.Change{creates, ensure}},
		{Name: "installed", Tree: with(there), Properties: res(checksum + unpacked)},
		{Name: "installed, and the archive is gone", Tree: with(), Properties: res(unpacked), Action: "downloaded. extracted", Changes: []modules.Change{ensure}},
		{Name: "a verified archive is not downloaded again", Tree: []modtest.Node{there}, Properties: res(checksum + unpacked), Action: "extracted", Changes: []modules.Change{creates}},
		{
			Name: "a verified archive with other attributes", Tree: []modtest.Node{{Path: "app.tar.gz", Text: string(app)}},
			Properties: res(checksum + unpacked), Action: "extracted. updated attributes", Changes: []modules.Change{creates, mode},
		},
		{Name: "an archive that nothing vouches for is", Tree: []modtest.Node{stale}, Properties: res(unpacked), Action: "downloaded. extracted", Changes: []modules.Change{creates}},
		{Name: "a new version", Tree: with(stale), Properties: res(checksum + unpacked), Action: "downloaded. extracted", Changes: []modules.Change{differs}},
		{
			Name: "into a file", Tree: []modtest.Node{{Path: "opt", Text: "x"}},
			Properties: res(unpacked), Err: `"$ROOT/opt" is not a directory`,
		},
		{
			Name: "into a link to nothing", Tree: []modtest.Node{{Path: "opt", Link: "nothing"}},
			Properties: res(`,"extract_parent":"$ROOT/opt"`), Err: "$ROOT/opt is a link to nothing; refusing to unpack there",
		},
		{
			Name: "into a link to a directory", Tree: []modtest.Node{{Path: "d", Dir: true}, {Path: "opt", Link: "d"}},
			Properties: res(`,"extract_parent":"$ROOT/opt/x"`), Action: "downloaded. extracted", Changes: []modules.Change{ensure},
		},
		// cleaned up
		{Name: "install and clean up", Properties: res(checksum + unpacked + `,"cleanup":true`), Action: "downloaded. extracted. cleaned up", Changes: []modules.Change{creates}},
		{Name: "installed and cleaned up", Tree: with(), Properties: res(checksum + unpacked + `,"cleanup":true`)},
		{
			Name: "a left-over archive", Tree: with(stale), Properties: res(unpacked + `,"cleanup":true`),
			Action: "cleaned up", Changes: []modules.Change{{Property: "cleanup", Have: "present", Want: "absent"}},
		},
		{Name: "a verified archive is used up", Tree: []modtest.Node{there}, Properties: res(checksum + unpacked + `,"cleanup":true`), Action: "extracted. cleaned up", Changes: []modules.Change{creates}},
		{Name: "a stale archive is replaced and removed", Tree: []modtest.Node{stale}, Properties: res(checksum + unpacked + `,"cleanup":true`), Action: "downloaded. extracted. cleaned up", Changes: []modules.Change{creates, differs}},
		// absent
		{Name: "nothing there", Properties: `{"name":"$ROOT/app.tar.gz","ensure":"absent"}`},
		{
			Name: "remove", Tree: with(there), Properties: `{"name":"$ROOT/app.tar.gz","ensure":"absent"}`,
			Action: "removed", Changes: []modules.Change{{Property: "ensure", Have: "present", Want: "absent"}},
		},
		{
			Name: "a directory is not removed", Tree: []modtest.Node{{Path: "app.tar.gz", Dir: true}}, Properties: `{"name":"$ROOT/app.tar.gz","ensure":"absent"}`,
			Err: "$ROOT/app.tar.gz is a directory; cannot manage it as an archive",
		},
	}...)
}

// apply checks and applies a resource in a directory, and returns its messages.
func apply(t *testing.T, typ modules.Type, root, properties string) (notes []string, err error) {
	t.Helper()
	res := modtest.Decode(t, modules.Registry{typ}, "archive", properties, root)
	h := modtest.Host()
	plan, err := res.Check(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	require.True(t, plan.Pending())
	heard := &listener{}
	h.Report = heard
	err = res.Apply(t.Context(), h, plan)
	return heard.notes, err
}

type listener struct {
	modules.Discard
	notes []string
}

func (l *listener) Message(level, text string) { l.notes = append(l.notes, level+": "+text) }

// TestFailures checks that failures leave nothing on the host.
func TestFailures(t *testing.T) {
	s := newShop(t)
	app := tarball(t, "app/bin/app", "x", "app/conf", "x")
	s.files["/app.tar.gz"] = app
	s.files["/evil.tar.gz"] = tarball(t, "good", "x", "../evil", "x")
	s.files["/none.tar.gz"] = []byte("this is no archive")
	s.files["/clash.tar.gz"] = tarball(t, "a", "x", "taken", "x")
	s.files["/bomb.tar.gz"] = tarball(t, "a", strings.Repeat("\x00", 2<<20))
	for _, tt := range []struct{ name, file, more, err string }{
		{"not there", "nope", "", "download failed: URL/nope.tar.gz: HTTP request failed with status 404: Not Found"},
		{"another checksum", "app", `,"checksum":"` + sum(nil) + `"`, fmt.Sprintf(`download failed: URL/app.tar.gz?…: checksum mismatch, expected %q got %q (if you trust the new file, correct the property "checksum")`, sum(nil), sum(app))},
		{"a hostile archive", "evil", `,"extract_parent":"$ROOT/opt/x"`, `extraction failed: "../evil" leads up by a .. element (nothing was extracted)`},
		{"no archive", "none", `,"extract_parent":"$ROOT/opt/x"`, "extraction failed: gzip: invalid header (nothing was extracted)"},
		{"creates is not in it", "app", `,"extract_parent":"$ROOT","creates":"$ROOT/bin/app"`, `extraction failed: the path "$ROOT/bin/app" is not in the archive, which contains app/, unpacked into "$ROOT"; correct the property "creates" or "extract_parent"`},
		{"creates is somewhere else", "app", `,"extract_parent":"$ROOT","creates":"/nowhere"`, `extraction failed: "/nowhere" is still not there, and not below "extract_parent"; correct "creates"`},
		{"a bomb", "bomb", `,"extract_parent":"$ROOT/opt/x","max_size":1`, "extraction failed: more than 1 MiB come out of it (nothing was extracted)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := modtest.Root(t)
			_, err := apply(t, archive.FullType(quick), root, `{"name":"$ROOT/a.tar.gz","url":"`+s.URL+`/`+tt.file+`.tar.gz?token=secret",`+own+tt.more+`}`)
			want := strings.NewReplacer("URL", s.URL, "$ROOT", root, ".tar.gz: HTTP", ".tar.gz?…: HTTP").Replace(tt.err)
			require.EqualError(t, err, want)
			require.NoFileExists(t, filepath.Join(root, "a.tar.gz"), "the next run would take it for done")
			if !strings.Contains(tt.more, "creates") {
				require.Len(t, modtest.State(t, root), 1)
			}
		})
	}
	t.Run("something is in the way", func(t *testing.T) {
		root := modtest.Root(t)
		require.NoError(t, os.MkdirAll(filepath.Join(root, "taken", "x"), 0o700))
		_, err := apply(t, archive.FullType(quick), root, `{"name":"$ROOT/a.tar.gz","url":"`+s.URL+`/clash.tar.gz","extract_parent":"$ROOT",`+own+`}`)
		require.EqualError(t, err, `extraction failed: putting "taken" in place: file exists (1 of 2 entries were extracted)`)
		require.NoFileExists(t, filepath.Join(root, "a.tar.gz"), "the next run would take it for done")
	})
	t.Run("the lean program", func(t *testing.T) {
		root := modtest.Root(t)
		lean := archive.LeanType()
		_, err := apply(t, lean, root, `{"name":"$ROOT/a.tar.gz","url":"`+s.URL+`/app.tar.gz",`+own+`}`)
		require.EqualError(t, err, "the lean host program cannot download or unpack: use the full host program (a ccm-module built with -tags full)")
		require.Len(t, modtest.State(t, root), 1)
		pushed := `,"fetch":"controller","content":{"data":"` + base64.StdEncoding.EncodeToString(app) + `"}`
		_, err = apply(t, lean, root, `{"name":"$ROOT/a.tar.gz","url":"`+s.URL+`/app.tar.gz",`+own+pushed+`}`)
		require.NoError(t, err)
		require.Len(t, modtest.State(t, root), 2)
	})
	t.Run("what the controller sends is verified", func(t *testing.T) {
		root := modtest.Root(t)
		_, err := apply(t, archive.LeanType(), root, `{"name":"$ROOT/a.tar.gz","url":"`+s.URL+`/app.tar.gz",`+own+`,"checksum":"`+sum(app)+`","fetch":"controller","content":"other"}`)
		require.EqualError(t, err, fmt.Sprintf(`download failed: %s/app.tar.gz: checksum mismatch, expected %q got %q (if you trust the new file, correct the property "checksum")`, s.URL, sum(app), sum([]byte("other"))))
		require.Len(t, modtest.State(t, root), 1)
	})
}

// TestContinues interrupts a download, and the next run continues it.
func TestContinues(t *testing.T) {
	s := newShop(t)
	big := bytes.Repeat([]byte("0123456789abcdef"), 200_000) // 3.1 MiB
	s.files["/big.tar"] = big
	root := modtest.Root(t)
	properties := `{"name":"$ROOT/big.tar","url":"` + s.URL + `/big.tar","checksum":"` + sum(big) + `",` + own + `}`
	typ := archive.FullType(download.Client{Tries: 1})
	names := func() string {
		entries, err := os.ReadDir(root)
		require.NoError(t, err)
		var all []string
		for _, e := range entries {
			info, err := e.Info()
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode())
			all = append(all, e.Name())
		}
		return strings.Join(all, " ")
	}

	s.breakAfter = 1000
	_, err := apply(t, typ, root, properties)
	require.EqualError(t, err, "download failed: "+s.URL+"/big.tar: the connection broke after 1000 bytes: unexpected EOF")
	require.Empty(t, names(), "that little is not worth keeping")

	s.breakAfter = 2 << 20
	_, err = apply(t, typ, root, properties)
	require.EqualError(t, err, "download failed: "+s.URL+"/big.tar: the connection broke after 2097152 bytes: unexpected EOF; the first 2.0 MiB are kept, and the next run continues there")
	require.Equal(t, ".big.tar.ccm-etag .big.tar.ccm-part", names())
	require.NotContains(t, string(must(os.ReadFile(filepath.Join(root, ".big.tar.ccm-etag")))), "127.0.0.1", "the URL can hold a secret")

	s.breakAfter, s.asks = 0, nil
	notes, err := apply(t, typ, root, properties)
	require.NoError(t, err)
	require.Equal(t, []string{"info: downloaded 3.1 MiB, of which 2.0 MiB had been kept"}, notes)
	require.Equal(t, []string{"/big.tar bytes=2097152-"}, s.asks)
	require.Equal(t, "big.tar", names())
	require.Equal(t, sum(big), sum(must(os.ReadFile(filepath.Join(root, "big.tar")))))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestContinuesOnlyItsOwn checks that parts of other files, and parts that others could have written, are discarded.
func TestContinuesOnlyItsOwn(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcdef"), 200_000)
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, s *shop, root, part, memo string)
		asks   []string
	}{
		{"another version", func(_ *testing.T, s *shop, _, _, _ string) { s.files["/big.tar"] = append(bytes.Clone(big), 'x') }, []string{"/big.tar bytes=2097152-"}},
		{"a part that was changed", func(t *testing.T, _ *shop, _, part, _ string) {
			require.NoError(t, os.WriteFile(part, bytes.Repeat([]byte("x"), 2<<20), 0o600))
		}, []string{"/big.tar bytes=2097152-", "/big.tar"}},
		{"a part of another size", func(t *testing.T, _ *shop, _, part, _ string) { require.NoError(t, os.Truncate(part, 5)) }, []string{"/big.tar"}},
		{"a part that others may write", func(t *testing.T, _ *shop, _, part, _ string) { require.NoError(t, os.Chmod(part, 0o666)) }, []string{"/big.tar"}},
		{"a part with another name", func(t *testing.T, _ *shop, root, part, _ string) {
			require.NoError(t, os.Link(part, filepath.Join(root, "other")))
		}, []string{"/big.tar"}},
		{"a link", func(t *testing.T, _ *shop, root, part, _ string) {
			require.NoError(t, os.Rename(part, filepath.Join(root, "other")))
			require.NoError(t, os.Symlink("other", part))
		}, []string{"/big.tar"}},
		{"a note that others may write", func(t *testing.T, _ *shop, _, _, memo string) { require.NoError(t, os.Chmod(memo, 0o644)) }, []string{"/big.tar"}},
		{"a note that is none", func(t *testing.T, _ *shop, _, _, memo string) {
			require.NoError(t, os.WriteFile(memo, []byte("{"), 0o600))
		}, []string{"/big.tar"}},
		{"no note", func(t *testing.T, _ *shop, _, _, memo string) { require.NoError(t, os.Remove(memo)) }, []string{"/big.tar"}},
		{"something else in its place", func(t *testing.T, _ *shop, _, part, _ string) {
			require.NoError(t, os.Remove(part))
			require.NoError(t, os.MkdirAll(filepath.Join(part, "x"), 0o700))
		}, []string{"/big.tar"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newShop(t)
			s.files["/big.tar"] = big
			root := modtest.Root(t)
			typ := archive.FullType(download.Client{Tries: 1})
			s.breakAfter = 2 << 20
			properties := `{"name":"$ROOT/big.tar","url":"` + s.URL + `/big.tar",` + own + `}`
			_, err := apply(t, typ, root, properties)
			require.Error(t, err)
			tt.change(t, s, root, filepath.Join(root, ".big.tar.ccm-part"), filepath.Join(root, ".big.tar.ccm-etag"))
			s.breakAfter, s.asks = 0, nil
			want := sum(s.files["/big.tar"])
			_, err = apply(t, typ, root, strings.Replace(properties, `,"owner"`, `,"checksum":"`+want+`","owner"`, 1))
			require.NoError(t, err)
			require.Equal(t, tt.asks, s.asks)
			require.Equal(t, want, sum(must(os.ReadFile(filepath.Join(root, "big.tar")))))
		})
	}
}

// TestPredicts checks that later resources of a check run see the predicted results of an archive.
func TestPredicts(t *testing.T) {
	s := newShop(t)
	app := tarball(t, "bin/app", "x", "conf", "x")
	s.files["/app.tar.gz"] = app
	types := modules.Registry{archive.FullType(quick), file.Type(), exec.Type(), link.Type()}
	arch := func(more string) modtest.Step {
		return modtest.Step{Type: "archive", Properties: `{"name":"$ROOT/app.tar.gz","url":"` + s.URL + `/app.tar.gz",` + own + more + `}`}
	}
	write := func(name string) modtest.Step {
		return modtest.Step{Type: "file", Properties: `{"name":"$ROOT/` + name + `","content":"y","mode":"0644",` + own + `}`}
	}
	opt := `,"extract_parent":"$ROOT/opt","creates":"$ROOT/opt/bin/app"`
	s.files["/app/app.tar.gz"] = tarball(t, "app/bin/app", "x", "app/conf", "x")
	release := modtest.Step{Type: "archive", Properties: `{"name":"$ROOT/app.tar.gz","url":"` + s.URL + `/app/app.tar.gz","extract_parent":"$ROOT/opt","creates":"$ROOT/opt/app/bin/app",` + own + `}`}
	there := modtest.Node{Path: "app.tar.gz", Text: string(app), Mode: 0o600}
	dir := modtest.Node{Path: "opt", Dir: true}
	for _, sc := range []modtest.Scenario{
		{
			Name:  "what is below is not known, what is beside is",
			Tree:  []modtest.Node{dir, {Path: "l", Link: "opt"}},
			Steps: []modtest.Step{arch(opt), write("opt/conf"), write("l/other"), write("beside"), {Type: "exec", Properties: `{"name":"false","creates":"$ROOT/opt/bin/app"}`}},
			Want:  []string{"changed likely", "changed unknown", "changed unknown", "changed", "stable unknown"},
		},
		{
			Name:  "a folder with the name of the archive",
			Tree:  []modtest.Node{dir, {Path: "opt/old", Link: "app"}},
			Steps: []modtest.Step{release, write("opt/conf"), write("opt/app/conf"), {Type: "link", Properties: `{"name":"$ROOT/opt/old","target":"app"}`}, {Type: "link", Properties: `{"name":"$ROOT/opt/current","target":"app"}`}},
			Want:  []string{"changed likely", "changed likely", "changed unknown", "stable unknown", "changed likely"},
		},
		{
			Name:  "a directory that is made",
			Steps: []modtest.Step{arch(opt), write("opt/conf"), write("opt/bin/app")},
			Want:  []string{"changed likely", "changed unknown", "changed unknown"},
		},
		{
			Name:  "only the file",
			Steps: []modtest.Step{arch(""), write("beside"), arch("")},
			Want:  []string{"changed likely", "changed", "stable unknown"},
		},
		{
			Name:  "a left-over",
			Tree:  []modtest.Node{there, dir, {Path: "opt/bin", Dir: true}, {Path: "opt/bin/app", Text: "x"}},
			Steps: []modtest.Step{arch(opt + `,"cleanup":true`), arch(opt + `,"cleanup":true`), write("opt/conf")},
			Want:  []string{"changed", "stable", "changed"},
		},
		{
			Name:  "twice",
			Steps: []modtest.Step{arch(opt + `,"cleanup":true`), arch(opt + `,"cleanup":true`)},
			Want:  []string{"changed likely", "stable unknown"},
		},
		{
			Name: "removed",
			Tree: []modtest.Node{there},
			Steps: []modtest.Step{
				{Type: "archive", Properties: `{"name":"$ROOT/app.tar.gz","ensure":"absent"}`},
				{Type: "archive", Properties: `{"name":"$ROOT/app.tar.gz","ensure":"absent"}`},
			},
			Want: []string{"changed", "stable"},
		},
	} {
		t.Run(sc.Name, func(t *testing.T) { modtest.Predicts(t, types, sc) })
	}
}

// TestCancelled checks that an interrupted download leaves no archive.
func TestCancelled(t *testing.T) {
	root := modtest.Root(t)
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte("beginning"))
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	res := modtest.Decode(t, modules.Registry{archive.FullType(quick)}, "archive", `{"name":"$ROOT/a.tar","url":"`+server.URL+`/a.tar",`+own+`}`, root)
	h := modtest.Host()
	plan, err := res.Check(t.Context(), modules.ReadOnly(h))
	require.NoError(t, err)
	require.EqualError(t, res.Apply(ctx, h, plan), "download failed: "+server.URL+"/a.tar: context canceled")
	require.Len(t, modtest.State(t, root), 1)
}

// TestPredictsOtherNames changes the attributes of an archive with two names: the other one cannot be predicted by its
// path.
func TestPredictsOtherNames(t *testing.T) {
	root := modtest.Root(t)
	modtest.Build(t, root, []modtest.Node{{Path: "a.tar", Text: "x", Mode: 0o600}})
	res := modtest.Decode(t, modules.Registry{archive.LeanType()}, "archive",
		`{"name":"$ROOT/a.tar","url":"http://127.0.0.1/a.tar","owner":"$UID","group":"$GID","mode":"0644"}`, root)
	for _, links := range []int{1, 2} {
		plan, err := res.Check(t.Context(), modules.ReadOnly(modtest.Host()))
		require.NoError(t, err)
		require.Equal(t, "updated attributes", plan.Action)
		require.Len(t, plan.Effects, links)
		require.Equal(t, links > 1, slices.Contains(plan.Effects, modules.Anything))
		require.NoError(t, os.Link(filepath.Join(root, "a.tar"), filepath.Join(root, fmt.Sprint("other", links))))
	}
}

// TestPredicted checks that the parts of an action are reported in CCM's words.
func TestPredicted(t *testing.T) {
	plan := modules.Plan{Action: "downloaded. extracted. cleaned up"}
	require.Equal(t, "Would have downloaded. Would have extracted. Would have cleaned up", plan.Predicted())
}

func TestWireForm(t *testing.T) {
	b, err := json.Marshal(modules.PromisedContent(strings.Repeat("0a", 32)))
	require.NoError(t, err)
	require.Equal(t, `{"promised":"`+strings.Repeat("0a", 32)+`"}`, string(b))
}
