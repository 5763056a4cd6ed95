package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/modules/engine/schedule"
	"github.com/ccm-push/ccm-push/modules/excerpt"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// Run processes the entries of a catalog, in order or as many at once as the catalog allows, and passes one result for
// each to emit. A check run, which is always in order, sees the predicted effects of earlier catalogs. Run ends early,
// with stopped set, when Stop returns true or ctx ends. After the first failure of a catalog with FailOnError, the rest
// is skipped. A nested manifest has a FailOnError of its own, and is one resource of the outer one.
func (e *Engine) Run(ctx context.Context, cat *wire.Catalog, emit func(*wire.Result) error) (stopped bool, err error) {
	r, err := e.newRun(cat, emit, nil)
	if err != nil {
		return false, err
	}
	return r.all(ctx)
}

// all works on all jobs of the run.
func (r *run) all(ctx context.Context) (stopped bool, err error) {
	if err := r.prefetch(ctx); err != nil {
		return false, err
	}
	r.openNotes()
	cat := r.cat
	if cat.Parallel > 1 && !cat.Check && !cat.Monitor {
		stopped, err = r.atOnce(ctx)
	} else {
		tell := r.holdBack()
		stopped, err = r.inOrder(ctx)
		err = errors.Join(err, tell())
	}
	if !stopped && err == nil && cat.Until == 0 {
		stopped, err = r.undo(ctx, r.step)
	}
	r.endStage()
	_ = r.applied.Close() // without it, the next run notes it
	return stopped, err
}

// newRun creates the jobs of a catalog, with their resources as far as those are known. known, if not nil, gives
// entries the results that they have already.
func (e *Engine) newRun(cat *wire.Catalog, emit func(*wire.Result) error, known func(*run)) (*run, error) {
	history := e.historyOf(cat)
	host := e.Host
	if e.undone != nil {
		host.Contents = keptContents{e.Past}
	}
	real := newRealHost(host, history.states.last)
	order := schedule.NewOrder(cat)
	r := &run{
		engine: e, history: history, cat: cat, play: &scope{failOnError: cat.FailOnError}, emit: emit,
		earlierIntent: history.intent,
		real:          real, order: order, forecasts: &forecasts{history.predict(cat, real.host), order},
	}
	for i := range cat.Entries {
		r.add(&cat.Entries[i])
	}
	for i := range e.undone {
		r.decodeUndone(r.jobs[i], &e.undone[i])
	}
	if err := r.findScopes(); err != nil {
		return nil, err
	}
	r.finishedBefore()
	if err := r.goOn(); err != nil {
		return nil, err
	}
	if known != nil {
		known(r)
	}
	r.jobs.findExports()
	for _, j := range r.jobs {
		if entry := j.entry; j.resource == nil && j.undone == nil && len(entry.Awaits) == 0 && !entry.Excluded && entry.Unselected != wire.RefreshLater && !entry.Hidden && entry.Scope == nil && entry.On == "" && len(entry.Receive) == 0 {
			r.decode(j, entry)
		}
	}
	return r, nil
}

// openNotes reads what earlier runs have noted on the host, as far as the catalog has use
// for it.
func (r *run) openNotes() {
	refreshes := func(i int) bool {
		j := r.jobs[i]
		_, ok := j.resource.(modules.Refresher)
		return ok || j.entry.Unselected != "" || j.invalid != nil || j.entry.On != "" || len(j.entry.Receive)+len(j.entry.Awaits) > 0 // else it has an error of its own
	}
	e := r.engine
	r.refreshes, r.warning = notes.OpenRefreshes(e.Refreshes, r.cat, &r.history.refreshes, e.Now, refreshes)
	var warning string
	if r.reversals, warning = notes.OpenReversals(e.Reversals, r.cat); r.warning == "" {
		r.warning = warning
	}
	r.applied = notes.NewApplied(e.Applied, r.cat)
}

// inOrder works on all jobs one after the other.
func (r *run) inOrder(ctx context.Context) (stopped bool, err error) {
	for _, j := range r.jobs {
		if r.awaits(j) {
			return false, nil
		}
		if j.joint == nil && r.interrupted(ctx) {
			return true, nil
		}
		if began, err := r.step(ctx, j); err != nil || !began {
			return !began, err
		}
	}
	return false, nil
}

// atOnce processes as many jobs at once as the catalog allows.
func (r *run) atOnce(ctx context.Context) (stopped bool, err error) {
	r.real.scheduler = schedule.New(r.cat.Entries, schedule.Work{
		Parallel: r.cat.Parallel,
		Alone: func(i int) bool {
			_, batches := r.jobs[i].resource.(modules.Batcher)
			return batches
		},
		Turn:        func(i int) (began bool, err error) { return r.step(ctx, r.jobs[i]) },
		Interrupted: func() bool { return r.interrupted(ctx) },
	})
	return r.real.scheduler.Run()
}

// step brings one job to its result and hands that out. began is false if the run
// is to end before the turn of the job has come.
func (r *run) step(ctx context.Context, j *job) (began bool, err error) {
	if j.finished != nil {
		r.recall(j)
		return true, nil
	}
	start := r.engine.Now()
	if !r.work(ctx, j) {
		return false, nil
	}
	if j.restarting {
		return true, modules.ErrRestarting
	}
	result := j.result
	result.Duration = r.engine.Now().Sub(start)
	if text := r.warning; text != "" {
		r.warning = ""
		result.Messages = append([]modules.Note{{Level: "warning", Text: excerpt.Of(text, maxText)}}, result.Messages...)
	}
	failed := j.status == wire.Failed && !j.monitors
	if failed {
		r.tellWaiting(j)
	}
	r.keep(j)
	if err := r.emit(result.told()); err != nil {
		return true, err
	}
	r.wentWrong(j)
	return true, nil
}

// wentWrong ends the scope of a job that went wrong, and keeps back the refreshes that wait for it. Two
// things end a part of a block and no manifest: a failed health check of a job that is not carried out,
// and, as in CCM, a skip because of a requirement.
func (r *run) wentWrong(j *job) {
	if !j.wentWrong() {
		return
	}
	r.refreshes.Fails(j.index)
	part := j.scope.isPart()
	switch {
	case j.monitors && (r.cat.Monitor || !part):
	case j.status == wire.Failed, part && !j.leftOut: // a job that was left out has not failed
		j.scope.endWith(j)
	}
}

// keep stores a result on the host, in case it cannot be reported.
func (r *run) keep(j *job) {
	if r.engine.Keep == nil || j.entry.Reversal && j.result.Status == wire.Stable {
		return
	}
	err := r.engine.Keep(&notes.Finished{
		Result: j.result.kept(), Type: j.entry.Type, Name: j.entry.Name, Sensitive: j.secret,
		Changed: j.changed && !j.predicts(), Unmet: j.result.Unmet, Elsewhere: j.elsewhere, Register: j.entry.Register, Sent: j.exports.sent,
	})
	if err != nil {
		note := modules.Note{Level: "warning", Text: excerpt.Of("its result could not be kept on the host, where a lost connection would lose it: "+err.Error(), maxText)}
		j.result.Messages = append(j.result.Messages, note)
	}
}

// recall restores the state of a job after an earlier run of the catalog.
func (r *run) recall(j *job) {
	f := j.finished
	j.result = (*result)(f.Result)
	if f.Result.Status != wire.Skipped {
		j.scope.begin()
	}
	if j.replay != nil {
		j.replay()
	}
	j.status, j.changed, j.result.Unmet, j.exports.sent = cmp.Or(f.Result.Status, wire.Stable), f.Changed, f.Unmet, f.Sent
	if j.status == wire.Rescued {
		j.status = wire.Failed
	}
	if j.acted.ended = r.clock.next(); r.cat.Parallel <= 1 { // else their order is unknown
		j.acted.began = j.acted.ended
	}
	j.leftOut = f.Unmet && j.scope.ended() != ""
	if state := f.Result.State; state != nil {
		r.history.states.keep(j.entry.Ref(), *state)
	}
	r.recallCause(j)
	if j.changed && !j.predicts() {
		r.refreshes.Recall(j.index)
	}
	j.scope.doubtful = j.scope.doubtful.Or(j.blamed())
	r.wentWrong(j)
}

// finishedBefore finds the entries that have had their turn in an earlier run of the catalog.
func (r *run) finishedBefore() {
	for i, f := range r.engine.Finished {
		r.jobs[i].finished = f
	}
	for i, a := range r.engine.Cut {
		r.jobs[i].cut = a
	}
}
