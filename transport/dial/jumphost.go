package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/transport"
)

// maxSlots is the number of hosts that share one connection to a jump host. Each uses one of the usually 1,024 files
// that sshd's process for the connection may open. A second connection would be a second login, which a person may have
// to confirm. Measured with 400 logins through one jump host, 200 KB each, on two processors: 3.3 s with 200 on a
// connection, 4.3 s with all of them.
const maxSlots = 900

// A jumpTable shares the connections to jump hosts: for each route one that the
// first host has dialled, and more when that is full.
type jumpTable struct {
	mu     sync.Mutex
	routes map[string][]*route // routes, by users and addresses, for fast lookup
	closed bool
	work   sync.WaitGroup
}

// A route is jump hosts, and the connections to the last of them. Hosts share it that
// would trust the same keys on it and log in as the same: otherwise a host would use
// a connection that was good enough for another one only.
type route struct {
	jumpHosts []transport.Target
	conns     []*jumpConn
}

// A jumpConn is a connection to a jump host. It is being dialled until ready is
// closed.
type jumpConn struct {
	ready  chan struct{}
	cancel context.CancelFunc
	client *transport.Client
	err    error
	failed time.Time
	pace   pace // pace of the dials through the connection
	users  int  // hosts that go through it; the table's lock guards it
}

// A slot is the place of one host on a connection to a jump host.
type slot struct {
	table *jumpTable
	conn  *jumpConn
	once  sync.Once
}

var errDialerClosed = errors.New("the dialer is closed")

// jump returns a place on a connection to the last of jumpHosts, or nil.
func (d *Dialer) jump(ctx context.Context, jumpHosts []transport.Target) (*slot, error) {
	if len(jumpHosts) == 0 {
		return nil, nil
	}
	cancelled := func() error { return jumpHosts[len(jumpHosts)-1].Fail(transport.OpDial, context.Cause(ctx), "") }
	s, first, err := d.takeSlot(ctx, jumpHosts)
	if err != nil {
		return nil, err
	}
	for s == nil { // everybody waits for the first login
		select {
		case <-first:
		case <-ctx.Done():
			return nil, cancelled()
		}
		if s, first, err = d.takeSlot(ctx, jumpHosts); err != nil {
			return nil, err
		}
	}
	select {
	case <-s.conn.ready:
	case <-ctx.Done():
		s.release()
		return nil, cancelled()
	}
	if s.conn.err == nil {
		return s, nil
	}
	s.release()
	if other := d.jumps.anySlot(jumpHosts); other != nil {
		return other, nil // a full connection is better than none
	}
	return nil, s.conn.err
}

// takeSlot returns a place on a connection with room, or starts to dial one. The attempt outlives ctx, since other
// hosts wait for it, too. Without a place it returns first, which is closed at the end of the first attempt. A second
// attempt begins only after the jump host has accepted a login. So a wrong password is sent only once for all hosts
// behind the jump host.
func (d *Dialer) takeSlot(ctx context.Context, jumpHosts []transport.Target) (s *slot, first <-chan struct{}, err error) {
	t := &d.jumps
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, nil, errDialerClosed
	}
	r, remember := t.route(jumpHosts), d.limits(jumpHosts[len(jumpHosts)-1]).Dial
	r.conns = slices.DeleteFunc(r.conns, func(j *jumpConn) bool { return !j.usable(remember) })
	for _, j := range r.conns {
		if j.users < maxSlots || j.refused() {
			return t.newSlot(j), nil, nil
		}
	}
	if len(r.conns) > 0 && !slices.ContainsFunc(r.conns, (*jumpConn).up) {
		return nil, r.conns[0].ready, nil
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	j := &jumpConn{ready: make(chan struct{}), cancel: cancel}
	r.conns = append(r.conns, j)
	t.work.Go(func() {
		defer cancel()
		defer close(j.ready)
		n := len(jumpHosts) - 1
		last := jumpHosts[n]
		last.Jump = jumpHosts[:n]
		j.client, j.err = d.Dial(ctx, last)
		j.failed = time.Now()
	})
	return t.newSlot(j), nil, nil
}

// route returns the route of jumpHosts. The table must be locked.
func (t *jumpTable) route(jumpHosts []transport.Target) *route {
	if t.routes == nil {
		t.routes = make(map[string][]*route)
	}
	logins := transport.LoginsOf(jumpHosts)
	for _, r := range t.routes[logins] {
		if slices.EqualFunc(r.jumpHosts, jumpHosts, sameIdentity) {
			return r
		}
	}
	r := &route{jumpHosts: slices.Clone(jumpHosts)}
	t.routes[logins] = append(t.routes[logins], r)
	return r
}

// sameIdentity reports whether a and b agree in all settings that decide which host answers, as which user we log in,
// and how the connection is protected. The inventory's name and timeouts do not; jump hosts have no timeouts of their
// own.
func sameIdentity(a, b transport.Target) bool {
	for _, t := range []*transport.Target{&a, &b} {
		t.Host, t.Port, t.Jump = "", t.TCPPort(), nil
		t.Keepalive, t.KeepaliveCount, t.Retries, t.Limits = 0, 0, 0, transport.Limits{}
	}
	return reflect.DeepEqual(a, b) // the contents of passwords, too
}

// newSlot returns a place on j. The table must be locked.
func (t *jumpTable) newSlot(j *jumpConn) *slot {
	j.users++
	return &slot{table: t, conn: j}
}

// anySlot returns a place on an open connection, even a full one, or nil.
func (t *jumpTable) anySlot(jumpHosts []transport.Target) *slot {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, j := range t.route(jumpHosts).conns {
		if j.up() {
			return t.newSlot(j)
		}
	}
	return nil
}

// release releases the place.
func (s *slot) release() {
	s.once.Do(func() {
		s.table.mu.Lock()
		defer s.table.mu.Unlock()
		s.conn.users--
	})
}

// dial connects to addr from the jump host. The place is given back when the
// connection is closed.
func (s *slot) dial(ctx context.Context, addr string) (net.Conn, error) {
	jump := s.conn.client
	conn, err := jump.DialThrough(ctx, addr)
	if err != nil {
		s.release()
		if rejected, ok := errors.AsType[*ssh.OpenChannelError](err); ok {
			return nil, &behindJumpError{jump.Target().Host, rejected}
		}
		return nil, fmt.Errorf("jump host %s: %w", jump.Target().Host, err)
	}
	return &slotConn{conn, s}, nil
}

// A slotConn is a connection through a jump host.
type slotConn struct {
	net.Conn
	slot *slot
}

// Close implements [net.Conn].
func (c *slotConn) Close() error {
	c.slot.release()
	return c.Conn.Close()
}

// usable reports whether j need not be dialled again. A failure is remembered for a while, so that a dead jump host
// costs its hosts one timeout and not one for each batch. A refused login is never repeated: hundreds of tries would
// lock the account or have our address banned.
func (j *jumpConn) usable(remember time.Duration) bool {
	select {
	case <-j.ready:
	default:
		return true
	}
	return j.up() || j.err != nil && (time.Since(j.failed) < remember || errors.Is(j.err, transport.ErrAuth))
}

// refused reports whether the attempt has failed.
func (j *jumpConn) refused() bool {
	select {
	case <-j.ready:
		return j.err != nil
	default:
		return false
	}
}

// up reports whether there is a connection.
func (j *jumpConn) up() bool {
	select {
	case <-j.ready:
	default:
		return false
	}
	if j.err != nil {
		return false
	}
	select {
	case <-j.client.Done():
		return false
	default:
		return true
	}
}

func (t *jumpTable) close() error {
	t.mu.Lock()
	t.closed = true
	var all []*jumpConn
	for _, routes := range t.routes {
		for _, r := range routes {
			all = append(all, r.conns...)
		}
	}
	t.routes = nil
	t.mu.Unlock()
	for _, j := range all {
		j.cancel()
	}
	t.work.Wait()
	var errs []error
	for _, j := range all {
		if j.client != nil {
			errs = append(errs, j.client.Close())
		}
	}
	return errors.Join(errs...)
}

// throughJump converts the failure of a jump host to a failure of t, with the hint last. All hosts behind this jump
// host have the same error: the error of the first jump host that failed.
func throughJump(t transport.Target, err error) error {
	jumpHost, ok := errors.AsType[*transport.HostError](err)
	if !ok {
		return t.Fail(transport.OpDial, err, "")
	}
	hint := jumpHost.Hint
	if jumpHost.Via != nil {
		jumpHost = jumpHost.Via
	}
	bare := *jumpHost
	bare.Hint = ""
	e := t.Fail(transport.OpDial, fmt.Errorf("jump host %w", &bare), hint)
	e.Via = &bare
	return e
}
