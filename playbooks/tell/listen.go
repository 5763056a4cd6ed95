package tell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Listener serves metrics over HTTP, at /metrics.
type Listener struct {
	listener net.Listener
	server   *http.Server
	serving  sync.WaitGroup
}

// Listen begins to serve the output of write, at an address in the form of --listen: see [listenAddress]. ctx bounds
// the lookup of the address.
func Listen(ctx context.Context, address string, write func(io.Writer) error) (*Listener, error) {
	address, err := listenAddress(address)
	if err != nil {
		return nil, err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		var text bytes.Buffer
		if err := write(&text); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(text.Bytes())
	})
	const wait = 10 * time.Second
	l := &Listener{listener: listener, server: &http.Server{
		Handler: mux, ReadTimeout: wait, WriteTimeout: wait, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}}
	l.serving.Go(func() { _ = l.server.Serve(listener) }) // until Close
	return l, nil
}

// Address returns the address of the metrics.
func (l *Listener) Address() string { return l.listener.Addr().String() }

// Close ends serving.
func (l *Listener) Close() error {
	err := l.server.Close()
	l.serving.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// listenAddress reads HOST:PORT. Without a host, or with the port alone, it is the loopback address:
// that metrics can be read from elsewhere has to be written, with the address in whole.
func listenAddress(text string) (string, error) {
	const hint = "write PORT or 127.0.0.1:PORT; to be reached from elsewhere, the whole address: 192.0.2.7:9180, [2001:db8::7]:9180 or 0.0.0.0:9180"
	if !strings.Contains(text, ":") {
		text = ":" + text
	}
	host, port, err := net.SplitHostPort(text)
	if number, portErr := strconv.ParseUint(port, 10, 16); err != nil || portErr != nil || number == 0 && port != "0" {
		return "", fmt.Errorf("--listen %q is not an address: %s", text, hint)
	}
	switch {
	case host == "" || host == "localhost":
		host = "127.0.0.1"
	default:
		if _, err := netip.ParseAddr(host); err == nil {
			break
		}
		return "", fmt.Errorf("--listen %q: a name may mean any address: %s", text, hint)
	}
	return net.JoinHostPort(host, port), nil
}
