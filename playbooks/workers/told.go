package workers

import (
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// told is what has been told of a host in a play. When a worker is lost, the next one is told by the
// host what that one had it do, and tells all of it.
type told struct {
	now    tellings
	before tellings // by workers that were lost
	failed bool     // something of it could not be registered
}

// tellings are what was told, and how often: the play itself and what a rollout has a host do besides
// number their resources alike.
type tellings struct {
	results  map[toldResult]int
	messages map[events.Message]int
}

type toldResult struct {
	index      int
	typ, named string
}

// again begins with another worker.
func (t *told) again() {
	for r, n := range t.now.results {
		t.before.result(r, n)
	}
	for m, n := range t.now.messages {
		t.before.message(m, n)
	}
	t.now = tellings{}
}

func (t *tellings) result(r toldResult, n int) {
	if t.results == nil {
		t.results = map[toldResult]int{}
	}
	t.results[r] += n
}

func (t *tellings) message(m events.Message, n int) {
	if t.messages == nil {
		t.messages = map[events.Message]int{}
	}
	t.messages[m] += n
}

// isNew reports whether an event is to be told. A result is told again if the resource has had its
// turn again since, and has changed something or failed: so it is with a host that is dialled again.
func (t *told) isNew(e events.Event) bool {
	switch e := e.(type) {
	case events.Result:
		r := toldResult{e.Index, e.Type, e.Name}
		t.now.result(r, 1)
		if t.before.results[r] == 0 {
			return true
		}
		t.before.results[r]--
		return !e.Check && !e.Kept && (e.Status == events.Changed || e.Status.HasFailed())
	case events.Message:
		t.now.message(e, 1)
		if t.before.messages[e] == 0 {
			return true
		}
		t.before.messages[e]--
		return false
	}
	return true
}
