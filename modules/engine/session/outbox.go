package session

import (
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// outboxWait is how long a result may wait for others to travel with. People do not notice it, and
// whatever waits for an answer or for the end sends the results before that at once.
const outboxWait = 20 * time.Millisecond

// An outbox sends results together that come at nearly the same time: those of
// a converged catalog take microseconds each, those of changes some milliseconds, and they would otherwise be
// a packet each, which sshd, the controller and its log wake up for. A controller that does not read holds up
// nobody but the outbox: what is at work on the host ends, and is kept there.
type outbox struct {
	conn  *wire.Conn
	ended <-chan struct{} // closed when the controller is gone
	keep  func() error    // keeps on the host what is going to be sent

	mu      sync.Mutex
	waiting []*wire.Message
	timer   *time.Timer
	err     error // of the last sending

	sending sync.Mutex // held while messages are on their way, so that they stay in order
}

// put sends m soon. The error is that of an earlier message.
func (o *outbox) put(m *wire.Message) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting = append(o.waiting, m)
	if len(o.waiting) == 1 {
		o.timer = time.AfterFunc(outboxWait, o.send)
	}
	if m.Result != nil && len(m.Result.Sent) > 0 { // other hosts may wait for it
		o.timer.Reset(0)
	}
	return o.err
}

// idle reports whether nothing is on its way.
func (o *outbox) idle() bool {
	idle := o.sending.TryLock()
	if idle {
		o.sending.Unlock()
	}
	return idle
}

// lastWords is how long a controller that sends nothing more may take to read the rest.
const lastWords = time.Second

// flush sends what waits, and waits for that as long as the controller is there. What is on
// its way to one that is gone ends with the process.
func (o *outbox) flush() error {
	sent := make(chan struct{})
	go func() {
		o.send()
		close(sent)
	}()
	select {
	case <-sent:
	case <-o.ended:
		select {
		case <-sent:
		case <-time.After(lastWords):
			return nil // why, the receiver says
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

func (o *outbox) send() {
	o.sending.Lock()
	defer o.sending.Unlock()
	o.mu.Lock()
	all := o.waiting
	o.waiting = nil
	if len(all) > 0 {
		o.timer.Stop()
	}
	o.mu.Unlock()
	if len(all) == 0 {
		return
	}
	_ = o.keep() // if it fails, what a lost connection loses is found out again
	if err := o.conn.Send(all...); err != nil {
		o.mu.Lock()
		o.err = err
		o.mu.Unlock()
	}
}
