package record

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// States are the states by which hosts of a run can be selected, see [Run.Hosts].
var States = []string{"ok", "failed", "unreachable", "interrupted", "incomplete", "changed", "notstarted", "unknown"}

// Hosts returns the hosts of the run that ended in one of [States], in the order of the inventory. A host is ok only if
// its last event reports that: in a killed run, hosts that may have begun and did not end are incomplete. changed
// selects the hosts that were changed, or would be in a check run, with any final state. unknown selects hosts with a
// result whose outcome is unknown, with any final state.
func (r *Run) Hosts(state string) ([]string, error) {
	if !slices.Contains(States, state) {
		return nil, fmt.Errorf("%q is not a state of a host; use one of %s", state, strings.Join(States, ", "))
	}
	tally, table := new(events.Tally), NewPlayTable(r.Plays)
	for e, err := range r.readable(table.Gap) {
		if err != nil {
			return nil, err
		}
		tally.Report(e)
		table.Report(e)
	}
	summary := tally.SoFar()
	var hosts []string
	for _, host := range table.Hosts {
		h, seen := summary.Hosts[host]
		if !seen {
			h.State = table.missing(host)
		}
		var meant bool
		switch state {
		case "notstarted":
			meant = h.State == events.StateNotStarted
		case "changed":
			meant = h.Changed+h.FailedChanged > 0
		case "unknown":
			meant = h.Unknown > 0
		default:
			meant = h.State == events.State(state)
		}
		if meant {
			hosts = append(hosts, host)
		}
	}
	return hosts, nil
}

// selected are the hosts of all plays, each once.
func (r *Run) selected() []string {
	var hosts []string
	seen := map[string]bool{}
	for _, p := range r.Plays {
		for _, h := range p.Hosts {
			if !seen[h] {
				seen[h] = true
				hosts = append(hosts, h)
			}
		}
	}
	return hosts
}

// Selected reports whether the run was about a host.
func (r *Run) Selected(host string) bool { return slices.Contains(r.selected(), host) }

// EventsOf returns the events of one host, as if the run had no other hosts; of all hosts if host is empty. An error is
// the last element.
func (r *Run) EventsOf(host string) iter.Seq2[events.Event, error] {
	if host == "" {
		return r.Events()
	}
	return func(yield func(events.Event, error) bool) {
		tally := new(events.Tally)
		for e, err := range r.Events() {
			if err == nil {
				var about bool
				if e, about = onlyOf(host, e, tally); !about {
					continue
				}
				tally.Report(e)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// onlyOf returns the part of an event about a host. tally has counted the earlier events.
func onlyOf(host string, e events.Event, tally *events.Tally) (only events.Event, about bool) {
	switch e := e.(type) {
	case events.RunStart:
		e.Hosts = 1
		return e, true
	case events.PlayStart:
		about = slices.Contains(e.Hosts, host)
		e.Hosts = []string{host}
		return e, about
	case events.Summary:
		one := tally.Summary(e.Interrupted)
		one.Stamp = e.Stamp
		if slices.Contains(e.NotStarted, host) {
			one.NotStarted = []string{host}
		}
		return one, true
	}
	return e, events.HostOf(e) == host
}
