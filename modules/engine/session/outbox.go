package session

import (
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// outboxWait is the time that a result may wait for others to be sent together. People do not notice it, and a request
// or the end of a catalog sends the waiting results at once.
const outboxWait = 20 * time.Millisecond

// An outbox sends results together that come at nearly the same time. The results of a converged catalog take
// microseconds each, and changes some milliseconds; each would otherwise be a packet that sshd, the controller and its
// log process alone. A slow controller blocks only the outbox: the current resource ends, and its result is kept on the
// host.
type outbox struct {
	conn  *wire.Conn
	ended <-chan struct{} // closed when the controller is gone
	keep  func() error    // keeps on the host the results that are about to be sent

	mu      sync.Mutex
	waiting []*wire.Message
	timer   *time.Timer
	err     error // error of the last write

	sending sync.Mutex // held while messages are on their way, so that they stay in order
}

// put sends m soon. It returns the error of an earlier message.
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

// lastWords limits the time in which a controller that sends nothing more reads the rest.
const lastWords = time.Second

// flush sends the waiting messages. It returns when they are sent, or when the controller is gone; then the process
// ends, and the messages with it.
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
			return nil // the receiver has the reason
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
