package workers

import (
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// told is what has been told of a host in a play. When a worker is lost, the next one is told by the
// host what that one had it do, and tells all of it.
type told struct {
	results  map[int]events.Result // by number
	messages map[events.Message]bool
	before   map[events.Message]bool // those of workers that were lost
	failed   bool                    // something of it could not be registered
}

// again begins with another worker.
func (t *told) again() {
	t.before, t.messages = t.messages, nil
}

// isNew reports whether an event is to be told. A result is told again if the resource has had its
// turn again since, and has changed something or failed: so it is with a host that is dialled again.
func (t *told) isNew(e events.Event) bool {
	switch e := e.(type) {
	case events.Result:
		was, known := t.results[e.Index]
		if known && was.Type == e.Type && was.Name == e.Name && (e.Check || e.Kept || e.Status != events.Changed && !e.Status.HasFailed()) {
			return false
		}
		if t.results == nil {
			t.results = map[int]events.Result{}
		}
		t.results[e.Index] = events.Result{Type: e.Type, Name: e.Name}
	case events.Message:
		if t.before[e] {
			delete(t.before, e)
			return false
		}
		if t.messages == nil {
			t.messages = map[events.Message]bool{}
		}
		t.messages[e] = true
	}
	return true
}
