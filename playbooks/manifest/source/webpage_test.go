package source

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A webServer serves its pages and records the requests.
type webServer struct {
	*httptest.Server
	pages map[string]http.HandlerFunc

	mu    sync.Mutex
	asked []string // path and credentials
}

func newWebServer(t *testing.T, start func(http.Handler) *httptest.Server) *webServer {
	s := &webServer{pages: map[string]http.HandlerFunc{}}
	s.Server = start(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *webServer) serve(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	s.mu.Lock()
	s.asked = append(s.asked, strings.TrimSuffix(r.URL.String()+" "+user+":"+password+" "+r.Referer(), " "))
	s.mu.Unlock()
	if page := s.pages[r.URL.Path]; page != nil {
		page(w, r)
		return
	}
	http.NotFound(w, r)
}

// takeAsked returns the requests since the last call.
func (s *webServer) takeAsked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

// with is the URL of a page with credentials in it.
func (s *webServer) with(user, path string) string {
	return strings.Replace(s.URL, "://", "://"+user, 1) + path
}

func text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, s) }
}

func moved(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
}

func readPage(t *testing.T, transport http.RoundTripper, address string) (string, error) {
	page, err := ParsePage(address)
	require.NoError(t, err)
	data, err := page.Read(t.Context(), transport, PageLimits{time.Minute, DataLimits.Bytes})
	return string(data), err
}

func TestPage(t *testing.T) {
	s := newWebServer(t, httptest.NewServer)
	other := newWebServer(t, httptest.NewServer)
	other.pages["/"] = text("elsewhere")
	other.pages["/back"] = moved(s.URL + "/data")
	s.pages["/data"] = text("a: 1\n")
	s.pages["/empty"] = text("")
	s.pages["/max"] = text(strings.Repeat("x", int(DataLimits.Bytes)))
	s.pages["/large"] = text(strings.Repeat("x", int(DataLimits.Bytes)+1))
	s.pages["/created"] = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }
	s.pages["/forbidden"] = func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "hunter2", http.StatusUnauthorized)
	}
	s.pages["/cut"] = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "a: 1\n")
	}
	s.pages["/moved"] = moved("/data")
	s.pages["/away"] = moved(other.URL + "/")
	s.pages["/away-and-back"] = moved(other.URL + "/back")
	s.pages["/with-user"] = moved(s.with("eve:x@", "/data"))
	s.pages["/5"] = moved("/4")
	s.pages["/4"] = moved("/3")
	s.pages["/3"] = moved("/2")
	s.pages["/2"] = moved("/1")
	s.pages["/1"] = moved("/data")
	s.pages["/6"] = moved("/5")
	s.pages["/loop"] = moved("/loop")
	s.pages["/file"] = moved("file:///etc/passwd")
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	for _, c := range []struct{ name, url, want, asked, err string }{
		{"a page", s.URL + "/data", "a: 1\n", "/data :", ""},
		{"nothing in it", s.URL + "/empty", "", "/empty :", ""},
		{"user and password", s.with("ann:p%40ss@", "/data"), "a: 1\n", "/data ann:p@ss", ""},
		{"a user", s.with("ann@", "/data"), "a: 1\n", "/data ann:", ""},
		{"a query", s.URL + "/data?token=hunter2", "a: 1\n", "/data?token=hunter2 :", ""},
		{"none", s.with("ann:hunter2@", "/none?token=hunter2#hunter2"), "", "/none?token=hunter2 ann:hunter2",
			"reading " + s.URL + "/none?…: the answer is 404 Not Found"},
		{"forbidden", s.URL + "/forbidden", "", "/forbidden :", "reading " + s.URL + "/forbidden: the answer is 401 Unauthorized"},
		{"only 200 is a success", s.URL + "/created", "", "/created :", "reading " + s.URL + "/created: the answer is 201 Created"},
		{"too large", s.URL + "/large", "", "/large :", "reading " + s.URL + "/large: larger than 16 MiB"},
		{"cut off", s.URL + "/cut", "", "/cut :", "reading " + s.URL + "/cut: unexpected EOF"},
		{"moved", s.with("ann:hunter2@", "/moved"), "a: 1\n", "/moved ann:hunter2, /data ann:hunter2", ""},
		{"five redirects", s.URL + "/5", "a: 1\n", "/5 :, /4 :, /3 :, /2 :, /1 :, /data :", ""},
		{"six redirects", s.URL + "/6", "", "/6 :, /5 :, /4 :, /3 :, /2 :, /1 :", "reading " + s.URL + "/6: more than 5 redirects"},
		{"in a circle", s.URL + "/loop", "", "/loop :, /loop :, /loop :, /loop :, /loop :, /loop :", "reading " + s.URL + "/loop: more than 5 redirects"},
		{"to another server", s.with("ann:hunter2@", "/away?token=hunter2"), "elsewhere", "/away?token=hunter2 ann:hunter2 | / :", ""},
		{"away and back", s.with("ann:hunter2@", "/away-and-back"), "a: 1\n", "/away-and-back ann:hunter2, /data : | /back :", ""},
		{"with credentials of its own", s.with("ann:hunter2@", "/with-user"), "a: 1\n", "/with-user ann:hunter2, /data ann:hunter2", ""},
		{"to a file", s.URL + "/file", "", "/file :", "reading " + s.URL + "/file: unsupported protocol scheme \"file\""},
		{"no server", strings.Replace(dead.URL, "://", "://ann:hunter2@", 1), "", "",
			"reading " + dead.URL + ": dial tcp " + strings.TrimPrefix(dead.URL, "http://") + ": connect: connection refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := readPage(t, http.DefaultTransport, c.url)
			require.Equal(t, c.asked, strings.TrimSuffix(strings.Join(s.takeAsked(), ", ")+" | "+strings.Join(other.takeAsked(), ", "), " | "))
			if c.err != "" {
				require.EqualError(t, err, c.err)
				require.Empty(t, got)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	got, err := readPage(t, http.DefaultTransport, s.URL+"/max")
	require.NoError(t, err)
	require.Len(t, got, int(DataLimits.Bytes))
}

func TestPageEncrypted(t *testing.T) {
	s := newWebServer(t, func(h http.Handler) *httptest.Server {
		s := httptest.NewUnstartedServer(h)
		s.Config.ErrorLog = log.New(io.Discard, "", 0) // a client that does not trust it is expected
		s.StartTLS()
		return s
	})
	plain := newWebServer(t, httptest.NewServer)
	plain.pages["/"] = text("plain")
	plain.pages["/up"] = moved(s.URL + "/data")
	s.pages["/data"] = text("a: 1\n")
	s.pages["/down"] = moved(plain.URL + "/")
	trusting := s.Client().Transport

	got, err := readPage(t, trusting, s.with("ann:hunter2@", "/data"))
	require.NoError(t, err)
	require.Equal(t, "a: 1\n", got)
	require.Equal(t, []string{"/data ann:hunter2"}, s.takeAsked())

	_, err = readPage(t, trusting, s.with("ann:hunter2@", "/down"))
	require.EqualError(t, err, "reading "+s.URL+"/down: it redirects from https:// to an unencrypted page")
	require.Empty(t, plain.takeAsked())
	s.takeAsked()

	got, err = readPage(t, trusting, plain.with("ann:hunter2@", "/up"))
	require.NoError(t, err)
	require.Equal(t, "a: 1\n", got)
	require.Equal(t, []string{"/data :"}, s.takeAsked(), "another scheme is another server")

	_, err = readPage(t, http.DefaultTransport, s.with("ann:hunter2@", "/data"))
	require.EqualError(t, err, "reading "+s.URL+"/data: tls: failed to verify certificate: x509: certificate signed by unknown authority")
}

func TestPageEnds(t *testing.T) {
	s := newWebServer(t, httptest.NewServer)
	s.pages["/silent"] = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	s.pages["/slow"] = func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "a: 1\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	for _, path := range []string{"/silent", "/slow"} {
		page, err := ParsePage(s.with("ann:hunter2@", path))
		require.NoError(t, err)
		_, err = page.Read(t.Context(), http.DefaultTransport, PageLimits{50 * time.Millisecond, DataLimits.Bytes})
		require.EqualError(t, err, "reading "+s.URL+path+": no answer within 50ms")

		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("interrupted"))
		_, err = page.Read(ctx, http.DefaultTransport, PageLimits{time.Minute, DataLimits.Bytes})
		require.EqualError(t, err, "reading "+s.URL+path+": interrupted")
	}
}

func TestParsePage(t *testing.T) {
	const bad = "this is not a valid URL: write https://host/path, with %XX for special characters in a password"
	for _, c := range []struct {
		url, shown string
		clear      bool
		err        string
	}{
		{"https://ann:hunter2@h/x", "https://h/x", false, ""},
		{"http://ann:hunter2@h/x", "http://h/x", true, ""},
		{"http://ann@h:8080/", "http://h:8080/", true, ""},
		{"http://h/x", "http://h/x", false, ""},
		{"http://ann:hunter2@127.0.0.1/", "http://127.0.0.1/", false, ""},
		{"http://ann:hunter2@[::1]:80/", "http://[::1]:80/", false, ""},
		{"http://ann:hunter2@localhost/", "http://localhost/", false, ""},
		{"https://h/x y?token=hunter2#hunter2", "https://h/x%20y?…", false, ""},
		{"https://ann:hunter2%@h/x", "", false, bad},
		{"https://ann:hun/ter2@h/x", "", false, bad},
		{"https://", "", false, bad},
		{"//x://ann:hunter2@", "", false, bad},
		{"ftp://h/", "", false, bad},
		{"https:///x", "", false, bad},
		{"https://ann:hunter2@/x", "", false, bad},
		{"https://h\x1b[2J/", "", false, bad},
	} {
		page, err := ParsePage(c.url)
		if c.err != "" {
			require.EqualError(t, err, c.err, c.url)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.shown, page.String())
		require.Equal(t, c.clear, page.InTheClear(), c.url)
	}
}

// FuzzPage holds that nothing of user, password and query is shown.
func FuzzPage(f *testing.F) {
	for _, address := range []string{"https://h/x", "http://h:1/a?b=c#d", "https://[::1]/", "http://h/%zz", "http://a b/", "https://h/x@y"} {
		f.Add(address)
	}
	f.Fuzz(func(t *testing.T, address string) {
		scheme, rest, ok := strings.Cut(address, "://")
		if !ok || strings.Contains(address, "hunter2") {
			return
		}
		user := url.UserPassword("hunter2-user", "hunter2 @/:").String()
		page, err := ParsePage(scheme + "://" + user + "@" + rest)
		if err != nil {
			require.NotContains(t, err.Error(), "hunter2")
			return
		}
		if page.user != nil { // otherwise the rest has made a path of it
			require.NotContains(t, page.String(), "hunter2")
		}
	})
}
