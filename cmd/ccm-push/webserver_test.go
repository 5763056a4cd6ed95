package main

import (
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

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
