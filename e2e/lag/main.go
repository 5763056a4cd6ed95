// Lag is a TCP proxy that behaves like a long link: whatever passes it arrives
// half a round trip later.
//
//	lag --rtt 50ms --listen 127.0.0.1:2222 --to 10.78.0.11:22 [--listen A --to B ...]
//
// Any number of bytes may be under way, so that the delay costs round trips and
// not throughput. Opening a connection costs the round trip of a TCP handshake.
// Loss, jitter and a narrow link are not imitated. It prints "ready" once it
// listens everywhere and runs until it is interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// A list is a flag that may be given more than once.
type list []string

func (l *list) String() string     { return strings.Join(*l, ",") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func main() {
	var listen, to list
	rtt := flag.Duration("rtt", 0, "round-trip `time` to add")
	flag.Var(&listen, "listen", "`address` to listen on; each has its --to")
	flag.Var(&to, "to", "`address` to connect to")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *rtt, listen, to); err != nil {
		fmt.Fprintln(os.Stderr, "lag:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rtt time.Duration, listen, to []string) error {
	if rtt < 0 || len(listen) == 0 || len(listen) != len(to) {
		return errors.New("usage: lag --rtt 50ms --listen ADDRESS --to ADDRESS [--listen ADDRESS --to ADDRESS ...]")
	}
	listeners := make([]net.Listener, len(listen))
	for i, address := range listen {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		defer l.Close()
		listeners[i] = l
	}
	fmt.Println("ready")
	var g errgroup.Group
	for i, l := range listeners {
		g.Go(func() error { return serve(ctx, l, to[i], rtt) })
	}
	return g.Wait()
}

// serve proxies what arrives at l until ctx ends.
func serve(ctx context.Context, l net.Listener, to string, rtt time.Duration) error {
	defer context.AfterFunc(ctx, func() { l.Close() })()
	var g errgroup.Group
	defer g.Wait()
	for {
		client, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		g.Go(func() error {
			if err := relay(ctx, client.(*net.TCPConn), to, rtt); err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "lag:", err)
			}
			return nil
		})
	}
}

// relay connects client to the address to and carries bytes until both sides
// have ended. The kernel has answered the client at once; over a link, its first
// byte would leave after one round trip, and the server would hear of the
// connection half a round trip later.
func relay(ctx context.Context, client *net.TCPConn, to string, rtt time.Duration) error {
	defer context.AfterFunc(ctx, func() { client.Close() })()
	there, back := newLink(rtt/2), newLink(rtt/2)
	var g sync.WaitGroup
	defer g.Wait()
	defer client.Close()
	time.Sleep(rtt)
	g.Go(func() { there.send(client) })
	time.Sleep(rtt / 2)
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", to)
	if err != nil {
		close(there.closed)
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	server := conn.(*net.TCPConn)
	g.Go(func() { back.send(server) })
	g.Go(func() { there.deliver(server) })
	g.Go(func() { back.deliver(client) })
	g.Wait()
	return nil
}
