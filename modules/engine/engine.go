package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// An Engine takes catalogs through check, apply and verify on one host.
type Engine struct {
	Decode func(*modules.Entry) (modules.Resource, error) // makes the resource of an entry
	Host   modules.Host                                   // the real one; its Report and Forecast are not used
	Now    func() time.Time                               // for durations
	Stop   func() bool                                    // asked before each resource; true ends the catalog; nil never does
	// Prefetch asks for contents that will be opened; nil if all are here.
	Prefetch func(ctx context.Context, lacking []modules.Content) error

	// Journal is where refreshes are noted that are due; nil notes none, so that a
	// run that ends early loses them.
	Journal Journal

	Rules Rules // judges health checks that are rules of goss; nil cannot

	memory
}

// memory is what an engine hands to that of the next catalog of its session.
type memory struct {
	earlier  *forecasts // of the catalogs before, in a check run
	distrust bool       // the journal was found damaged
}

// forecasts are what plans so far come to.
type forecasts struct {
	will  *forecast // without those of noop entries
	would *forecast // and with them: what noop entries see
	// served are the notes of the journal that predicted refreshes would remove.
	served map[dueKey]bool
}

// begin gives the forecasts that a catalog starts with: in a check run those of
// the catalogs before it, since nothing of them has been carried out.
func (e *Engine) begin(cat *modules.Catalog) *forecasts {
	if !cat.Check || e.earlier == nil {
		e.earlier = &forecasts{newForecast(e.Host), newForecast(e.Host), map[dueKey]bool{}}
	}
	if cat.Earlier != "" {
		anything := modules.Plan{Action: "changed something", Effects: []modules.Effect{modules.Anything}}
		e.earlier.will.record(cat.Earlier, anything, "")
		e.earlier.would.record(cat.Earlier, anything, "")
	}
	return e.earlier
}

// Run works on the entries of a catalog in order and gives emit one result for
// each. In a check run it sees what the catalogs before it would have done. It
// ends early, with stopped set, when Stop says so or ctx ends. After the first
// failure of a catalog with FailOnError (of its own: a nested manifest is one of
// its resources) the rest is skipped.
func (e *Engine) Run(ctx context.Context, cat *modules.Catalog, emit func(*modules.Result) error) (stopped bool, err error) {
	r := &run{
		Engine:    e,
		cat:       cat,
		forecasts: e.begin(cat),
		resources: make([]modules.Resource, len(cat.Entries)),
		errs:      make([]error, len(cat.Entries)),
		results:   make([]outcome, len(cat.Entries)),
		settled:   map[int]*settled{},
		preloads:  preloads{},
		looked:    looked{stable: map[int]bool{}},
	}
	if r.scopes, err = findScopes(cat.Entries); err != nil {
		return false, err
	}
	for i := range cat.Entries {
		if entry := &cat.Entries[i]; !entry.Excluded && entry.Scope == nil {
			r.resources[i], r.errs[i] = e.Decode(entry)
		}
	}
	if err := r.prefetch(ctx); err != nil {
		return false, err
	}
	r.ledger = r.openLedger()
	for i := range cat.Entries {
		waits := r.settled[i] == nil && r.scopes.ended[noScope] == ""
		if waits && (e.Stop != nil && e.Stop() || ctx.Err() != nil) {
			return true, nil
		}
		start := e.Now()
		result := r.entry(ctx, i)
		result.Duration = e.Now().Sub(start)
		if text := r.ledger.warning; text != "" {
			r.ledger.warning = ""
			result.Messages = append([]modules.Note{{Level: "warning", Text: clip(text, maxText)}}, result.Messages...)
		}
		if err := emit(result); err != nil {
			return false, err
		}
		if result.Status == modules.Failed && !r.monitors(i) {
			r.endScope(i)
		}
	}
	return false, nil
}

// run is one catalog under way.
type run struct {
	*Engine
	*forecasts
	cat       *modules.Catalog
	resources []modules.Resource
	errs      []error // of decoding
	results   []outcome
	settled   map[int]*settled // by index: done already, together with an earlier entry
	ledger    *ledger
	preloads  preloads // what types have found out about their entries
	looked    looked
	scopes    scopes
}

// outcome is what later entries need to know of an earlier one.
type outcome struct {
	status  modules.Status
	changed bool   // or would change, whatever became of it later
	unmet   bool   // skipped for a requirement
	doubt   string // what its prediction depends on
}

func (r *run) checked(i int) bool { return r.cat.Check || r.cat.Entries[i].Check }
func (r *run) diff(i int) bool    { return r.cat.Diff && !r.cat.Entries[i].Sensitive }

// present is the Host that Check sees in an applying run: the real one, as it is.
func (r *run) present(report modules.Reporter) modules.Host {
	h := modules.ReadOnly(r.Host)
	h.Report = report
	h.Commands = probing{h.Commands, &r.looked}
	return h
}

// entry brings one entry to its result.
func (r *run) entry(ctx context.Context, i int) *modules.Result {
	entry, out := &r.cat.Entries[i], &r.results[i]
	result := &modules.Result{Index: i}
	switch unmet, doubt := r.requirements(i); {
	case entry.Excluded:
		result.Status, result.Message = modules.Skipped, "excluded by control"
	case r.endedBy(i) != "":
		out.unmet = true
		result.Status, result.Because = modules.Skipped, clip(r.endedBy(i), maxText)
		result.Message = "skipped because its manifest has fail_on_error"
	case len(unmet) > 0:
		out.unmet = true
		result.Status, result.Because = modules.Skipped, clip(strings.Join(unmet, ", "), maxText)
		result.Message = "skipped due to unmet requirement"
	default:
		notes := &notes{}
		w := &witness{because: doubt}
		err := r.errs[i]
		switch done := r.settled[i]; {
		case done != nil:
			notes, err = done.notes, r.report(i, done, result, w)
		case entry.Scope != nil:
			err = r.sumUp(i, result, w)
		case err == nil && !r.monitors(i):
			err = r.act(ctx, i, result, notes, w)
		}
		if out.changed = err == nil && result.Status == modules.Changed; err == nil {
			r.serve(i, notes)
		} else {
			r.ledger.failed[i] = true
		}
		if w.noted && !w.recorded { // it may turn out to act after all, nobody knows how
			r.record(i, modules.Plan{Effects: []modules.Effect{modules.Anything}}, w)
		}
		early, err := r.healthy(ctx, i, result, notes, err)
		if err != nil {
			result.Status, result.Error = modules.Failed, clip(err.Error(), maxText)
			if result.Done = out.changed && !r.checked(i); !result.Done {
				result.Message = ""
			}
			if ctx.Err() == nil && r.undecided(i, w) {
				result.Status, result.Error, result.Message = modules.Changed, "", "cannot be foreseen: "+result.Error
				out.changed = true
			}
		} else {
			w.because = cmp.Or(w.because, early)
		}
		result.Messages, result.Exit, result.Changes = notes.list, notes.exit, bounded(result.Changes)
		if r.checked(i) && w.because != "" {
			result.Uncertain, result.Because, out.doubt = true, w.because, w.because
		}
		if entry.Sensitive {
			withhold(result, err)
		}
	}
	if result.Status == modules.Skipped && r.checked(i) && r.mayBeEndedBy(i) != "" {
		result.Uncertain, result.Because = true, cmp.Or(result.Because, r.mayBeEndedBy(i)) // the run may have ended before
	}
	out.status = result.Status
	if out.doubt != "" {
		r.doubted(i)
	}
	return result
}

// undecided reports whether an error of a check run may be one only because
// earlier resources have not been carried out. The prediction is then a change
// that is uncertain: something will have to happen here.
func (r *run) undecided(i int, w *witness) bool { return r.checked(i) && w.because != "" }

// requirements finds the required entries that rule this one out, and what
// makes it uncertain that they do not.
func (r *run) requirements(i int) (unmet []string, doubt string) {
	for _, j := range r.cat.Entries[i].Require {
		out := &r.results[j]
		if out.status == modules.Failed || out.unmet {
			unmet = append(unmet, r.cat.Entries[j].Ref())
		}
		if out.doubt != "" && doubt == "" {
			doubt = r.cat.Entries[j].Ref()
		}
	}
	return unmet, cmp.Or(doubt, r.mayBeEndedBy(i))
}

// act checks and, in an applying run, applies and verifies.
func (r *run) act(ctx context.Context, i int, result *modules.Result, notes *notes, w *witness) error {
	entry, res, check := &r.cat.Entries[i], r.resources[i], r.checked(i)
	seen := r.present(notes)
	if check {
		seen = r.foreseen(i).host(ctx, w, notes)
	}
	seen.Preload = r.preload(ctx, i, w)
	var plan modules.Plan
	var err error
	if check || !r.looked.still(i) {
		plan, err = res.Check(ctx, seen)
	}
	if err == nil {
		plan, err = r.refresh(ctx, i, seen, plan, w)
	}
	if err != nil || !plan.Pending() {
		return err
	}
	result.Status, result.Refreshed = modules.Changed, plan.Refreshed
	result.Changes = plan.Changes
	if r.diff(i) {
		result.Diff = unifiedDiffs(ctx, seen, plan.Texts)
	}
	if check {
		if r.cat.Check && !entry.Check {
			if err := r.ledger.foresee(i); err != nil {
				return err
			}
		}
		result.Message = plan.Foretold()
		if opaque(plan) {
			w.note(entry.Ref()) // whether it succeeds is known only when it has run
		}
		r.record(i, plan, w)
		return nil
	}
	result.Message = plan.Action
	if err := r.carryOut(ctx, i, plan, notes); err != nil {
		return err
	}
	r.record(i, plan, w)
	return nil
}

// acting is the Host that Apply is given.
func (r *run) acting(report modules.Reporter) modules.Host {
	h := r.Host
	h.Report, h.Forecast = report, modules.NoForecast{}
	return h
}

// apply applies a plan and verifies it.
func (r *run) apply(ctx context.Context, i int, plan modules.Plan, report modules.Reporter) error {
	res, h := r.resources[i], r.acting(report)
	r.aboutToChange()
	if err := res.Apply(ctx, h, plan); err != nil {
		return err
	}
	if err := verify(ctx, res, h, r.present(modules.Discard{}), plan); err != nil {
		return fmt.Errorf("failed to reach desired state: %w", err)
	}
	return nil
}

// foreseen is the forecast that an entry is checked against. A noop entry will
// not be carried out, so only other noop entries see it.
func (r *run) foreseen(i int) *forecast {
	if r.cat.Entries[i].Check {
		return r.would
	}
	return r.will
}

// record adds a plan to the forecasts of those who shall see it. What has been
// done already needs no forecast, except over plans that were only predicted.
func (r *run) record(i int, plan modules.Plan, w *witness) {
	w.recorded = true
	if !r.checked(i) && r.would.pending == "" {
		return
	}
	ref := r.cat.Entries[i].Ref()
	plan.Effects = r.foreseen(i).settled(plan.Effects)
	if r.cat.Check && !r.cat.Entries[i].Check {
		r.will.record(ref, plan, w.because)
	}
	r.would.record(ref, plan, w.because)
}

// refresh lets a type react to what an earlier run has left to do, or to the first
// changed entry it subscribes to. The change of a noop entry is none, except for
// other noop entries.
func (r *run) refresh(ctx context.Context, i int, h modules.Host, plan modules.Plan, w *witness) (modules.Plan, error) {
	due, err := r.ledger.due(i)
	if err != nil {
		return plan, err
	}
	if due != nil {
		plan, err := r.resources[i].(modules.Refresher).Refresh(ctx, h, plan)
		if plan.Refreshed {
			plan.Action += "; " + due.why()
		}
		return plan, err
	}
	for _, j := range r.cat.Entries[i].Subscribe {
		out := &r.results[j]
		if r.cat.Entries[j].Check && !r.cat.Entries[i].Check {
			continue
		}
		if out.doubt != "" {
			w.note(r.cat.Entries[j].Ref())
		}
		if !out.changed {
			continue
		}
		refresher, ok := r.resources[i].(modules.Refresher)
		if !ok {
			return plan, fmt.Errorf("type %s has no refresh, so it cannot subscribe", r.cat.Entries[i].Type)
		}
		return refresher.Refresh(ctx, h, plan)
	}
	return plan, nil
}

// verify checks that Apply has done what it set out to do.
func verify(ctx context.Context, res modules.Resource, h, readOnly modules.Host, plan modules.Plan) error {
	if v, ok := res.(modules.Verifier); ok {
		return v.Verify(ctx, h, plan)
	}
	left, err := res.Check(ctx, readOnly)
	if err != nil {
		return err
	}
	if !left.Pending() {
		return nil
	}
	if len(left.Changes) == 0 {
		return errors.New("still to be " + left.Action)
	}
	var reasons []string
	for _, c := range left.Changes {
		reasons = append(reasons, fmt.Sprintf("%s mismatch: state=%s requested=%s", c.Property, c.Have, c.Want))
	}
	return errors.New(strings.Join(reasons, ", "))
}

func opaque(p modules.Plan) bool {
	for _, e := range p.Effects {
		if e.Kind == modules.AnyEffect || e.Kind == modules.BelowEffect {
			return true
		}
	}
	return false
}
