// Command webfarm is a web server and the load balancer before it, for a rollout that must lose no
// request.
//
//	webfarm serve ADDRESS TEXT START     answer every request with the file TEXT, as it was at first;
//	                                     nothing is listened to before the address START has answered
//	webfarm balance ADDRESS POOL NAME=ADDRESS...
//	                                     pass requests on to the servers of which the folder POOL has a
//	                                     file, in turn; /drained/NAME answers when a server that is not
//	                                     in there has answered all that it had been passed
//	webfarm get ADDRESS                  print the answer; the status is 2 unless it is a good one
//	webfarm await ADDRESS                wait until there is a good answer
package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "webfarm:", err)
		os.Exit(2)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 4 && args[0] == "serve":
		return serve(args[1], args[2], args[3])
	case len(args) > 3 && args[0] == "balance":
		b := &balancer{pool: args[2], servers: map[string]string{}, passed: map[string]int{}}
		b.answered.L = &b.mu
		for _, one := range args[3:] {
			name, address, _ := strings.Cut(one, "=")
			b.servers[name], b.names = address, append(b.names, name)
		}
		return http.ListenAndServe(args[1], b)
	case len(args) == 2 && args[0] == "get":
		text, err := get(args[1])
		fmt.Print(text)
		return err
	case len(args) == 2 && args[0] == "await":
		for {
			if _, err := get(args[1]); err == nil {
				return nil
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return errors.New("serve, balance, get or await?")
}

func serve(address, path, start string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if _, err := get(start); err != nil {
		return err
	}
	return http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) }))
}

func get(address string) (string, error) {
	answer, err := http.Get(address)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(answer.Status)
	}
	return string(text), err
}

// A balancer looks at its pool for every request: what is taken out of it gets no other.
type balancer struct {
	pool    string
	names   []string          // of the servers
	servers map[string]string // addresses by name

	mu       sync.Mutex
	answered sync.Cond
	turn     int
	passed   map[string]int // requests that have no answer yet, by server
}

// Every request has a connection of its own: none is sent over one that the server has closed.
var direct = &http.Transport{DisableKeepAlives: true}

func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if name, ok := strings.CutPrefix(r.URL.Path, "/drained/"); ok {
		b.drained(w, name)
		return
	}
	name := b.pass()
	if name == "" {
		http.Error(w, "no server is in the pool", http.StatusServiceUnavailable)
		return
	}
	defer b.came(name)
	to := &url.URL{Scheme: "http", Host: b.servers[name]}
	proxy := httputil.ReverseProxy{Transport: direct, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	proxy.ServeHTTP(w, r)
}

// pass chooses who answers the next request.
func (b *balancer) pass() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var in []string
	for _, name := range b.names {
		if _, err := os.Stat(filepath.Join(b.pool, name)); err == nil {
			in = append(in, name)
		}
	}
	if len(in) == 0 {
		return ""
	}
	b.turn++
	name := in[b.turn%len(in)]
	b.passed[name]++
	return name
}

func (b *balancer) came(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.passed[name]--
	b.answered.Broadcast()
}

func (b *balancer) drained(w http.ResponseWriter, name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := os.Stat(filepath.Join(b.pool, name)); err == nil {
		http.Error(w, "it is in the pool", http.StatusConflict)
		return
	}
	for b.passed[name] > 0 {
		b.answered.Wait()
	}
}
