package session

import (
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// outboxWait is how long a result may wait for others to travel with.
const outboxWait = 2 * time.Millisecond

// An outbox sends results together that come at nearly the same time: those of
// a converged catalog take microseconds each, and would otherwise be a packet
// each.
type outbox struct {
	conn *wire.Conn

	mu      sync.Mutex
	waiting []*wire.Message
	timer   *time.Timer
	err     error // of the last sending
}

// put sends m soon. The error is that of an earlier message.
func (o *outbox) put(m *wire.Message) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting = append(o.waiting, m)
	if len(o.waiting) == 1 {
		o.timer = time.AfterFunc(outboxWait, func() { o.flush() })
	}
	return o.err
}

// flush sends what waits.
func (o *outbox) flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) > 0 {
		o.timer.Stop()
		o.err = o.conn.Send(o.waiting...)
		o.waiting = nil
	}
	return o.err
}
