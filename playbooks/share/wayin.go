package share

import "time"

// A WayIn is a host of a queue that is on its way in, and has a place for it. Whoever is slow by itself
// gives that back, so that nobody else waits for it. A nil one has no place.
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
	unanswered = 250 * time.Millisecond // until a host gives its place back that has not answered the first packet, or said nothing on the connection
	answered   = 3 * time.Second        // the same for one that has said something
)

// wayIn begins one.
func (q *Queue) wayIn() *WayIn {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := &WayIn{queue: q, began: time.Now(), place: true}
	w.limit = time.AfterFunc(unanswered, w.late)
	return w
}

// Connected says that the host has answered the first packet. The kernel of a host does that whose sshd
// stands still, so it is not yet Answered.
func (w *WayIn) Connected() { w.goOn(unanswered) }

// Answered says that the host has said its first word.
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

// Apart has the host wait for something else than this machine, such as its relay, without its place. back waits for
// one again; what was in between is no part of the way in.
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

// In says that the host has what it is to work on.
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

// returned gives it a place again, with the lock held.
func (w *WayIn) returned() {
	w.place = true
	w.queue.load.LoggingIn++
	w.began = w.began.Add(time.Since(w.left))
	w.limit.Reset(answered)
	close(w.back)
}

// late gives the place to the next host.
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
