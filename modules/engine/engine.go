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
	Stop   func() bool                                 // asked before each resource; true ends the catalog; nil never does
	// Prefetch asks for contents that will be opened; nil if all are here.
	Prefetch func(ctx context.Context, lacking []modules.Content) error

	// Refreshes is where refreshes are noted that are due; nil notes none, so that a
	// run that ends early loses them.
	Refreshes notes.Store
	// Reversals is where it is noted what was there before resources that can be undone;
	// nil notes nothing, so that none of those is applied.
	Reversals notes.Store
	// Past is where it is kept what was there before runs changed it; nil keeps nothing, so
	// that no run can be undone.
	Past notes.PastStore
	// Sent is where values are noted that resources have sent; nil notes none.
	Sent notes.Store
	// Applied is where it is noted what runs have left as it was asked for, by which a change
	// has its cause; nil notes nothing, and gives none.
	Applied notes.Store
	// Finished are the entries that have had their turn before, as far as the run of the
	// catalog got whose connection was lost: by index. They are neither checked nor told
	// again.
	Finished map[int]*notes.Finished
	// Keep is given what each entry came to, before that is told; nil keeps nothing. An
	// error is a warning of the entry.
	Keep func(*notes.Finished) error
	// Begins notes that a command of an entry begins, or that a try of it has ended; nil notes nothing. An error
	// is a warning of the entry.
	Begins func(*notes.Attempt) error
	// Cut are the commands that began in an earlier session and have no result: by index.
	Cut map[int]*notes.Attempt
	// Forgotten says that the host does not know which commands a run that this one resumes has run. Those without a
	// guard do not start.
	Forgotten bool
	// Failed are the errors of entries that failed in runs that this one resumes, and are tried again: by index, the oldest
	// first. Those runs may have ended before they could report them.
	Failed map[int][]string
	// Undoes is told once which resources have left the manifest and are undone, before
	// their results; nil tells no one.
	Undoes func(*wire.Reversals) error

	// Follow is given each line that a command writes while a resource is applied; nil, and of
	// sensitive resources, nobody is. It may be called by several goroutines.
	Follow func(index int, stderr bool, line string)

	Rules Rules // judges health checks that are rules of goss; nil cannot

	// Import asks the controller for what an entry receives from other hosts; nil where
	// there is none.
	Import func(ctx context.Context, index int) (*wire.Imported, error)
	// Semaphores waits for those of an entry, and gives what releases them; nil where no
	// other host is to wait. would is what the entry is about to do.
	Semaphores func(ctx context.Context, index int, would string) (release func(), err error)

	// Confirm has changes taken back that nobody confirms, as far as the catalog asks for that; nil
	// where nothing could.
	Confirm Confirmer
	// Unconfirmed has TakeBack do so; nil takes back what nobody has changed since.
	Unconfirmed *Unconfirmed

	// Hand hands a part of a file of the host to the controller; nil where there is none.
	Hand func(ctx context.Context, p *wire.Part) error

	// Elsewhere has the controller bring an entry about on another host, and gives how it ended
	// there; nil where there is no controller.
	Elsewhere func(ctx context.Context, question *wire.Elsewhere) (*wire.Elsewhere, error)

	history   *history // nil before the first catalog
	rehearsed *history // of the rehearsal that came last; nil is none
	undone    []undone // by entry of the catalog, if that undoes a run
}

// Rules judges the host by rules of goss.
type Rules func(ctx context.Context, h modules.Host, rules json.RawMessage) (wire.Health, string, error)

// ErrBeforeTurn says that the run ends before a job has had its turn. What [Engine].Import
// and Semaphores return then.
var ErrBeforeTurn = errors.New("the run ends before its turn")

// ErrKilled is why commands of a killed run end: the cause of its context.
var ErrKilled = errors.New(wire.RunInterrupted)

// ErrCut says that a content did not come, or that a file did not go to its end, since the connection was lost. An entry that has
// failed for that has not had its turn for a run that goes on.
var ErrCut = errors.New("the connection was lost before its content had come")

// A history is what is known of the earlier catalogs of a session.
type history struct {
	forecasts *forecast.Pair // what they would have made of the host, in a check run
	refreshes notes.Earlier  // what they mean for the notes of refreshes
	states    *states        // as their resources have reported them
	sent      *notes.Sent    // what their resources have sent
	subjects  []subject      // what their resources were about
	intent    bool           // they have changed something since the manifest had changed, or would have
	past      *notes.Past    // what was there before; nil before the first change
	stage     []*job         // of the catalog before, if its next stage is to come
}

// A subject is what a resource of the session has looked after.
type subject struct{ subject, ref string }

// newHistory is that of a session in which no catalog has run.
func newHistory(sent notes.Store) *history {
	return &history{states: newStates(), sent: notes.NewSent(sent)}
}

// historyOf is what is known of the catalogs before one. A rehearsal, which may have stages, has a copy.
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

// predict gives the forecasts that a catalog starts with: in a check run those of
// the catalogs before it, since nothing of them has been carried out.
func (h *history) predict(cat *wire.Catalog, host modules.Host) *forecast.Pair {
	if !cat.Check || h.forecasts == nil {
		h.forecasts = forecast.NewPair(host)
	}
	h.forecasts.Begin(host, cat.Earlier)
	return h.forecasts
}
