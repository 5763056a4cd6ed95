package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// An Engine takes catalogs through check, apply and verify on one host.
type Engine struct {
	Decode func(*wire.Entry) (modules.Resource, error) // makes the resource of an entry
	Host   modules.Host                                // the real one; its Report and Forecast are not used
	Now    func() time.Time                            // for durations
	Stop   func() bool                                 // called before each resource; true ends the catalog; nil never does
	// Prefetch requests contents that will be opened; nil if all are here.
	Prefetch func(ctx context.Context, lacking []modules.Content) error

	// Refreshes stores due refreshes; nil stores none, so a run that ends early loses them.
	Refreshes notes.Store
	// Reversals stores the former states of resources with reverse; nil stores none, so such resources are not applied.
	Reversals notes.Store
	// Past stores the states before changes of runs; nil stores none, so no run can be undone.
	Past notes.PastStore
	// Sent stores the values that resources have sent; nil stores none.
	Sent notes.Store
	// Applied stores the properties that runs have left, which determine the cause of a change; nil stores none, and
	// changes have no cause.
	Applied notes.Store
	// Finished has the results of entries that had their turn before the connection was lost, by index. They are
	// neither checked nor reported again.
	Finished map[int]*notes.Finished
	// Keep receives the result of each entry before it is reported; nil disables it. An error becomes a warning of the
	// entry.
	Keep func(*notes.Finished) error
	// Begins notes that a command of an entry begins, or that a try of it has ended; nil notes nothing. An error
	// is a warning of the entry.
	Begins func(*notes.Attempt) error
	// Cut are the commands that began in an earlier session and have no result: by index.
	Cut map[int]*notes.Attempt
	// Forgotten reports that the host has lost the record of commands that a resumed run has run. Commands without a
	// guard do not start.
	Forgotten bool
	// Failed are the errors of entries that failed in runs that this one resumes, and are tried again: by index, the oldest
	// first. Those runs may have ended before they could report them.
	Failed map[int][]string
	// Undoes receives once, before their results, the resources that have left the manifest and are undone; nil
	// disables it.
	Undoes func(*wire.Reversals) error

	// Follow receives each line that a command writes while a resource is applied, except for sensitive resources; nil
	// disables it. Goroutines may call it concurrently.
	Follow func(index int, stderr bool, line string)

	Rules Rules // judges health checks that are rules of goss; nil cannot

	// Import requests the values from other hosts for an entry; nil without a controller.
	Import func(ctx context.Context, index int) (*wire.Imported, error)
	// Semaphores waits for the semaphores of an entry, and returns a function that releases them; nil if there are no
	// other hosts. would describes the pending action.
	Semaphores func(ctx context.Context, index int, would string) (release func(), err error)

	// Confirm reverts unconfirmed changes if the catalog requests it; nil if that is impossible.
	Confirm Confirmer
	// Unconfirmed makes TakeBack revert unconfirmed changes; nil makes it revert only resources that have not changed
	// since.
	Unconfirmed *Unconfirmed

	// Hand sends a part of a file to the controller; nil without one.
	Hand func(ctx context.Context, p *wire.Part) error

	// Elsewhere makes the controller run an entry on another host, and returns the result; nil without a controller.
	Elsewhere func(ctx context.Context, question *wire.Elsewhere) (*wire.Elsewhere, error)

	history   *history // nil before the first catalog
	rehearsed *history // history of the last rehearsal; may be nil
	undone    []undone // changes to undo, by entry of the catalog; nil unless the catalog undoes a run
}

// Rules judges the host by rules of goss.
type Rules func(ctx context.Context, h modules.Host, rules json.RawMessage) (wire.Health, string, error)

// ErrBeforeTurn reports that the run ends before a job has had its turn. [Engine].Import and Semaphores return it.
var ErrBeforeTurn = errors.New("the run ends before its turn")

// ErrKilled is why commands of a killed run end: the cause of its context.
var ErrKilled = errors.New(wire.RunInterrupted)

// ErrCut reports that a content or a file was not transferred completely because the connection was lost. A run that
// continues gives a new turn to an entry that has failed for it.
var ErrCut = errors.New("the connection was lost before its content had come")

// A history holds the state of a session after its earlier catalogs.
type history struct {
	forecasts *forecast.Pair // predicted host, in a check run
	refreshes notes.Earlier  // predicted changes of the notes of refreshes
	states    *states        // as their resources have reported them
	sent      *notes.Sent    // sent values
	subjects  []subject      // subjects of their resources
	intent    bool           // they have changed something since the manifest had changed, or would have
	past      *notes.Past    // former states; nil before the first change
	stage     []*job         // jobs of the last catalog, if another stage follows
}

// A subject is a thing that a resource of the session manages.
type subject struct{ subject, ref string }

// newHistory returns the history of a new session.
func newHistory(sent notes.Store) *history {
	return &history{states: newStates(), sent: notes.NewSent(sent)}
}

// historyOf returns the history for a catalog. A rehearsal, which may have stages, has a copy.
func (e *Engine) historyOf(cat *wire.Catalog) *history {
	if e.history == nil {
		e.history = newHistory(e.Sent)
	}
	if !cat.Rehearsal {
		e.rehearsed = nil
		return e.history
	}
	if e.rehearsed == nil || cat.From == 0 {
		h := *e.history
		h.forecasts, h.subjects, h.stage = nil, slices.Clip(h.subjects), nil
		h.states, h.refreshes = h.states.clone(), h.refreshes.Clone()
		e.rehearsed = &h
	}
	return e.rehearsed
}

// predict returns the forecasts at the start of a catalog. In a check run they include the forecasts of the earlier
// catalogs, which were not applied.
func (h *history) predict(cat *wire.Catalog, host modules.Host) *forecast.Pair {
	if !cat.Check || h.forecasts == nil {
		h.forecasts = forecast.NewPair(host)
	}
	h.forecasts.Begin(host, cat.Earlier)
	return h.forecasts
}
