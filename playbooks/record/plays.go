package record

import (
	"cmp"
	"slices"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// A PlayTable holds how each host ended each play of a run, as far as its events say. It is a
// reporter.
type PlayTable struct {
	Plays []events.SelectedPlay
	Hosts []string                  // hosts of all plays, in the order of the inventory
	Ends  map[string][]events.State // states by host, and for each host by play

	play  int      // number of the current one, from 0; -1 before the first
	batch []string // hosts of its current batch
	gaps  bool     // events are missing
}

// States of a host in a play that are not states of an [events.PlayEnd].
const (
	NotMeant events.State = ""      // the play is not for the host, or an earlier run has finished it there
	Begun    events.State = "begun" // no event has the host's final state in the play
)

// NewPlayTable returns the table of a run before its first event.
func NewPlayTable(plays []events.SelectedPlay) *PlayTable {
	t := &PlayTable{Plays: plays, Ends: map[string][]events.State{}, play: -1}
	for i, play := range plays {
		done := map[string]bool{}
		for _, host := range play.Done {
			done[host] = true
		}
		for _, host := range play.Hosts {
			if t.Ends[host] == nil {
				t.Hosts = append(t.Hosts, host)
				t.Ends[host] = make([]events.State, len(plays))
			}
			if !done[host] {
				t.Ends[host][i] = events.StateNotStarted
			}
		}
	}
	return t
}

// Gap notes that an event is missing, which may have been any. From then on only a host's own report proves that it
// ended a play well.
func (t *PlayTable) Gap() { t.gaps = true }

// Report notes the data about plays in e.
func (t *PlayTable) Report(e events.Event) {
	switch e := e.(type) {
	case events.PlayStart:
		t.begin(e)
	case events.Result:
		switch {
		case e.Repair:
		case e.Status == events.Failed && e.Killed:
			t.ends(e.Host, events.StateInterrupted)
		case e.Status == events.Failed:
			t.ends(e.Host, events.StateFailed)
		default:
			t.ends(e.Host, Begun)
		}
	case events.Unreachable:
		t.ends(e.Host, events.StateUnreachable)
	case events.HostFailed:
		t.ends(e.Host, events.StateFailed)
	case events.Interrupted:
		if at := t.at(e.Host); at != nil && *at == Begun { // else it waited for its next play
			*at = events.StateInterrupted
		}
	case events.Reverted:
		if e.OfThisRun() {
			t.ends(e.Host, events.StateFailed)
		}
	case events.HostDone:
		t.done(e)
	case events.Summary:
		for _, host := range e.NotStarted {
			t.fill(host, Begun, events.StateNotStarted)
		}
	}
}

// at is the current play of a host; nil if the host has none.
func (t *PlayTable) at(host string) *events.State {
	if row := t.Ends[host]; t.play >= 0 && t.play < len(row) && row[t.play] != NotMeant {
		return &row[t.play]
	}
	return nil
}

// ends notes how a host ended the current play, or that it has begun it. The first trouble counts.
func (t *PlayTable) ends(host string, how events.State) {
	if at := t.at(host); at != nil && (*at == Begun || *at == events.StateNotStarted) {
		*at = how
	}
}

// begin notes that a batch has begun. Hosts of the batch before that had no trouble are through with it.
func (t *PlayTable) begin(e events.PlayStart) {
	for _, host := range t.batch {
		if at := t.at(host); at != nil && *at == Begun && !t.gaps {
			*at = events.StateOK
		}
	}
	t.play, t.batch = e.Number-1, nil
	if e.Batch == 0 { // hosts are only queried for the coming changes
		return
	}
	t.batch = e.Hosts
	for _, host := range e.Hosts {
		t.ends(host, Begun)
	}
}

// done notes how a host reports the end of its plays. Earlier versions reported the number of plays that it did not
// enter.
func (t *PlayTable) done(e events.HostDone) {
	row := t.Ends[e.Host]
	for _, play := range e.Plays {
		if i := play.Number - 1; i >= 0 && i < len(row) {
			row[i] = play.State
		}
	}
	if len(e.Plays) > 0 || e.State != events.StateOK {
		return
	}
	notRun := e.PlaysNotRun
	for i, end := range slices.Backward(row) {
		switch {
		case end == NotMeant:
		case notRun > 0:
			notRun--
			row[i] = events.StateNotStarted
		default:
			row[i] = events.StateOK
		}
	}
}

// fill replaces a state in all plays of a host.
func (t *PlayTable) fill(host string, from, to events.State) {
	for i, end := range t.Ends[host] {
		if end == from {
			t.Ends[host][i] = to
		}
	}
}

// missing returns the state of a host without an event about its end: [NotMeant] if the run had no play for it, not
// started, or incomplete if it may have begun.
func (t *PlayTable) missing(host string) events.State {
	state := NotMeant
	for _, end := range t.Ends[host] {
		switch end {
		case NotMeant:
		case events.StateNotStarted:
			if t.gaps { // it may have begun
				return events.StateIncomplete
			}
			state = cmp.Or(state, end)
		default:
			state = events.StateIncomplete
		}
	}
	return state
}

// PlayTable reads how each host ended each play.
func (r *Run) PlayTable() (*PlayTable, error) {
	t := NewPlayTable(r.Plays)
	for e, err := range r.readable(t.Gap) {
		if err != nil {
			return nil, err
		}
		t.Report(e)
	}
	return t, nil
}
