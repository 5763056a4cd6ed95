package transport

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// A jumpTable shares the connections to jump hosts: one for each way through
// users and addresses, dialled by the first host that needs it.
type jumpTable struct {
	mu     sync.Mutex
	ways   map[string]*jumpHost
	closed bool
	work   sync.WaitGroup
}

// A jumpHost is being dialled until ready is closed.
type jumpHost struct {
	ready  chan struct{}
	cancel context.CancelFunc
	client *Client
	err    error
	failed time.Time
}

var errDialerClosed = errors.New("the dialer is closed")

// jump gives the connection to the last of hops, nil without hops.
func (d *Dialer) jump(ctx context.Context, hops []Target) (*Client, error) {
	if len(hops) == 0 {
		return nil, nil
	}
	j, err := d.jumpHost(ctx, hops)
	if err != nil {
		return nil, err
	}
	select {
	case <-j.ready:
		return j.client, j.err
	case <-ctx.Done():
		last := hops[len(hops)-1]
		return nil, last.fail(opDial, context.Cause(ctx), "")
	}
}

// jumpHost finds the table's entry for hops or starts to dial it. The attempt
// outlives ctx, since other hosts wait for it too.
func (d *Dialer) jumpHost(ctx context.Context, hops []Target) (*jumpHost, error) {
	t := &d.jumps
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errDialerClosed
	}
	way := wayOf(hops)
	if j := t.ways[way]; j != nil && j.usable(d.connectTimeout()) {
		return j, nil
	}
	if t.ways == nil {
		t.ways = make(map[string]*jumpHost)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	j := &jumpHost{ready: make(chan struct{}), cancel: cancel}
	t.ways[way] = j
	t.work.Go(func() {
		defer cancel()
		defer close(j.ready)
		j.client, j.err = d.dialHop(ctx, hops)
		j.failed = time.Now()
	})
	return j, nil
}

func (d *Dialer) dialHop(ctx context.Context, hops []Target) (*Client, error) {
	last := hops[len(hops)-1]
	via, err := d.jump(ctx, hops[:len(hops)-1])
	if err != nil {
		return nil, throughJump(last, err)
	}
	return d.connect(ctx, last, via)
}

// usable reports whether j need not be dialled again. A failure is remembered
// for a while, so that a dead jump host costs its hosts one timeout and not one
// for each batch of them.
func (j *jumpHost) usable(remember time.Duration) bool {
	select {
	case <-j.ready:
	default:
		return true
	}
	if j.err != nil {
		return time.Since(j.failed) < remember
	}
	select {
	case <-j.client.gone:
		return false
	default:
		return true
	}
}

func (t *jumpTable) close() error {
	t.mu.Lock()
	t.closed = true
	ways := t.ways
	t.ways = nil
	t.mu.Unlock()
	for _, j := range ways {
		j.cancel()
	}
	t.work.Wait()
	var errs []error
	for _, j := range ways {
		if j.client != nil {
			errs = append(errs, j.client.Close())
		}
	}
	return errors.Join(errs...)
}

func wayOf(hops []Target) string {
	logins := make([]string, len(hops))
	for i, h := range hops {
		logins[i] = h.login()
	}
	return strings.Join(logins, " ")
}

// throughJump makes the failure of a jump host one of t, with the hint last.
func throughJump(t Target, err error) error {
	hop, ok := errors.AsType[*HostError](err)
	if !ok {
		return t.fail(opDial, err, "")
	}
	bare := *hop
	bare.Hint = ""
	return t.fail(opDial, fmt.Errorf("jump host %w", &bare), hop.Hint)
}
