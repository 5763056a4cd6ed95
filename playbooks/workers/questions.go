package workers

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/workers/sealing"
)

// A pending question has its answer once done is closed.
type pending struct {
	text   []byte // pieces received so far
	begun  bool
	done   chan struct{}
	answer answered
}

// object returns the name of the object with a long answer; empty means none.
func (p *pending) object() string {
	select {
	case <-p.done:
		if p.answer.Object != nil {
			return p.answer.Object.Name
		}
	default:
	}
	return ""
}

// questions holds the questions of an assignment.
type questions struct {
	sealer sealing.Sealer

	mu       sync.Mutex
	answered int // the worker has all answers before this number
	byNumber map[int]*pending
	spent    []string // objects with answers that the worker has
}

// take adds a piece of a question. It ignores a piece that was received before, and forgets questions whose answers the worker has; it
// returns nil if this is one of them.
func (all *questions) take(q asked) (*pending, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.answered = max(all.answered, q.Answered)
	all.drop(func(number int) bool { return number < all.answered })
	if q.Number < all.answered {
		return nil, nil
	}
	p := all.byNumber[q.Number]
	if p == nil {
		if len(all.byNumber) == maxPending {
			return nil, fmt.Errorf("it sends more than %d requests at once", maxPending)
		}
		p = &pending{done: make(chan struct{})}
		all.byNumber[q.Number] = p
	}
	if !p.begun && q.Offset == len(p.text) {
		if len(p.text)+len(q.Text) > maxQuestion {
			return nil, fmt.Errorf("it sends a request of more than %d MiB", maxQuestion>>20)
		}
		p.text = append(p.text, q.Text...)
	}
	return p, nil
}

// begin marks a question as begun, and reports whether it was not.
func (all *questions) begin(p *pending) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	first := !p.begun
	p.begun = true
	return first
}

// spentObjects removes and returns the objects that are not needed any more: all of them if the assignment is over.
func (all *questions) spentObjects(over bool) []string {
	all.mu.Lock()
	defer all.mu.Unlock()
	if over {
		all.drop(func(int) bool { return true })
	}
	spent := all.spent
	all.spent = nil
	return spent
}

// drop forgets questions. The caller holds the lock.
func (all *questions) drop(which func(number int) bool) {
	for number, p := range all.byNumber {
		if !which(number) {
			continue
		}
		if name := p.object(); name != "" {
			all.spent = append(all.spent, name)
		}
		delete(all.byNumber, number)
	}
}

// An errand is an order to repair one watched host.
type errand struct {
	Number int                  `json:"number"` // in the assignment, from 1
	Host   string               `json:"host"`
	Order  playbooks.WatchOrder `json:"order"`
}

// An errandList holds the errands of an assignment that its worker has not confirmed.
type errandList struct {
	mu      sync.Mutex
	added   int // number of the last errand
	list    []errand
	changed chan struct{} // closed, and replaced, when an errand is added
	asked   time.Time     // last request of the worker
}

func newErrandList() *errandList { return &errandList{changed: make(chan struct{}), asked: time.Now()} }

// add adds an errand.
func (e *errandList) add(host string, o playbooks.WatchOrder) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.added++
	e.list = append(e.list, errand{e.added, host, o})
	close(e.changed)
	e.changed = make(chan struct{})
}

// after removes the errands up to a number, which the worker has confirmed. It returns the others, and a channel that is closed when there
// are more.
func (e *errandList) after(number int) ([]errand, <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = time.Now()
	e.list = slices.DeleteFunc(e.list, func(one errand) bool { return one.Number <= number })
	return slices.Clone(e.list), e.changed
}

// lastRequest returns when the worker last sent a request.
func (e *errandList) lastRequest() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asked
}

// silence returns the time since the last request of the worker.
func (e *errandList) silence() time.Duration { return time.Since(e.lastRequest()) }
