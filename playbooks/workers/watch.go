package workers

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/playbooks"
)

// errTaken is the error if the coordinator has given the hosts of a shard to other workers.
var errTaken = errors.New("the hosts that this worker watches were given to others")

// orders are the repairs for hosts of a shift: each host has one at a time.
type orders struct {
	mu     sync.Mutex
	byHost map[string]chan playbooks.WatchOrder
}

func (o *orders) of(host string) chan playbooks.WatchOrder {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byHost == nil {
		o.byHost = map[string]chan playbooks.WatchOrder{}
	}
	if o.byHost[host] == nil {
		o.byHost[host] = make(chan playbooks.WatchOrder, 1)
	}
	return o.byHost[host]
}

// give has a host know an order. One that it has not got to is of before it was lost.
func (o *orders) give(host string, order playbooks.WatchOrder) {
	to := o.of(host)
	select {
	case <-to:
	default:
	}
	to <- order
}

// Orders implements [playbooks.Controller].
func (s *shift) Orders(host string) <-chan playbooks.WatchOrder { return s.orders.of(host) }

// stayHeard reports that this worker is there, until the end of ctx.
func (s *shift) stayHeard(ctx context.Context) {
	for over := false; !over && ctx.Err() == nil; pause(ctx, minAsk) {
		a, err := s.askOnce(ctx, asked{Errands: new(int)})
		over = err == nil && a.Over
	}
}

// minAsk is the shortest time between two questions about errands. A coordinator delays its answer until there are errands, or for
// some seconds; one that does not cannot keep this worker busy.
const minAsk = 100 * time.Millisecond

// pause waits for a time, or until the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// runErrands repairs watched hosts as the coordinator orders, until the end of ctx. hosts are the hosts of the shift.
func (s *shift) runErrands(ctx context.Context, hosts map[string]bool) {
	for got := 0; ; {
		a, err := s.askOnce(ctx, asked{Errands: &got})
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.silent(err)
			return
		case a.Over:
			s.taken.Store(true)
			s.stop()
			return
		}
		if err := checkErrands(a.Errands, got, hosts); err != nil {
			s.breach(&breachError{err})
			return
		}
		for _, one := range a.Errands {
			s.orders.give(one.Host, one.Order)
			got = one.Number
		}
		if len(a.Errands) == 0 {
			pause(ctx, minAsk)
		}
	}
}
