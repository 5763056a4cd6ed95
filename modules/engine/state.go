package engine

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
)

// Bounds of what resources may report as their states, in bytes of JSON.
const (
	maxState     = 128 << 10 // in a result
	maxAnswer    = 2 << 20   // in the result of a query; JSON does not make more of JSON
	maxAllStates = 8 << 20   // kept for other resources of the session
)

// states are what the resources of a session have last reported. Checks ask for them
// while others report.
type states struct {
	mu   sync.Mutex
	of   map[string]modules.State // by [modules.Entry.Ref]
	size int

	predicted map[string]bool // those that would be changed, in a check run
}

func newStates() *states {
	return &states{of: map[string]modules.State{}, predicted: map[string]bool{}}
}

// last is that of [modules.Host].State.
func (s *states) last(ref string) (modules.State, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, ok := s.of[ref]
	return state, ok
}

// predict notes whether a resource would be changed in this check run, so that its state
// is not known then.
func (s *states) predict(ref string, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.predicted[ref] = changed
}

// stateThen is [modules.Host].State in a check run: the state of what would be changed is not
// known before that is done.
func (j *job) stateThen(ref string) (modules.State, bool) {
	s := j.run.history.states
	s.mu.Lock()
	predicted := s.predicted[ref]
	s.mu.Unlock()
	if predicted {
		j.prediction.Doubt(ref)
		return modules.State{}, false
	}
	return s.last(ref)
}

// keep reports whether there was room for a state.
func (s *states) keep(ref string, state modules.State) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size -= sizeOf(s.of[ref])
	delete(s.of, ref)
	if s.size+sizeOf(state) > maxAllStates {
		return false
	}
	s.size += sizeOf(state)
	s.of[ref] = state
	return true
}

func sizeOf(s modules.State) int {
	size := len(s.Before) + len(s.After)
	for _, r := range s.Restart {
		size += len(r)
	}
	return size
}

// after is the [modules.Reporter] of the Check that finds out whether Apply has
// worked: what is so before anything was done is so after that.
type after struct{ report modules.Reporter }

func (after) Message(string, string) {}
func (after) Output(modules.Exit)    {}

// State implements [modules.Reporter].
func (a after) State(s modules.State) { a.report.State(modules.State{After: s.Last()}) }

// tellState puts what the job has reported as its state into its result, and keeps it
// for others. A host's programs say what they like, so it is held against the bounds,
// and against JSON.
func (j *job) tellState() {
	s := j.said.state
	if s.Before == nil && s.After == nil && s.Restart == nil {
		return
	}
	text, err := json.Marshal(s)
	if err != nil {
		j.said.Message("warning", "its state is left out: "+err.Error())
		j.said.state = modules.State{}
		return
	}
	room := maxState
	if j.entry.Query != "" {
		room = maxAnswer
	}
	if !j.run.history.states.keep(j.entry.Ref(), s) {
		j.said.Message("warning", "its state is not kept for others: all together are too large")
	}
	if len(text) > room {
		j.said.Message("warning", fmt.Sprintf("its state is left out: %d bytes of JSON are more than %d", len(text), room))
		return
	}
	j.result.State = &s
}
