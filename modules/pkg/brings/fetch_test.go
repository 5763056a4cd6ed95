package brings_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/pkg/brings"
)

// remote serves package files, and counts requests and bytes.
type remote struct {
	*httptest.Server
	requests, bytes atomic.Int64
}

type counting struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c counting) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.n.Add(int64(n))
	return n, err
}

// serve serves a file in place of its local path; change may answer first.
func serve(t *testing.T, files []brings.File, change func(w http.ResponseWriter, r *http.Request) bool) *remote {
	s := &remote{}
	paths := map[string]string{}
	for i := range files {
		paths["/"+files[i].Name] = strings.TrimPrefix(files[i].URI, "file:")
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		if change == nil || !change(w, r) {
			http.ServeFile(counting{w, &s.bytes}, r, paths[r.URL.Path])
		}
	}))
	t.Cleanup(s.Close)
	for i := range files {
		files[i].URI = s.URL + "/" + url.PathEscape(files[i].Name)
	}
	return s
}

func packagesOf(files []brings.File) []*brings.Package {
	var all []*brings.Package
	for _, f := range files {
		name, _, _ := strings.Cut(f.Name, "_")
		all = append(all, &brings.Package{Name: name, Fresh: true, File: f})
	}
	return all
}

// noise does not compress.
func noise(n int) string {
	var b strings.Builder
	x := uint64(88172645463325252)
	for b.Len() < n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		fmt.Fprintf(&b, "%016x", x)
	}
	return b.String()
}

func TestFetch(t *testing.T) {
	files := []brings.File{
		build(t, "small", map[string]string{"usr/share/small/a": "a"}),
		build(t, "large", map[string]string{"DEBIAN/conffiles": "/etc/large.conf\n", "etc/large.conf": "x = 1\n", "usr/share/large/a": noise(1 << 20)}),
		build(t, "library", map[string]string{"usr/share/library/a": noise(1 << 20)}),
	}
	s := serve(t, files, nil)
	f := fetcher(t)
	require.NoError(t, f.Look(t.Context(), look, packagesOf(files)))
	require.LessOrEqual(t, s.bytes.Load(), int64(64<<10+16<<10+files[0].Size), "the beginning of large files")
	kept, err := os.ReadDir(f.Cache.Dir())
	require.NoError(t, err)
	require.Len(t, kept, 6, "parts of three packages, and their origins")
	for _, e := range kept {
		info, err := e.Info()
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode())
	}

	was := s.requests.Load()
	require.NoError(t, f.Look(t.Context(), look, packagesOf(files)))
	require.Equal(t, was, s.requests.Load(), "what is kept is not fetched again")

	dir := t.TempDir()
	again := fetcher(t)
	again.Archives = dir
	for i, name := range []string{"small", "large", "library"} {
		file := build(t, name, map[string]string{"usr/share/" + name + "/a": "local"})
		require.NoError(t, os.Rename(strings.TrimPrefix(file.URI, "file:"), filepath.Join(dir, file.Name)))
		files[i].Size = file.Size
	}
	require.NoError(t, again.Look(t.Context(), look, packagesOf(files)))
	require.Equal(t, was, s.requests.Load(), "apt has them")
}

func TestFetchFromLyingServers(t *testing.T) {
	for name, change := range map[string]func(w http.ResponseWriter, r *http.Request) bool{
		"missing": func(w http.ResponseWriter, r *http.Request) bool { http.NotFound(w, r); return true },
		"another size": func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Range", "bytes 0-16383/99999999")
			w.WriteHeader(http.StatusPartialContent)
			return true
		},
		"endless": func(w http.ResponseWriter, _ *http.Request) bool {
			for range 1 << 10 {
				if _, err := w.Write(make([]byte, 64<<10)); err != nil {
					break
				}
			}
			return true
		},
		"no package": func(w http.ResponseWriter, r *http.Request) bool {
			from, to := 0, 0
			_, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to)
			if err != nil {
				return false
			}
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, 1<<20))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(make([]byte, to-from+1))
			return true
		},
		"bomb": func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Length", fmt.Sprint(1<<20))
			head := "!<arch>\ndebian-binary   0           0     0     100644  4         `\n2.0\ncontrol.tar.xz  0           0     0     100644  9999999999`\n"
			_, _ = w.Write(append([]byte(head), make([]byte, 1<<20-len(head))...))
			return true
		},
		"away": func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "ftp://localhost/x", http.StatusFound)
			return true
		},
		"loop": func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := []brings.File{{Name: "demo_1_all.deb", Size: 1 << 20, SHA256: strings.Repeat("a", 64)}}
			s := serve(t, files, change)
			require.Error(t, fetcher(t).Look(t.Context(), look, packagesOf(files)))
			require.LessOrEqual(t, s.requests.Load(), int64(8))
		})
	}
	files := []brings.File{build(t, "changed", map[string]string{"usr/share/a": "a"})}
	serve(t, files, nil)
	files[0].SHA256 = strings.Repeat("b", 64)
	require.ErrorContains(t, fetcher(t).Look(t.Context(), look, packagesOf(files)), "something else", "a whole file with another hash")
}

func TestFetchThroughProxies(t *testing.T) {
	file := build(t, "proxied", map[string]string{"usr/share/a": "a"})
	local := strings.TrimPrefix(file.URI, "file:")
	var asked atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host == "archive.invalid" {
			asked.Add(1)
			http.ServeFile(w, r, local)
		}
	}))
	t.Cleanup(proxy.Close)
	file.URI = "http://archive.invalid/proxied_1_all.deb"
	for _, c := range []struct {
		settings string
		ok       bool
	}{
		{`Acquire::http::Proxy "` + proxy.URL + `";`, true},
		{`Acquire::http::Proxy::archive.invalid "` + proxy.URL + `/";`, true},
		{`Acquire::http::Proxy "http://[::1]:1"; Acquire::http::Proxy::archive.invalid "` + proxy.URL + `";`, true},
		{`Acquire::http::Proxy "` + proxy.URL + `"; Acquire::http::Proxy::archive.invalid "DIRECT";`, false},
		{`Acquire::http::Proxy "` + proxy.URL + `"; Acquire::http::Proxy-Auto-Detect "/usr/bin/auto";`, false},
		{`Acquire::http::Proxy "socks5h://localhost:1";`, false},
		{`Acquire::https::CaInfo "/etc/ca.pem"; Acquire::http::Proxy "` + proxy.URL + `";`, false},
		{``, false},
	} {
		f, s := fetcher(t), brings.Settings{}
		f.Proxy = s.Proxy
		for line := range strings.SplitAfterSeq(c.settings, "; ") {
			s.Add(strings.TrimSpace(line))
		}
		err := f.Look(t.Context(), look, packagesOf([]brings.File{file}))
		require.Equal(t, c.ok, err == nil, "%s: %v", c.settings, err)
	}
	require.EqualValues(t, 3, asked.Load())
	f, s := fetcher(t), brings.Settings{}
	f.Proxy = s.Proxy
	s.Add(`Acquire::http::Proxy "` + proxy.URL + `";`)
	f.Password = func(host string) bool { return host == "archive.invalid" }
	require.Error(t, f.Look(t.Context(), look, packagesOf([]brings.File{file})))
	require.EqualValues(t, 3, asked.Load())
	for _, uri := range []string{"mirror+http://archive.invalid/x", "http://u:p@archive.invalid/x", "cdrom:x", "ftp://archive.invalid/x", "file:/no/such.deb", ""} {
		file.URI = uri
		require.Error(t, f.Look(t.Context(), look, packagesOf([]brings.File{file})), uri)
	}
}

func TestCache(t *testing.T) {
	parent := t.TempDir()
	cache, err := brings.OpenCache(parent, "packages", "parts")
	require.NoError(t, err)
	info, err := os.Stat(cache.Dir())
	require.NoError(t, err)
	require.Equal(t, os.ModeDir|0o700, info.Mode())
	size := func() (n int64) {
		entries, err := os.ReadDir(cache.Dir())
		require.NoError(t, err)
		for _, e := range entries {
			info, err := e.Info()
			require.NoError(t, err)
			n += info.Size()
		}
		return n
	}
	for i := range 40 {
		require.NoError(t, cache.Keep(fmt.Sprintf("%064x", i), make([]byte, 300<<10)))
	}
	require.LessOrEqual(t, size(), int64(8<<20))
	_, err = os.Stat(filepath.Join(cache.Dir(), fmt.Sprintf("%064x", 39)))
	require.NoError(t, err, "the newest stays")

	require.NoError(t, os.Chmod(cache.Dir(), 0o777))
	_, err = brings.OpenCache(parent, "packages", "parts")
	require.Error(t, err, "others may write")
	require.NoError(t, os.RemoveAll(cache.Dir()))
	require.NoError(t, os.Symlink(t.TempDir(), cache.Dir()))
	_, err = brings.OpenCache(parent, "packages", "parts")
	require.Error(t, err, "a link")
}

func TestParseURI(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	got, err := brings.ParseURI("'http://h/p/redis_7%7e_all.deb' redis_5%3a7~_all.deb 26044 SHA256:" + sum)
	require.NoError(t, err)
	require.Equal(t, brings.File{URI: "http://h/p/redis_7%7e_all.deb", Name: "redis_5%3a7~_all.deb", Size: 26044, SHA256: sum}, got)
	for _, line := range []string{"", "E: no", "'http://h/a' a.deb 1 MD5Sum:00", "'http://h/a' ../a.deb 1 SHA256:" + sum, "'http://h/a' a.deb -1 SHA256:" + sum, "'http://h/a' a.deb 1"} {
		_, err := brings.ParseURI(line)
		require.Error(t, err, line)
	}
}

func FuzzParseURI(f *testing.F) {
	f.Add("'http://h/p/redis_7%7e_all.deb' redis_5%3a7~_all.deb 26044 SHA256:" + strings.Repeat("0a", 32))
	f.Fuzz(func(t *testing.T, line string) {
		if file, err := brings.ParseURI(line); err == nil {
			require.NotContains(t, file.Name, "/")
			require.Len(t, file.SHA256, 64)
		}
	})
}

func TestSettings(t *testing.T) {
	s := brings.Settings{}
	for line := range strings.Lines("Dir \"/\";\nDir::Cache \"var/cache/apt\";\nDir::Cache::archives \"archives/\";\nDir::Etc \"etc/apt\";\nDir::Etc::netrc \"/srv/auth.conf\";\n") {
		s.Add(strings.TrimSpace(line))
	}
	require.Equal(t, "/var/cache/apt/archives", s.Dir("Dir::Cache::archives"))
	require.Equal(t, "/srv/auth.conf", s.Dir("Dir::Etc::netrc"))
	require.Empty(t, s.Dir("Dir::Etc::none"))
	require.True(t, brings.NeedsPassword("machine https://h.example/debian login u password p", "h.example"))
	require.True(t, brings.NeedsPassword("machine other\nmachine h.example:80 login u", "H.example"))
	require.False(t, brings.NeedsPassword("machine h.example.org login machine password h.example", "example"))
}
