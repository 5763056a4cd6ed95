package record

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// A Session is the ad-hoc calls that were recorded under one name.
type Session struct {
	Name string
	Runs []*Run // the oldest first
}

// CheckSession checks the name of a session.
func CheckSession(name string) error {
	const most = 64
	odd := strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
	})
	if odd || name == "" || len(name) > most || strings.ContainsAny(name[:1], "._-") {
		return fmt.Errorf("%.100q is not the name of a session: use letters, digits, '.', '_' and '-', at most %d, and begin with a letter or a digit", name, most)
	}
	return nil
}

// Session returns the recorded calls of a session. A session without calls is not an error.
func (s Store) Session(name string) (Session, error) {
	runs, err := s.List()
	runs = slices.DeleteFunc(runs, func(r *Run) bool { return r.Session != name })
	slices.Reverse(runs)
	return Session{name, runs}, err
}

// A SessionResults holds the last result of each resource of a session: by type#name and type#alias, then by host.
type SessionResults map[string]map[string]events.Result

// Results returns the last results of the session. Results of check runs count only for a check run.
func (s Session) Results(check bool) (SessionResults, error) {
	last := SessionResults{}
	for _, r := range s.Runs {
		for e, err := range r.Events() {
			if err != nil {
				return nil, err
			}
			result, ok := e.(events.Result)
			if !ok || result.Check && !check {
				continue
			}
			for _, name := range slices.Compact([]string{result.Name, result.Alias}) {
				if name == "" {
					continue
				}
				ref := result.Type + "#" + name
				if last[ref] == nil {
					last[ref] = map[string]events.Result{}
				}
				last[ref][result.Host] = result
			}
		}
	}
	return last, nil
}

// Earlier returns the effect of the results on a call that requires resources and subscribes to others, on one host. A
// resource without a result on the host, for example because the host was unreachable, is an unmet requirement.
func (r SessionResults) Earlier(host string, requires, subscribes []string) (e manifest.Earlier) {
	for _, ref := range requires {
		switch result, ran := r[ref][host]; {
		case !ran:
			e.Unmet = append(e.Unmet, ref+" (not run on this host in the session)")
		case result.Status.HasFailed(), result.Status == events.Skipped: // a call skips only for its own requirements
			e.Unmet = append(e.Unmet, ref)
		}
	}
	for _, ref := range subscribes {
		if result := r[ref][host]; result.Changed || result.Status == events.Changed {
			e.Changed = append(e.Changed, ref)
		}
	}
	return e
}

// Events returns the events of the calls as if they were one run with a play for each call. Check runs are omitted,
// unless the session has no other calls. An error is the last.
func (s Session) Events() iter.Seq2[events.Event, error] {
	runs := slices.DeleteFunc(slices.Clone(s.Runs), func(r *Run) bool { return r.Check })
	if len(runs) == 0 {
		runs = s.Runs
	}
	return func(yield func(events.Event, error) bool) {
		start := events.RunStart{Check: runs[0].Check, Version: runs[0].Version}
		start.Run, start.Time = s.Name, runs[0].Started
		hosts := map[string]bool{}
		for _, r := range runs {
			start.Plays = append(start.Plays, r.Plays...)
			for _, host := range r.selected() {
				hosts[host] = true
			}
		}
		start.Hosts = len(hosts)
		tally, took, end := new(events.Tally), map[string]time.Duration{}, start.Stamp
		tally.Report(start)
		if !yield(start, nil) {
			return
		}
		for i, r := range runs {
			for e, err := range r.Events() {
				switch one := e.(type) {
				case events.RunStart:
					continue
				case events.PlayStart:
					one.Play, one.Number = r.What, i+1
					e = one
				case events.HostDone: // of the call
					took[one.Host] += one.Duration
					continue
				case events.Summary:
					end.Time = one.Time
					continue
				}
				if err == nil {
					tally.Report(e)
				}
				if !yield(e, err) || err != nil {
					return
				}
			}
		}
		interrupted := slices.ContainsFunc(runs, func(r *Run) bool { return r.Outcome() == Interrupted })
		for _, host := range slices.Sorted(maps.Keys(took)) {
			done := tally.HostDone(host, took[host], events.Phases{})
			done.Stamp = end
			tally.Report(done)
			if !yield(done, nil) {
				return
			}
		}
		summary := tally.Summary(interrupted)
		summary.Stamp = end
		yield(summary, nil)
	}
}
