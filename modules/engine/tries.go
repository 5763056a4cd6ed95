package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
	"github.com/ccm-push/ccm-push/modules/excerpt"
)

// errBeforeTurn says that the run ends before an entry has had its turn.
var errBeforeTurn = errors.New("the run ends before its turn")

// errTimeUp is why the context of a try ended.
var errTimeUp = errors.New("the time of the try is up")

// tries has an entry try until it has succeeded, or has tried often enough. What is
// only predicted, or asked, is tried once.
func (r *run) tries(ctx context.Context, i int, result *modules.Result, said *said, p *forecast.Prediction) error {
	if unknown, err := r.receive(ctx, i, p); err != nil {
		return err
	} else if unknown != "" {
		result.Status, result.Message = modules.Changed, unknown
		return nil
	}
	entry := &r.cat.Entries[i]
	var acted *modules.Result // the first try that may have changed the host and failed
	for try := 1; ; try++ {
		began := r.Now()
		r.refreshes.Begins(i)
		err := r.act(ctx, i, result, said, p)
		if reason, ok := errors.AsType[modules.Unmanaged](err); ok && acted == nil {
			result.Status, result.Message, err = modules.Skipped, excerpt.Of(string(reason), maxText), nil
		}
		if acted != nil && result.Status == "" { // what is left of it counts
			result.Status, result.Message = acted.Status, acted.Message
			result.Refreshed, result.RefreshedBy = acted.Refreshed, acted.RefreshedBy
			result.Changes, result.Diff = acted.Changes, acted.Diff
		}
		if try > 1 {
			result.Tries = try
		}
		if err == nil || err == errBeforeTurn || r.checked(i) || try > entry.Retry {
			return err
		}
		if result.Status == modules.Changed && acted == nil {
			before := *result
			acted = &before
		}
		goOn := false
		r.scheduler.Aside(i, func() { goOn = r.pause(ctx, max(entry.Delay, spacing(entry)-r.Now().Sub(began))) })
		if !goOn || r.begins(i) != nil {
			return err
		}
		*result = modules.Result{Index: i}
		said.exit = nil
		said.Message("warning", fmt.Sprintf("try %d of %d failed: %v", try, entry.Retry+1, err))
	}
}

// spacing is how long it takes at least from the beginning of a try to that of the
// next one.
func spacing(e *modules.Entry) time.Duration {
	if e.Limit <= 0 {
		return 0
	}
	return time.Duration(float64(time.Second) / e.Limit)
}

// timed bounds the time of a try.
func timed(ctx context.Context, e *modules.Entry) (context.Context, context.CancelFunc) {
	if e.Timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, e.Timeout, errTimeUp)
}

// late is the error of a try that has ended with err: its time was up, if it was.
func late(try context.Context, e *modules.Entry, err error) error {
	if err != nil && context.Cause(try) == errTimeUp {
		return modules.Refuse("timed out after %v (timeout)", e.Timeout)
	}
	return err
}

// waitsForTurn reports whether an entry, which has something to do, has to wait for its
// semaphores.
func (r *run) waitsForTurn(i int) bool {
	return r.Turn != nil && len(r.cat.Entries[i].Sema) > 0 && r.held[i] == nil && !r.checked(i)
}

// begins gives errBeforeTurn if the manifest of an entry that has waited has ended
// meanwhile.
func (r *run) begins(i int) error {
	if r.endedBy(i) != "" {
		return errBeforeTurn
	}
	return nil
}

// awaitTurn waits for the semaphores of an entry. What was found out about the host
// before may be out of date then.
func (r *run) awaitTurn(ctx context.Context, i int) error {
	var over func()
	var err error
	r.scheduler.Aside(i, func() { over, err = r.Turn(ctx, i) })
	if err == nil {
		r.held[i] = over
		r.aboutToChange()
		err = r.begins(i)
	}
	return err
}

// free gives the semaphores of an entry back.
func (r *run) free(i int) {
	if over := r.held[i]; over != nil {
		delete(r.held, i)
		over()
	}
}

// query asks an entry what it is to be asked.
func (r *run) query(ctx context.Context, i int, said *said) error {
	entry := &r.cat.Entries[i]
	q, ok := r.resources[i].(modules.Querier)
	if entry.Query != modules.StatusQuery && (!ok || !slices.Contains(q.Queries(), entry.Query)) {
		return modules.Refuse("type %s does not answer %q", entry.Type, entry.Query)
	}
	var answer json.RawMessage
	var err error
	seen := r.present(said)
	r.outside(i, func() {
		if entry.Query == modules.StatusQuery {
			answer, err = modules.StatusOf(ctx, r.resources[i], seen)
		} else {
			answer, err = q.Query(ctx, seen, entry.Query)
		}
	})
	if err != nil {
		return err
	}
	if answer, err = json.Marshal(answer); err != nil {
		return err
	}
	if len(answer) > maxAnswer {
		return modules.Refuse("the answer has %d bytes of JSON, more than %d", len(answer), maxAnswer)
	}
	said.State(modules.State{Before: answer})
	return nil
}
