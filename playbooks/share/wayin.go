package share

import "time"

// A WayIn is a host of a queue that is connecting, and has a place for it. A slow host returns the place, so that no
// other host waits for it. A nil WayIn has no place.
type WayIn struct {
	queue *Queue
	began time.Time
	limit *time.Timer
	place bool
	in    bool
	left  time.Time     // when it went apart
	back  chan struct{} // closed when it has a place again
}

const (
	unanswered = 250 * time.Millisecond // time until a host returns its place that has not answered the first packet, or is silent on the connection
	answered   = 3 * time.Second        // the same for a host that has sent something
)

// wayIn begins one.
func (q *Queue) wayIn() *WayIn {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := &WayIn{queue: q, began: time.Now(), place: true}
	w.limit = time.AfterFunc(unanswered, w.late)
	return w
}

// Connected records that the host has answered the first packet. The kernel of a host with a hanging sshd does that
// too, so it is not yet Answered.
func (w *WayIn) Connected() { w.goOn(unanswered) }

// Answered records that the host has sent its first bytes.
func (w *WayIn) Answered() { w.goOn(answered) }

// goOn has the host keep its place for so long from now on, if it has one.
func (w *WayIn) goOn(limit time.Duration) {
	if w != nil && w.limit.Stop() {
		w.limit.Reset(limit)
	}
}

// Keep has the host keep its place however long it takes: it is sent the host program, which it shares
// the line with others for.
func (w *WayIn) Keep() {
	if w != nil {
		w.limit.Stop()
	}
}

// Apart returns the place while the host waits for something other than this machine, such as its relay. back waits for
// a place again; the time in between does not count as connecting.
func (w *WayIn) Apart() (back func()) {
	if w == nil {
		return func() {}
	}
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.in {
		return func() {}
	}
	w.giveBack()
	q.fill()
	w.left, w.back = time.Now(), make(chan struct{})
	return func() {
		q.mu.Lock()
		q.returning = append(q.returning, w)
		q.fill()
		q.mu.Unlock()
		<-w.back
	}
}

// In records that the host has received its task.
func (w *WayIn) In() {
	if w == nil {
		return
	}
	q := w.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if !w.in {
		w.in = true
		q.load.In++
		q.load.Took += time.Since(w.began)
	}
	w.giveBack()
	q.fill()
}

// returned sets that it has a place again; the lock must be held.
func (w *WayIn) returned() {
	w.place = true
	w.queue.load.LoggingIn++
	w.began = w.began.Add(time.Since(w.left))
	w.limit.Reset(answered)
	close(w.back)
}

// late passes the place to the next host.
func (w *WayIn) late() {
	w.queue.mu.Lock()
	defer w.queue.mu.Unlock()
	w.giveBack()
	w.queue.fill()
}

// giveBack ends it, with the lock held.
func (w *WayIn) giveBack() {
	w.limit.Stop()
	if w.place {
		w.place = false
		w.queue.load.LoggingIn--
	}
}
