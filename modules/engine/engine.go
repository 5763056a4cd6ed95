package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/forecast"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/modules/engine/schedule"
	"github.com/ccm-push/ccm-push/modules/excerpt"
)

// An Engine takes catalogs through check, apply and verify on one host.
type Engine struct {
	Decode func(*modules.Entry) (modules.Resource, error) // makes the resource of an entry
	Host   modules.Host                                   // the real one; its Report and Forecast are not used
	Now    func() time.Time                               // for durations
	Stop   func() bool                                    // asked before each resource; true ends the catalog; nil never does
	// Prefetch asks for contents that will be opened; nil if all are here.
	Prefetch func(ctx context.Context, lacking []modules.Content) error

	// Refreshes is where refreshes are noted that are due; nil notes none, so that a
	// run that ends early loses them.
	Refreshes notes.Store
	// Reversals is where it is noted what was there before resources that can be undone;
	// nil notes nothing, so that none of those is applied.
	Reversals notes.Store
	// Sent is where values are noted that resources have sent; nil notes none.
	Sent notes.Store
	// Leaves is told once which resources have left the manifest, before their results;
	// nil tells nobody.
	Leaves func(*modules.Left) error

	Rules Rules // judges health checks that are rules of goss; nil cannot

	// Need asks the controller for what an entry receives from other hosts; nil where
	// there is none.
	Need func(ctx context.Context, index int) (*modules.Given, error)
	// Turn waits for the semaphores of an entry, and gives what frees them; nil where
	// nobody else is to wait for.
	Turn func(ctx context.Context, index int) (over func(), err error)

	memory
}

// memory is what an engine hands to that of the next catalog of its session.
type memory struct {
	forecasts *forecast.Pair // of the catalogs before, in a check run
	refreshes notes.Earlier  // what those mean for the notes of refreshes
	states    *states        // as resources have reported them
	sent      *notes.Sent    // what resources have sent
	subjects  []subject      // what resources were about
}

// begin gives the forecasts that a catalog starts with: in a check run those of
// the catalogs before it, since nothing of them has been carried out.
func (e *Engine) begin(cat *modules.Catalog) *forecast.Pair {
	if !cat.Check || e.forecasts == nil {
		e.forecasts = forecast.NewPair(e.Host)
	}
	e.forecasts.Begin(cat.Earlier)
	return e.forecasts
}

// Run works on the entries of a catalog, in order or as many at once as it says, and
// gives emit one result for each. In a check run, which is always in order, it sees
// what the catalogs before it would have done. It ends early, with stopped set, when
// Stop says so or ctx ends. After the first failure of a catalog with FailOnError (of
// its own: a nested manifest is one of its resources) the rest is skipped.
func (e *Engine) Run(ctx context.Context, cat *modules.Catalog, emit func(*modules.Result) error) (stopped bool, err error) {
	if e.states == nil {
		e.states = &states{of: map[string]modules.State{}}
	}
	if e.sent == nil {
		e.sent = notes.NewSent(e.Sent)
	}
	e.Host.State = e.states.last
	r := &run{
		Engine:    e,
		cat:       cat,
		emit:      emit,
		forecasts: e.begin(cat),
		resources: make([]modules.Resource, len(cat.Entries)),
		errs:      make([]error, len(cat.Entries)),
		results:   make([]outcome, len(cat.Entries)),
		reads:     make([]*forecast.ReadSet, len(cat.Entries)),
		settled:   map[int]*settled{},
		preloads:  preloads{},
		looked:    looked{stable: map[int]bool{}},
		held:      map[int]func(){},
		traffic:   findTraffic(cat.Entries),
	}
	if r.scopes, err = findScopes(cat.Entries); err != nil {
		return false, err
	}
	for i := range cat.Entries {
		if entry := &cat.Entries[i]; !entry.Excluded && !entry.Hidden && entry.Scope == nil && len(entry.Receive) == 0 {
			r.resources[i], r.errs[i] = r.decode(i, entry)
		}
	}
	if err := r.prefetch(ctx); err != nil {
		return false, err
	}
	r.openNotes()
	if cat.Parallel > 1 && !cat.Check && !cat.Monitor {
		stopped, err = r.atOnce(ctx)
	} else {
		tell := r.holdBack()
		stopped, err = r.inOrder(ctx)
		err = errors.Join(err, tell())
	}
	if stopped || err != nil {
		return stopped, err
	}
	return r.undo(ctx)
}

// inOrder works on the entries one after the other.
func (r *run) inOrder(ctx context.Context) (stopped bool, err error) {
	for i := range r.cat.Entries {
		if r.settled[i] == nil && r.interrupted(ctx) {
			return true, nil
		}
		if began, err := r.step(ctx, i); err != nil || !began {
			return !began, err
		}
	}
	return false, nil
}

// decode makes the resource of an entry, and tells it if nothing of it may be shown, or
// if it undoes another one.
func (r *run) decode(i int, entry *modules.Entry) (modules.Resource, error) {
	res, err := r.Decode(entry)
	if d, ok := res.(modules.Discreet); ok && r.secret(i) {
		d.Discreet()
	}
	if u, ok := res.(modules.Undoer); ok && entry.Left {
		u.Undo()
	}
	return res, err
}

// interrupted reports whether nothing more shall be started. What is only skipped,
// since the play has ended already, is told in any case.
func (r *run) interrupted(ctx context.Context) bool {
	return r.scopes.ended[noScope] == "" && (ctx.Err() != nil || r.Stop != nil && r.Stop())
}

// step brings one entry to its result and hands that out. began is false if the run
// is to end before the turn of the entry has come.
func (r *run) step(ctx context.Context, i int) (began bool, err error) {
	start := r.Now()
	result := r.entry(ctx, i)
	if result == nil {
		return false, nil
	}
	result.Duration = r.Now().Sub(start)
	if text := r.warning; text != "" {
		r.warning = ""
		result.Messages = append([]modules.Note{{Level: "warning", Text: excerpt.Of(text, maxText)}}, result.Messages...)
	}
	failed := result.Status == modules.Failed && !r.monitors(i)
	if failed {
		r.tellWaiting(i, result)
	}
	if err := r.emit(result); err != nil {
		return true, err
	}
	if failed {
		r.endScope(i)
	}
	return true, nil
}

// run is one catalog under way.
type run struct {
	*Engine
	forecasts *forecast.Pair
	cat       *modules.Catalog
	resources []modules.Resource
	errs      []error // of decoding
	results   []outcome
	settled   map[int]*settled // by index: done already, together with an earlier entry
	refreshes *notes.Refreshes
	reversals *notes.Reversals
	warning   string   // about the said, for the next result
	preloads  preloads // what types have found out about their entries
	looked    looked
	scopes    scopes
	emit      func(*modules.Result) error
	held      map[int]func()      // entries that hold semaphores, and what frees those
	traffic   traffic             // what is sent and received
	ancestors schedule.Ancestors  // see before; nil until they are needed
	reads     []*forecast.ReadSet // of a check run whose entries may conflict

	// scheduler has entries worked on at once: whoever touches the run then holds its lock,
	// and lets go of it while only the host is worked on; see outside. nil if they are
	// worked on in order.
	scheduler *schedule.Scheduler
}

// outcome is what later entries need to know of an earlier one.
type outcome struct {
	status  modules.Status
	changed bool   // or would change, whatever became of it later
	unmet   bool   // skipped for a requirement
	doubt   string // what its prediction depends on

	triggers []string // the entries it was refreshed by

	sent       map[string]json.RawMessage // values for others
	unsent     error                      // why a value is not among those
	unknown    bool                       // others are sent once it is applied
	properties json.RawMessage            // with what it has received
}

func (r *run) checked(i int) bool { return r.cat.Check || r.cat.Entries[i].Check }
func (r *run) diff(i int) bool    { return r.cat.Diff && !r.secret(i) }

// present is the Host that Check sees in an applying run: the real one, as it is.
func (r *run) present(report modules.Reporter) modules.Host {
	h := modules.ReadOnly(r.Host)
	h.Report = report
	h.Commands = probing{h.Commands, &r.looked}
	return h
}

// entry brings one entry to its result; nil if the run is to end before its turn has
// come.
func (r *run) entry(ctx context.Context, i int) *modules.Result {
	entry, out := &r.cat.Entries[i], &r.results[i]
	result := &modules.Result{Index: i}
	switch unmet, doubt := r.requirements(i); {
	case entry.Excluded:
		result.Status, result.Message = modules.Skipped, "excluded by control"
	case entry.Hidden:
		result.Status, result.Message = modules.Skipped, "hidden: defined, not run"
	case r.settled[i] == nil && r.endedBy(i) != "":
		r.leaveOut(i, result)
	case len(unmet) > 0:
		out.unmet = true
		result.Status, result.Because = modules.Skipped, excerpt.Of(strings.Join(unmet, ", "), maxText)
		result.Message = "skipped due to unmet requirement"
	default:
		said := &said{}
		p := &forecast.Prediction{Because: doubt}
		if r.mayConflict() && !entry.Left { // what has left comes after everything
			p.Reads = forecast.NewReadSet()
			r.reads[i] = p.Reads
		}
		err := r.errs[i]
		switch done := r.settled[i]; {
		case done != nil:
			said, err = done.said, r.report(i, done, result, p)
		case entry.Scope != nil:
			err = r.sumUp(i, result, p)
		case err == nil && !r.monitors(i):
			err = r.tries(ctx, i, result, said, p)
		}
		if err == errBeforeTurn && r.endedBy(i) != "" {
			r.free(i)
			r.leaveOut(i, result)
			break
		}
		if err == errBeforeTurn {
			return nil
		}
		if out.changed = err == nil && result.Status == modules.Changed; err == nil {
			r.serve(i, said)
			r.send(ctx, i, result, said)
		} else {
			r.refreshes.Fails(i)
		}
		if err != nil { // what is missing may come with anything
			p.AsInList()
		}
		if p.Unrecorded() { // it may turn out to act after all, nobody knows how
			r.record(i, p.Because, modules.Plan{Effects: []modules.Effect{modules.Anything}}, p)
		}
		early, err := r.healthy(ctx, i, result, said, err)
		r.free(i)
		if err != nil {
			result.Killed = context.Cause(ctx) == errKilled
			result.Status, result.Error, result.Sent = modules.Failed, excerpt.Of(err.Error(), maxText), nil
			if result.Done = out.changed && !r.checked(i); !result.Done {
				result.Message = ""
			}
			if ctx.Err() == nil && r.undecided(i, p) {
				result.Status, result.Error, result.Message = modules.Changed, "", unforeseen(err, result.Error)
				out.changed, out.unknown = true, true
			}
		} else {
			p.Because = cmp.Or(p.Because, early)
		}
		r.tellState(i, result, said)
		r.states.foretell(r.cat.Entries[i].Ref(), r.checked(i) && out.changed && !(r.cat.Check && entry.Check))
		if kinded, ok := errors.AsType[modules.Kinded](err); ok && result.Error != "" {
			result.ErrorKind = kinded.Kind()
		}
		result.Messages, result.Exit, result.Changes = said.list(), said.exit, bounded(result.Changes)
		if r.checked(i) && p.Because != "" {
			result.Uncertain, result.Because, out.doubt = true, p.Because, p.Because
		}
		if r.secret(i) {
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

// leaveOut is the result of an entry whose manifest a failure has ended.
func (r *run) leaveOut(i int, result *modules.Result) {
	r.results[i].unmet = true
	result.Status, result.Because = modules.Skipped, excerpt.Of(r.endedBy(i), maxText)
	result.Message = "skipped because its manifest has fail_on_error"
}

// undecided reports whether an error of a check run may be one only because
// earlier resources have not been carried out. The prediction is then a change
// that is uncertain: something will have to happen here.
func (r *run) undecided(i int, p *forecast.Prediction) bool { return r.checked(i) && p.Because != "" }

// requirements finds the required entries that rule this one out, and what
// makes it uncertain that they do not.
func (r *run) requirements(i int) (unmet []string, doubt string) {
	for j := range schedule.Requirements(&r.cat.Entries[i]) {
		out := &r.results[j]
		if ref := r.cat.Entries[j].Ref(); (out.status == modules.Failed || out.unmet) && !slices.Contains(unmet, ref) {
			unmet = append(unmet, ref)
		}
		if out.doubt != "" && doubt == "" {
			doubt = r.blamed(j)
		}
	}
	return unmet, cmp.Or(doubt, r.mayBeEndedBy(i))
}

// blamed names what an entry depends on that depends on j, which is in doubt: j if it
// would change something, or else what has put it in doubt.
func (r *run) blamed(j int) string {
	if out := &r.results[j]; out.status != modules.Changed {
		return out.doubt
	}
	return r.cat.Entries[j].Ref()
}

// act checks and, in an applying run, applies and verifies: one try.
func (r *run) act(ctx context.Context, i int, result *modules.Result, said *said, p *forecast.Prediction) error {
	entry := &r.cat.Entries[i]
	try, end := timed(ctx, entry)
	defer func() { end() }()
	if entry.Query != "" {
		return late(try, entry, r.query(try, i, said))
	}
	var claimed []string
	since := r.scheduler.Clock()
	plan, seen, err := r.look(try, i, said, p)
	for err == nil && plan.Pending() && !r.checked(i) {
		if r.waitsForTurn(i) {
			end()
			if err := r.awaitTurn(ctx, i); err != nil {
				return err
			}
		} else {
			if claimed = r.things(plan); r.scheduler.Claim(claimed, since) {
				break
			}
			end()
		}
		// Others may have been at work meanwhile, and their time is not that of this try.
		try, end = timed(ctx, entry)
		since = r.scheduler.Clock()
		plan, seen, err = r.look(try, i, said, p)
	}
	if err != nil || !plan.Pending() {
		return late(try, entry, err)
	}
	result.Status, result.Refreshed = modules.Changed, plan.Refreshed
	if plan.Refreshed {
		result.RefreshedBy = r.results[i].triggers
	}
	result.Changes = plan.Changes
	if r.diff(i) {
		r.outside(i, func() { result.Diff = unifiedDiffs(try, seen, plan.Texts) })
	}
	if r.checked(i) {
		if r.cat.Check && !entry.Check {
			if err := r.refreshes.MayAnnounce(i); err != nil {
				return err
			}
		}
		if err := r.noteReversal(try, i, plan, seen); err != nil {
			return late(try, entry, err)
		}
		result.Message = plan.Foretold()
		if opaque(plan) {
			p.Doubt(entry.Ref()) // whether it succeeds is known only when it has run
		}
		r.record(i, r.cat.Entries[i].Ref(), plan, p)
		return nil
	}
	defer r.scheduler.Unclaim(claimed)
	if err := r.noteReversal(try, i, plan, seen); err != nil {
		return late(try, entry, err)
	}
	result.Message = plan.Action
	if err := r.carryOut(try, i, plan, said); err != nil {
		return late(try, entry, err)
	}
	r.record(i, r.cat.Entries[i].Ref(), plan, p)
	return nil
}

// look lets an entry compare itself with the host, which it is shown as seen.
func (r *run) look(ctx context.Context, i int, said *said, p *forecast.Prediction) (plan modules.Plan, seen modules.Host, err error) {
	check := r.checked(i)
	seen = r.present(said)
	if check {
		seen = r.forecast(i).Host(ctx, r.view(i), p, said)
		seen.State = r.stateThen(p)
	}
	seen.Preload = r.preload(ctx, i, p)
	if check || !r.looked.still(i) {
		r.outside(i, func() { plan, err = r.resources[i].Check(ctx, seen) })
	}
	if err == nil {
		plan, err = r.refresh(ctx, i, seen, plan, p)
	}
	return plan, seen, err
}

// acting is the Host that Apply is given.
func (r *run) acting(report modules.Reporter) modules.Host {
	h := r.Host
	h.Report, h.Forecast = report, modules.NoForecast{}
	return h
}

// apply applies a plan and verifies it.
func (r *run) apply(ctx context.Context, i int, plan modules.Plan, report modules.Reporter) error {
	res, h, left := r.resources[i], r.acting(report), r.present(after{report: report})
	var err error
	r.changing(func() {
		if err = res.Apply(ctx, h, plan); err != nil {
			return
		}
		if err = verify(ctx, res, h, left, plan); err != nil {
			err = fmt.Errorf("failed to reach desired state: %w", err)
		}
	})
	return err
}

// forecast is what an entry is checked against.
func (r *run) forecast(i int) *forecast.Forecast { return r.forecasts.For(r.cat.Entries[i].Check) }

// record adds a plan to the forecasts. because is what predictions that rest on the plan
// depend on.
func (r *run) record(i int, because string, plan modules.Plan, p *forecast.Prediction) {
	p.Recorded()
	r.forecasts.Record(forecast.Plan{
		Entry: i, Ref: because, Effects: plan.Effects, Doubt: p.Because,
		Noop: r.cat.Entries[i].Check, Applied: !r.checked(i),
	})
}

// refresh lets a type react to what an earlier run has left to do, or to the changed
// entries it subscribes to, and notes which. The change of a noop entry is none, except
// for other noop entries.
func (r *run) refresh(ctx context.Context, i int, h modules.Host, plan modules.Plan, p *forecast.Prediction) (modules.Plan, error) {
	triggers := &r.results[i].triggers
	*triggers = nil
	due, err := r.refreshes.Due(i)
	if err != nil {
		return plan, err
	}
	if due != nil {
		if due.Changed != "" {
			*triggers = []string{due.Changed}
		}
		plan, err := r.refreshed(ctx, i, h, plan)
		if plan.Refreshed {
			plan.Action += "; " + due.Why()
		}
		return plan, err
	}
	for _, j := range r.cat.Entries[i].Subscribe {
		out := &r.results[j]
		if r.cat.Entries[j].Check && !r.cat.Entries[i].Check {
			continue
		}
		if out.doubt != "" && len(*triggers) == 0 { // one that is certain is enough
			p.Doubt(r.blamed(j))
		}
		if out.changed && len(*triggers) < modules.MaxParts {
			*triggers = append(*triggers, notes.Clip(r.cat.Entries[j].Ref(), maxText))
		}
	}
	if len(*triggers) == 0 {
		return plan, nil
	}
	return r.refreshed(ctx, i, h, plan)
}

// refreshed is the plan of an entry that reacts to another one.
func (r *run) refreshed(ctx context.Context, i int, h modules.Host, plan modules.Plan) (next modules.Plan, err error) {
	refresher, ok := r.resources[i].(modules.Refresher)
	if !ok {
		return plan, fmt.Errorf("type %s has no refresh, so it cannot subscribe", r.cat.Entries[i].Type)
	}
	r.outside(i, func() { next, err = refresher.Refresh(ctx, h, plan) })
	return next, err
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
