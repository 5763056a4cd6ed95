package app

import (
	"errors"
	"fmt"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/record"
)

// Records is the store of recorded runs. Records that cannot be read are warned of, each once.
func (a *App) Records() (record.Store, error) {
	store, err := record.In(a.Getenv)
	store.Warn = a.WarnOnce
	return store, err
}

// RecordedHosts returns the hosts of a recorded run for a limit such as @last:failed. There, last is the
// newest run that applied manifests: a check run or an ad-hoc call after it does not count.
func (a *App) RecordedHosts(name, state string) ([]string, error) {
	store, err := a.Records()
	if err != nil {
		return nil, err
	}
	if name != "last" {
		r, err := store.Find(name)
		if err != nil {
			return nil, err
		}
		return r.Hosts(state)
	}
	r, err := store.Last(func(r *record.Run) bool { return r.Applied() })
	if errors.Is(err, record.ErrNone) {
		return nil, fmt.Errorf("@last: %w has applied a manifest yet\n  hint: to use a check run or an ad-hoc run, write @ID:%s with the id of the run; to list the ids: ccm-push runs", record.ErrNone, state)
	}
	if err != nil {
		return nil, err
	}
	if newest, err := store.Find("last"); err == nil && newest.Run != r.Run {
		a.Say(fmt.Sprintf("@last is run %s; run %s is newer, but did not apply manifests", describeRun(r), describeRun(newest)))
	}
	return r.Hosts(state)
}

// describeRun returns the id, the time, the kind and the subject of a run, in a line.
func describeRun(r *record.Run) string {
	kind := "applied manifests"
	switch {
	case r.Check && len(r.Manifests) > 0:
		kind = "check run"
	case r.Undoes != "":
		kind = "undo"
	case r.Command == "check-health":
		kind = "health check"
	case len(r.Manifests) == 0:
		kind = "ad-hoc call"
	}
	if r.Check && len(r.Manifests) == 0 {
		kind = "check run of an " + kind
	}
	return fmt.Sprintf("%s of %s (%s: %s)", r.Run, r.Started.Local().Format("2006-01-02 15:04:05"), kind, ShortWhat(r.What))
}

// ShownRun returns the run with a name. For last it prints which run that is: the newest of any kind.
func (a *App) ShownRun(name string) (*record.Run, error) {
	r, err := a.RecordedRun(name)
	if err == nil && name == "last" {
		a.Say("last is run " + describeRun(r))
	}
	return r, err
}

// RecordedRun returns the run with a name, see [record.Store.Find].
func (a *App) RecordedRun(name string) (*record.Run, error) {
	store, err := a.Records()
	if err != nil {
		return nil, err
	}
	return store.Find(name)
}

// WhatOf describes a run: its plays or command, and its kind.
func WhatOf(h record.Header) string {
	what := ShortWhat(h.What)
	switch {
	case h.Resumes != "":
		what += " (resumes " + h.Resumes + ")"
	case h.Undoes != "":
		what += " (" + h.Undoes + ")"
	case h.Command == "check-health":
		what += " (health checks)"
	}
	if h.Check {
		what += " (check)"
	}
	return what
}

// ShortWhat shortens the description of a run to one line in a list: the command of an ad-hoc call can be a whole
// script.
func ShortWhat(what string) string {
	const most = 40
	what = events.Line(what)
	if runes := []rune(what); len(runes) > most {
		what = string(runes[:most-1]) + "…"
	}
	return what
}
