package download_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/download"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A site is a web server that records its requests.
type site struct {
	*httptest.Server
	mu   sync.Mutex
	asks []*http.Request
}

func serve(t *testing.T, start func(http.Handler) *httptest.Server, handle http.HandlerFunc) *site {
	t.Helper()
	s := &site{}
	s.Server = start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asks = append(s.asks, r)
		s.mu.Unlock()
		handle(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(s.Close)
	return s
}

// headers returns one header of each request.
func (s *site) headers(name string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, r := range s.asks {
		all = append(all, r.Header.Get(name))
	}
	return all
}

var content = bytes.Repeat([]byte("0123456789abcdef"), 10_000)

// file serves the content with an ETag and ranges.
func file(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", `"v1"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// broken serves the first bytes of it and hangs up.
func broken(w http.ResponseWriter, n int) {
	w.Header().Set("ETag", `"v1"`)
	w.Header().Set("Content-Length", fmt.Sprint(len(content)))
	w.Write(content[:n])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// into is a file that holds the first n bytes.
func into(t *testing.T, n int) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	_, err = f.Write(content[:n])
	require.NoError(t, err)
	return f
}

func holds(t *testing.T, f *os.File, want []byte) {
	t.Helper()
	b, err := os.ReadFile(f.Name())
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, b), "%d bytes, want %d", len(b), len(want))
}

func of(url string) modules.Download { return modules.Download{URL: url, MaxSize: 1 << 20} }

var quick = download.Client{Pause: time.Nanosecond}

func TestGet(t *testing.T) {
	s := serve(t, httptest.NewServer, file)
	f, part := into(t, 5), download.Part{Size: 5} // a part of unknown version
	d := of(s.URL + "/app.tar.gz?token=secret")
	d.Headers = map[string]string{"X-Token": "t", "user-agent": "mine"}
	d.Username, d.Password = "deploy", "p:w"
	require.NoError(t, quick.Get(t.Context(), d, f, &part))
	holds(t, f, content)
	require.Equal(t, download.Part{Size: int64(len(content)), ETag: `"v1"`}, part)
	require.Len(t, s.asks, 1)
	r := s.asks[0]
	user, password, _ := r.BasicAuth()
	require.Equal(t, []string{"deploy", "p:w", "t", "mine", "identity", "", "secret"},
		[]string{user, password, r.Header.Get("X-Token"), r.UserAgent(), r.Header.Get("Accept-Encoding"), r.Header.Get("Range"), r.URL.Query().Get("token")})
}

func TestGetOverTLS(t *testing.T) {
	s := serve(t, httptest.NewTLSServer, file)
	f, part := into(t, 0), download.Part{}
	err := quick.Get(t.Context(), of(s.URL+"/a.tar?token=secret"), f, &part)
	require.EqualError(t, err, s.URL+"/a.tar?…: tls: failed to verify certificate: x509: certificate signed by unknown authority"+
		" (update the package ca-certificates on this machine, or use the certificates of the controller: 'fetch: controller')")
	client := quick
	client.Roots = x509.NewCertPool()
	client.Roots.AddCert(s.Certificate())
	require.NoError(t, client.Get(t.Context(), of(s.URL+"/a.tar"), f, &part))
	holds(t, f, content)
}

func TestGetContinues(t *testing.T) {
	t.Run("what was kept", func(t *testing.T) {
		s := serve(t, httptest.NewServer, file)
		f, part := into(t, 1000), download.Part{Size: 1000, ETag: `"v1"`}
		require.NoError(t, quick.Get(t.Context(), of(s.URL+"/a.tar"), f, &part))
		holds(t, f, content)
		require.Equal(t, []string{"bytes=1000-"}, s.headers("Range"))
		require.Equal(t, []string{`"v1"`}, s.headers("If-Range"))
	})
	t.Run("another version", func(t *testing.T) {
		s := serve(t, httptest.NewServer, file)
		f, part := into(t, 1000), download.Part{Size: 1000, ETag: `"v0"`}
		require.NoError(t, quick.Get(t.Context(), of(s.URL+"/a.tar"), f, &part))
		holds(t, f, content)
		require.Equal(t, `"v1"`, part.ETag)
	})
	t.Run("a connection that breaks again and again", func(t *testing.T) {
		n := 0
		s := serve(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) {
			n++
			switch n {
			case 1:
				broken(w, 70_000)
			case 2:
				w.Header().Set("ETag", `"v1"`)
				w.Header().Set("Content-Range", fmt.Sprintf("bytes 70000-%d/%d", len(content)-1, len(content)))
				w.Header().Set("Content-Length", fmt.Sprint(len(content)-70_000))
				w.WriteHeader(http.StatusPartialContent)
				w.Write(content[70_000:80_000])
				panic(http.ErrAbortHandler)
			default:
				file(w, r)
			}
		})
		f, part := into(t, 0), download.Part{}
		require.NoError(t, quick.Get(t.Context(), of(s.URL+"/a.tar"), f, &part))
		holds(t, f, content)
		require.Len(t, s.asks, 3)
	})
	t.Run("a server without ranges", func(t *testing.T) {
		n := 0
		s := serve(t, httptest.NewServer, func(w http.ResponseWriter, _ *http.Request) {
			if n++; n == 1 {
				broken(w, 100)
			}
			w.Write(content)
		})
		f, part := into(t, 0), download.Part{}
		require.NoError(t, quick.Get(t.Context(), of(s.URL+"/a.tar"), f, &part))
		holds(t, f, content)
		require.Empty(t, part.ETag)
	})
	t.Run("a server with other ideas of a range", func(t *testing.T) {
		for _, answer := range []string{"bytes 0-9/10", "bytes 5-", "5-9/10", "bytes x-9/10", "", "bytes -5-9/10"} {
			s := serve(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Range") == "" {
					file(w, r)
					return
				}
				w.Header().Set("Content-Range", answer)
				w.WriteHeader(http.StatusPartialContent)
				w.Write([]byte("nonsense"))
			})
			f, part := into(t, 1000), download.Part{Size: 1000, ETag: `"v1"`}
			require.NoError(t, quick.Get(t.Context(), of(s.URL+"/a.tar"), f, &part))
			holds(t, f, content)
		}
	})
	t.Run("the part is longer than the file", func(t *testing.T) {
		s := serve(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"v1"`)
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content[:10]))
		})
		f, part := into(t, 1000), download.Part{Size: 1000, ETag: `"v1"`}
		require.NoError(t, quick.Get(t.Context(), of(s.URL+"/a.tar"), f, &part))
		holds(t, f, content[:10])
	})
}

func TestGetErrors(t *testing.T) {
	refused, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	refused.Close()
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	for _, tt := range []struct {
		name   string
		handle http.HandlerFunc
		asks   int
		err    string
	}{
		{"not found", status(404), 1, "URL/a.tar?…: HTTP request failed with status 404: Not Found"},
		{"refused", status(401), 1, "URL/a.tar?…: HTTP request failed with status 401: Unauthorized"},
		{"overloaded", status(503), 3, "URL/a.tar?…: HTTP request failed with status 503: Service Unavailable"},
		{"nothing new", status(304), 1, "URL/a.tar?…: HTTP request failed with status 304: Not Modified"},
		{"a range nobody asked for", status(206), 3, "URL/a.tar?…: the server answered with another part of the file"},
		{"larger than it may be", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "2000000")
			w.WriteHeader(http.StatusOK)
		}, 1, `URL/a.tar?…: it is larger than 1 MiB; raise "max_size" if that is right`},
		{"larger than it may be, without saying so", func(w http.ResponseWriter, _ *http.Request) {
			for range 200 {
				w.Write(content[:10_000])
			}
		}, 1, `URL/a.tar?…: it is larger than 1 MiB; raise "max_size" if that is right`},
		{"always broken", func(w http.ResponseWriter, _ *http.Request) { broken(w, 1000) }, 3, "URL/a.tar?…: the connection broke after 1000 bytes: unexpected EOF"},
		{"a circle", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/a.tar?token=other", http.StatusFound)
		}, 11, "URL/a.tar?…: more than 10 redirects"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, httptest.NewServer, tt.handle)
			client := quick
			client.Tries = 3
			f, part := into(t, 0), download.Part{}
			d := of(s.URL + "/a.tar?token=secret")
			d.Username, d.Password = "deploy", "secret"
			err := client.Get(t.Context(), d, f, &part)
			require.EqualError(t, err, strings.ReplaceAll(tt.err, "URL", s.URL))
			require.Len(t, s.asks, tt.asks)
			info, err := f.Stat()
			require.NoError(t, err)
			require.Equal(t, part.Size, info.Size(), "part says what is there")
		})
	}
	t.Run("nobody there", func(t *testing.T) {
		f, part := into(t, 0), download.Part{}
		err := quick.Get(t.Context(), of("http://"+refused.Addr().String()+"/a.tar?token=secret"), f, &part)
		require.EqualError(t, err, fmt.Sprintf("http://%s/a.tar?…: dial tcp %[1]s: connect: connection refused", refused.Addr()))
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := serve(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"v1"`)
			w.Write(content[:1000])
			w.(http.Flusher).Flush()
			cancel()
			<-r.Context().Done()
		})
		f, part := into(t, 0), download.Part{}
		err := quick.Get(ctx, of(s.URL+"/a.tar"), f, &part)
		require.EqualError(t, err, s.URL+"/a.tar: context canceled")
		require.Len(t, s.asks, 1)
	})
	t.Run("a server that falls silent", func(t *testing.T) {
		s := serve(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"v1"`)
			w.Write(content[:1000])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		client := quick
		client.Idle, client.Tries = 50*time.Millisecond, 1
		f, part := into(t, 0), download.Part{}
		err := client.Get(t.Context(), of(s.URL+"/a.tar"), f, &part)
		require.EqualError(t, err, s.URL+"/a.tar: the server sent nothing for 50ms")
	})
}

// TestOnHost checks which errors of a download on a host get a hint.
func TestOnHost(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	get := func() error {
		file, err := os.CreateTemp(t.TempDir(), "")
		require.NoError(t, err)
		defer file.Close()
		return download.OnHost(download.Client{}.Get(t.Context(), modules.Download{URL: server.URL + "/a.tar", MaxSize: 1}, file, &download.Part{}))
	}
	require.EqualError(t, get(), server.URL+"/a.tar: HTTP request failed with status 404: Not Found")
	server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	require.EqualError(t, get(), server.URL+"/a.tar: dial tcp "+address+": connect: connection refused (if the controller can reach that server, write fetch: controller)")
	require.NoError(t, download.OnHost(nil))
}

// TestRedirects checks that credentials are sent only to the server of the manifest.
func TestRedirects(t *testing.T) {
	secrets := func(r *http.Request) string {
		return strings.Join([]string{r.Header.Get("Authorization"), r.Header.Get("X-Token"), r.Header.Get("Cookie"), r.Header.Get("Referer")}, "|")
	}
	get := func(t *testing.T, url string, roots ...*httptest.Server) error {
		client := quick
		client.Roots = x509.NewCertPool()
		for _, s := range roots {
			client.Roots.AddCert(s.Certificate())
		}
		d := of(url)
		d.Username, d.Password = "deploy", "secret"
		d.Headers = map[string]string{"x-token": "t", "Cookie": "c=1"}
		f, part := into(t, 0), download.Part{}
		return client.Get(t.Context(), d, f, &part)
	}
	const given = "Basic ZGVwbG95OnNlY3JldA==|t|c=1|"
	t.Run("the same server", func(t *testing.T) {
		s := serve(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) {
			require.Equal(t, given, secrets(r))
			if r.URL.Path == "/a.tar" {
				http.Redirect(w, r, "/b.tar", http.StatusFound)
				return
			}
			file(w, r)
		})
		require.NoError(t, get(t, s.URL+"/a.tar?token=1"))
		require.Len(t, s.asks, 2)
	})
	t.Run("another server, and back", func(t *testing.T) {
		var first, other *site
		other = serve(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) {
			require.Equal(t, "|||", secrets(r))
			http.Redirect(w, r, first.URL+"/c.tar", http.StatusFound)
		})
		first = serve(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/a.tar" {
				require.Equal(t, given, secrets(r))
				http.Redirect(w, r, strings.Replace(other.URL, "://", "://u:p@", 1)+"/b.tar", http.StatusFound)
				return
			}
			require.Equal(t, "|||", secrets(r))
			file(w, r)
		})
		require.NoError(t, get(t, first.URL+"/a.tar?token=1"))
		require.Len(t, first.asks, 2)
		require.Len(t, other.asks, 1)
	})
	t.Run("to encryption", func(t *testing.T) {
		secure := serve(t, httptest.NewTLSServer, func(w http.ResponseWriter, r *http.Request) {
			require.Equal(t, "|||", secrets(r))
			file(w, r)
		})
		s := serve(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, secure.URL+"/a.tar", http.StatusFound)
		})
		require.NoError(t, get(t, s.URL+"/a.tar", secure.Server))
	})
	t.Run("away from encryption", func(t *testing.T) {
		open := serve(t, httptest.NewServer, file)
		secure := serve(t, httptest.NewTLSServer, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, open.URL+"/b.tar?token=other", http.StatusFound)
		})
		err := get(t, secure.URL+"/a.tar?token=1", secure.Server)
		require.EqualError(t, err, secure.URL+"/a.tar?…: it leads from https:// to a server without encryption")
		require.Empty(t, open.asks)
	})
}

// TestShownURL checks that shown URLs contain no secrets.
func TestShownURL(t *testing.T) {
	for url, want := range map[string]string{
		"https://u:p@example.com/a%2Fb.tar?sig=x#f": "https://example.com/a%2Fb.tar?…",
		"http://example.com:8080/a.tar":             "http://example.com:8080/a.tar",
		"http://[::1":                               "a URL that cannot be read",
	} {
		require.Equal(t, want, modules.ShownURL(url))
	}
}
