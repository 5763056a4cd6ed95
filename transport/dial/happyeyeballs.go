package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/transport"
)

// Happy Eyeballs (RFC 8305): the addresses of a host are looked up, put in order, and
// dialled one after the other without waiting for the one before to fail.

// attemptDelay is the time after which the next address is tried, too (RFC 8305, 8: Connection Attempt Delay).
const attemptDelay = 250 * time.Millisecond

// network is the name of a network for package net, of the wanted address family:
// tcp, tcp4 or tcp6, and the same for ip.
func network(t transport.Target, kind string) string {
	switch t.AddressFamily {
	case "inet":
		return kind + "4"
	case "inet6":
		return kind + "6"
	}
	return kind
}

// dialTCP connects to the address of t that answers first. A dead address costs [attemptDelay], not the whole dial
// timeout.
func (d *Dialer) dialTCP(ctx context.Context, t transport.Target) (net.Conn, error) {
	found, err := d.lookup(ctx, network(t, "ip"), t.Address)
	if err != nil {
		return nil, err
	}
	var from []netip.Addr // one of them, of the same family
	if t.BindAddress != "" {
		if from, err = d.lookup(ctx, network(t, "ip"), t.BindAddress); err != nil {
			return nil, fmt.Errorf("bind address %s: %w", t.BindAddress, err)
		}
	}
	var addrs []netip.AddrPort
	for _, a := range interleave(found) {
		if t.BindAddress == "" || sameFamily(from, a) != nil {
			addrs = append(addrs, netip.AddrPortFrom(a, uint16(t.TCPPort())))
		}
	}
	return dialFastest(ctx, addrs, func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
		return (&net.Dialer{LocalAddr: sameFamily(from, a.Addr())}).DialContext(ctx, "tcp", a.String())
	})
}

// lookup returns the addresses of a host. network is ip, ip4 or ip6.
func (d *Dialer) lookup(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil && addr.Zone() != "" && network != "ip4" {
		return []netip.Addr{addr}, nil // package net would lose the zone
	}
	resolve := net.DefaultResolver.LookupNetIP
	if d.Resolve != nil {
		resolve = d.Resolve
	}
	return resolve(ctx, network, host)
}

// sameFamily is the first address that can talk to a, nil without one.
func sameFamily(from []netip.Addr, a netip.Addr) net.Addr {
	for _, f := range from {
		if f = f.Unmap(); f.Is4() == a.Is4() {
			return net.TCPAddrFromAddrPort(netip.AddrPortFrom(f, 0))
		}
	}
	return nil
}

// interleave alternates the address families, beginning with the resolver's first (RFC 8305, 4). It removes duplicates.
func interleave(addrs []netip.Addr) []netip.Addr {
	var first, second []netip.Addr
	for _, a := range addrs {
		a = a.Unmap()
		switch {
		case slices.Contains(first, a) || slices.Contains(second, a):
		case len(first) == 0 || a.Is4() == first[0].Is4():
			first = append(first, a)
		default:
			second = append(second, a)
		}
	}
	var all []netip.Addr
	for i := range max(len(first), len(second)) {
		all = append(all, first[min(i, len(first)):min(i+1, len(first))]...)
		all = append(all, second[min(i, len(second)):min(i+1, len(second))]...)
	}
	return all
}

type dialResult struct {
	conn net.Conn
	err  error
}

// dialFastest dials the next address when one has failed, or has taken longer than [attemptDelay]. It returns when one
// has answered or all have failed. If all fail, the error has the first failure, and all failures that differ from it.
func dialFastest(ctx context.Context, addrs []netip.AddrPort, dial func(context.Context, netip.AddrPort) (net.Conn, error)) (net.Conn, error) {
	if len(addrs) == 1 { // as most hosts have
		return dial(ctx, addrs[0])
	}
	ctx, cancel := context.WithCancel(ctx)
	results := make(chan dialResult, len(addrs))
	var dialling sync.WaitGroup
	defer func() {
		cancel()
		dialling.Wait()
		close(results)
		for r := range results { // they were too late
			if r.conn != nil {
				r.conn.Close()
			}
		}
	}()
	var errs []error
	begun := 0
	begin := func() {
		a := addrs[begun]
		begun++
		dialling.Go(func() {
			conn, err := dial(ctx, a)
			results <- dialResult{conn, err}
		})
	}
	turn := time.NewTimer(0)
	defer turn.Stop()
	for len(errs) < len(addrs) {
		select {
		case <-turn.C:
			if begun < len(addrs) {
				begin()
				turn.Reset(attemptDelay)
			}
		case r := <-results:
			if r.err == nil {
				return r.conn, nil
			}
			errs = append(errs, r.err)
			turn.Reset(0)
		}
	}
	return nil, addressErrors(errs)
}

// addressErrors returns the error of a host if none of its addresses answers.
func addressErrors(errs []error) error {
	if len(errs) == 0 {
		return &net.DNSError{Err: "it has no address of this kind", IsNotFound: true}
	}
	different := slices.ContainsFunc(errs, func(e error) bool { return dialCause(e).Error() != dialCause(errs[0]).Error() })
	if !different {
		return errs[0]
	}
	return &addressesError{errs}
}

// An addressesError is a host each address of which failed in its own way.
type addressesError struct{ errs []error }

// Error names the addresses.
func (e *addressesError) Error() string {
	var all []string
	for _, err := range e.errs {
		text := dialCause(err).Error()
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Addr != nil {
			text = op.Addr.String() + ": " + text
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func (e *addressesError) Unwrap() []error { return e.errs }
