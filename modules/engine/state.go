package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// Limits of the states that resources report, in bytes of JSON.
const (
	maxState     = 128 << 10 // in a result
	maxAnswer    = 2 << 20   // in the result of a query; JSON does not make more of JSON
	maxAllStates = 8 << 20   // kept for other resources of the session
)

// states are the last reported states of a session's resources. Checks read them while others report.
type states struct {
	mu   sync.Mutex
	of   map[string]modules.State // by [wire.Entry.Ref]
	size int

	predicted map[string]bool // resources that would be changed, in a check run
}

func newStates() *states {
	return &states{of: map[string]modules.State{}, predicted: map[string]bool{}}
}

// clone returns a copy for a rehearsal.
func (s *states) clone() *states {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &states{of: maps.Clone(s.of), size: s.size, predicted: maps.Clone(s.predicted)}
}

// last implements [modules.Host].State.
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

// then implements [modules.Host].State in a check run: the state of a resource that would change is unknown, so the
// prediction p becomes uncertain.
func (s *states) then(ref string, p *forecast.Prediction) (modules.State, bool) {
	s.mu.Lock()
	predicted := s.predicted[ref]
	s.mu.Unlock()
	if predicted {
		p.Doubt(ref)
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

// report returns the reported state of a resource for its result, and keeps it for others. It checks size and JSON,
// since a state may come from any program.
func (s *states) report(e *wire.Entry, by *said) *modules.State {
	state := by.state
	if state.Before == nil && state.After == nil && state.Restart == nil {
		return nil
	}
	text, err := json.Marshal(state)
	if err != nil {
		by.Message("warning", "its state is not reported: "+err.Error())
		return nil
	}
	room := maxState
	if e.Query != "" {
		room = maxAnswer
	}
	if !s.keep(e.Ref(), state) {
		by.Message("warning", "its state is not kept for others: all together are too large")
	}
	if len(text) > room {
		by.Message("warning", fmt.Sprintf("its state is not reported: %d bytes of JSON exceed the limit of %d", len(text), room))
		return nil
	}
	return &state
}
