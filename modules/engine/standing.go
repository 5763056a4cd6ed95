package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"reflect"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A Standing is a checked catalog with the outcomes of its entries. All of it can be checked again, or a part. It is
// immutable: each check returns another one.
type Standing struct {
	engine *Engine
	cat    *wire.Catalog
	jobs   jobs
	plans  map[int][]forecast.Plan // by entry
	states *states
}

// Stand is [Engine.Run] for a check run that is a rehearsal. It returns a Standing that can be checked again, or nil if
// the run was stopped. Only this run sends requests to the controller: later checks reuse the answers.
func (e *Engine) Stand(ctx context.Context, cat *wire.Catalog, emit func(*wire.Result) error) (s *Standing, stopped bool, err error) {
	own, answers := *e, newAnswers()
	answers.record(&own)
	r, err := own.newRun(cat, emit, nil)
	if err != nil {
		return nil, false, err
	}
	if stopped, err = r.all(ctx); stopped || err != nil {
		return nil, stopped, err
	}
	answers.recall(&own)
	// Mutable state of the session is not shared, since other catalogs follow in the meantime.
	base := *own.history
	base.states, base.refreshes = base.states.clone(), base.refreshes.Clone()
	base.forecasts, base.stage = nil, nil
	base.intent = false // earlier changes of this session are not a cause of later changes
	own.history, own.rehearsed = &base, nil
	own.Keep, own.Finished, own.Undoes, own.Follow, own.Semaphores, own.Confirm, own.Prefetch = nil, nil, nil, nil, nil, nil, nil
	again := *cat
	again.From, again.Until, again.Fixed, again.Remember = 0, 0, 0, nil
	return r.stands(&own, &again), false, nil
}

// Check checks the entries for which again returns true, and all if again is nil. The others keep their outcomes. It
// ends early with an error if ctx ends or the run must stop.
func (s *Standing) Check(ctx context.Context, again func(i int) bool) (*Standing, error) {
	e := *s.engine
	base := *e.history
	base.sent = notes.NewSent(e.Sent) // other runs may have noted others
	e.history, e.rehearsed = &base, nil
	r, err := e.newRun(s.cat, func(*wire.Result) error { return nil }, func(r *run) {
		if again == nil {
			return
		}
		r.history.states = s.states.clone()
		r.real.host.State = r.history.states.last
		for i, old := range s.jobs {
			if !again(i) {
				r.standsAs(r.jobs[i], old, s.plans[i])
			}
		}
	})
	if err != nil {
		return nil, err
	}
	stopped, err := r.all(ctx)
	switch {
	case err != nil:
		return nil, err
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case stopped:
		return nil, ErrBeforeTurn
	}
	return r.stands(s.engine, s.cat), nil
}

// stands returns the outcome of a run as a Standing.
func (r *run) stands(e *Engine, cat *wire.Catalog) *Standing {
	return &Standing{engine: e, cat: cat, jobs: r.jobs[:len(cat.Entries)], plans: r.forecasts.pair.Plans(), states: r.history.states}
}

// standsAs sets the outcome of a job to that in an earlier check, with everything that other jobs need.
func (r *run) standsAs(j, old *job, plans []forecast.Plan) {
	j.endsAs(old)
	j.resource, j.invalid = old.resource, old.invalid
	j.prediction = old.prediction
	if len(plans) > 0 {
		j.replay = func() {
			for _, plan := range plans {
				r.forecasts.pair.Record(plan)
			}
		}
	}
}

// Entries returns the entries of the catalog.
func (s *Standing) Entries() []wire.Entry { return s.cat.Entries }

// Result returns the result of an entry.
func (s *Standing) Result(i int) *wire.Result { return s.jobs[i].result.told() }

// Secret reports whether the content of an entry must not be shown.
func (s *Standing) Secret(i int) bool { return s.jobs[i].secret }

// Sees reports whether an entry saw the same host, and has the same plan, as in an earlier check. Then entries that
// depend on it would see the same, too.
func (s *Standing) Sees(i int, before *Standing) bool {
	now, then := s.jobs[i].prediction, before.jobs[i].prediction
	return reflect.DeepEqual(s.plans[i], before.plans[i]) &&
		(now == nil && then == nil || now != nil && then != nil && reflect.DeepEqual(now.Reads, then.Reads))
}

// Exact reports whether checking a part gives the same results as checking all, as long as the other results stay. With
// parallel entries, only the end of a whole run shows which of them are in doubt.
func (s *Standing) Exact() bool { return s.cat.Parallel <= 1 }

// Dependencies yields the entries on which the entry i depends directly. All of them precede it.
func (s *Standing) Dependencies(i int) iter.Seq[int] {
	return wire.Dependencies(s.cat.Entries, i)
}

// Sources returns the places where a change of an entry's resource may be noticed first. polled describes the part
// without such a place, for which the host is polled; "" means none.
func (s *Standing) Sources(ctx context.Context, i int) (from modules.Sources, polled string) {
	j := s.jobs[i]
	switch {
	case j.entry.On != "":
		return from, "it runs on another host, and its state was read when this watch began"
	case j.result.Status == wire.Skipped && j.resource == nil, j.nested != nil, modules.IsEvent(j.resource): // an event has no drift
		return from, ""
	}
	watcher, ok := j.resource.(modules.Watcher)
	if !ok || j.invalid != nil {
		return from, "its type names no events"
	}
	from, err := watcher.Watch(ctx, newRealHost(s.engine.Host, s.states.last).present(modules.Discard{}))
	switch {
	case err != nil && j.secret:
		return modules.Sources{}, redacted(err)
	case err != nil:
		return modules.Sources{}, err.Error()
	case len(j.entry.Health) > 0:
		from.Polled = cmp.Or(from.Polled, "its health checks")
	}
	polled, from.Polled = from.Polled, ""
	if polled != "" && j.secret {
		polled = "a part of it cannot be listened to"
	}
	return from, polled
}

// LastRun returns the run that last recorded the states that it left on the host; "" if that is unknown.
func (s *Standing) LastRun() (run, holder string) { return notes.LastRun(s.engine.Applied) }

// Left reports for each entry whether a run has recorded it as left in its desired state.
func (s *Standing) Left() []bool {
	left := make([]bool, len(s.cat.Entries))
	applied := notes.NewApplied(s.engine.Applied, s.cat)
	if applied.Open() != nil {
		return left
	}
	for i := range left {
		e := &s.cat.Entries[i]
		left[i] = applied.LeftSo(e, e.Properties)
	}
	return left
}

// Look queries a path of the host, for watchers that wait for one.
func (s *Standing) Look(path string) error {
	_, err := s.engine.Host.Files.Stat(path)
	return err
}

// answers are the controller's answers for a catalog.
type answers struct {
	imports   map[int]*wire.Imported
	elsewhere map[int]*wire.Elsewhere
	documents map[string]json.RawMessage // documents by their text
	contents  map[string]bool            // opened contents
	folder    string                     // folder of the play; "" if it was not requested or there is none
}

// maxDocuments bounds the documents that are kept.
const maxDocuments = 100

func newAnswers() *answers {
	return &answers{
		imports: map[int]*wire.Imported{}, elsewhere: map[int]*wire.Elsewhere{},
		documents: map[string]json.RawMessage{}, contents: map[string]bool{},
	}
}

// record makes an engine keep the answers to its requests.
func (a *answers) record(e *Engine) {
	if ask := e.Import; ask != nil {
		e.Import = func(ctx context.Context, index int) (*wire.Imported, error) {
			m, err := ask(ctx, index)
			if err == nil {
				a.imports[index] = m
			}
			return m, err
		}
	}
	if ask := e.Elsewhere; ask != nil {
		e.Elsewhere = func(ctx context.Context, question *wire.Elsewhere) (*wire.Elsewhere, error) {
			m, err := ask(ctx, question)
			if err == nil {
				a.elsewhere[question.Index] = m
			}
			return m, err
		}
	}
	if ask := e.Host.YAML; ask != nil {
		e.Host.YAML = func(ctx context.Context, text string) (json.RawMessage, error) {
			document, err := ask(ctx, text)
			if err == nil && len(a.documents) < maxDocuments {
				a.documents[text] = document
			}
			return document, err
		}
	}
	if put := e.Host.Resources; put != nil {
		e.Host.Resources = func(ctx context.Context) (string, error) {
			dir, err := put(ctx)
			a.folder = dir
			return dir, err
		}
	}
	if e.Host.Contents != nil {
		e.Host.Contents = &opened{e.Host.Contents, a.contents, false}
	}
}

// errNotAsked is the error of a request without a kept answer.
var errNotAsked = errors.New("the controller is queried only when a watch begins")

// recall has an engine get the answers that were kept.
func (a *answers) recall(e *Engine) {
	if e.Import != nil {
		e.Import = func(_ context.Context, index int) (*wire.Imported, error) {
			if m := a.imports[index]; m != nil {
				return m, nil
			}
			return &wire.Imported{Index: index, Unknown: true}, nil
		}
	}
	if e.Elsewhere != nil {
		e.Elsewhere = func(_ context.Context, question *wire.Elsewhere) (*wire.Elsewhere, error) {
			if m := a.elsewhere[question.Index]; m != nil {
				return m, nil
			}
			return &wire.Elsewhere{Index: question.Index, Status: wire.Stable, Grade: modules.Unknown}, nil
		}
	}
	if e.Host.YAML != nil {
		e.Host.YAML = func(_ context.Context, text string) (json.RawMessage, error) {
			if document, ok := a.documents[text]; ok {
				return document, nil
			}
			return nil, errNotAsked
		}
	}
	if e.Host.Resources != nil {
		e.Host.Resources = func(context.Context) (string, error) {
			if a.folder == "" {
				return "", errNotAsked
			}
			return a.folder, nil
		}
	}
	if of, ok := e.Host.Contents.(*opened); ok {
		e.Host.Contents = &opened{of.Contents, a.contents, true}
	}
}

// opened are contents of which it is known which are here.
type opened struct {
	modules.Contents
	known map[string]bool
	only  bool // no others are opened
}

// Open implements [modules.Contents].
func (o *opened) Open(ctx context.Context, c modules.Content) (io.ReadCloser, error) {
	if _, here := c.Bytes(); !here && o.only && !o.known[c.SHA256()] {
		return nil, errNotAsked
	}
	r, err := o.Contents.Open(ctx, c)
	if err == nil && !o.only {
		o.known[c.SHA256()] = true
	}
	return r, err
}
