package workers

import "github.com/ccm-push/ccm-push/playbooks/events"

// toldOf identifies a host in a play.
type toldOf struct {
	host string
	play int
	kind string // kind of the turn
}

// told counts what workers reported of a host in a play. If a worker is lost, the host reports the results of the lost
// worker to the next worker, and the next worker reports them all again.
type told struct {
	now    reports
	before reports // from lost workers
	failed bool    // a registration failed
}

// reports counts the reported results and messages: a play and the checks of a rollout number their resources alike.
type reports struct {
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
	t.now = reports{}
}

func (t *reports) result(r toldResult, n int) {
	if t.results == nil {
		t.results = map[toldResult]int{}
	}
	t.results[r] += n
}

func (t *reports) message(m events.Message, n int) {
	if t.messages == nil {
		t.messages = map[events.Message]int{}
	}
	t.messages[m] += n
}

// isNew reports whether an event was not reported before. A result counts as new if the resource ran again since, and has changed something
// or failed: that happens if a worker dials a host again.
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
