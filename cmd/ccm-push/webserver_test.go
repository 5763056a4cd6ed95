package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// A webServer answers with what its pages say.
type webServer struct {
	*httptest.Server
	pages map[string]http.HandlerFunc
}

func newWebServer(t *testing.T, start func(http.Handler) *httptest.Server) *webServer {
	s := &webServer{pages: map[string]http.HandlerFunc{}}
	s.Server = start(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *webServer) serve(w http.ResponseWriter, r *http.Request) {
	if page := s.pages[r.URL.Path]; page != nil {
		page(w, r)
		return
	}
	http.NotFound(w, r)
}

// with is the URL of a page with credentials in it.
func (s *webServer) with(user, path string) string {
	return strings.Replace(s.URL, "://", "://"+user, 1) + path
}

func text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, s) }
}

// webserve serves a folder of a script to ann, whose password is secret:
// webserve FOLDER. $WEB is the address.
func webserve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: webserve FOLDER")
	}
	folder := http.FileServer(http.Dir(ts.MkAbs(args[0])))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "ann" || password != "secret" {
			http.Error(w, "who is this?", http.StatusUnauthorized)
			return
		}
		folder.ServeHTTP(w, r)
	}))
	ts.Defer(server.Close)
	ts.Setenv("WEB", strings.TrimPrefix(server.URL, "http://"))
}
