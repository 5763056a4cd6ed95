package playbooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/reach"
)

// A worker runs resources of its own hosts on other hosts: it borrows these from the coordinator, one at a time.
// Resources that run on the controller are left to the coordinator.

// A place is an entry of a host that runs elsewhere: the number of its play in the run, the part of the rollout, and its own.
type place struct {
	Play  int `json:"play"`
	Part  int `json:"part,omitempty"`
	Index int `json:"index"`
}

// Borrow requests the session of the host where an entry runs.
type Borrow struct {
	place
	On string `json:"on"`
	// Lend returns the way to a host. The coordinator sets it.
	Lend func(host string) (*Lent, error) `json:"-"`
}

// A Loan is a host that is lent, or the result of the entry, if it is known from a worker that was lost.
type Loan struct {
	Result *wire.Result `json:"result,omitempty"`
	Lent   *Lent        `json:"lent,omitempty"`
	// Predicted reports, in a check run, that the lent host would have been changed for another host.
	Predicted bool `json:"predicted,omitempty"`
}

// Return ends the loan, with the result of the entry there, which may be nil.
type Return struct {
	Borrow
	Result *wire.Result `json:"result,omitempty"`
}

// Here reports that the turn of an entry has come which runs on the controller, and names the resources that refresh
// it. With Check, Monitor or Rehearsal the entry is not applied.
type Here struct {
	place
	Refresh   []string `json:"refresh,omitempty"`
	Check     bool     `json:"check,omitempty"`
	Monitor   bool     `json:"monitor,omitempty"`
	Rehearsal bool     `json:"rehearsal,omitempty"`
}

// Lent is a host that a worker may bring something about on, and how it is reached.
type Lent struct {
	Inventory   inventory.Part   `json:"inventory"`
	Target      reach.WireTarget `json:"target"`
	KnownHosts  string           `json:"known_hosts,omitempty"`
	Certificate []byte           `json:"certificate,omitempty"`
	Renew       time.Duration    `json:"renew,omitempty"` // after which there is another one
}

// borrow requests a host. done ends the loan with the result of the entry. result is set if it is known already, from a
// worker that was lost.
func (a *asking) borrow(ctx context.Context, host string, b Borrow) (state *hostState, done func(*wire.Result), result *wire.Result, err error) {
	loan, err := request(ctx, a.wait(), host, b)
	switch {
	case errors.Is(err, context.Canceled):
		return nil, nil, nil, errStopped
	case err != nil, loan.Result != nil:
		return nil, nil, loan.Result, err
	}
	done = func(r *wire.Result) { a.tell(ctx, host, Return{b, r}) }
	inv, err := loan.Lent.Inventory.Inventory()
	target, unreached := a.Reach(ctx, loan.Lent)
	if err := errors.Join(err, unreached); err != nil {
		done(nil)
		return nil, nil, nil, err
	}
	state = &hostState{host: inv.Host(b.On), over: &target}
	if loan.Predicted {
		state.predicted = []*hostProgram{{}}
	}
	return state, done, nil, nil
}

// keep returns the state of a host that was lent before in a check run: its session knows its predictions. It is closed
// with the others.
func (t *targets) keep(state *hostState) *hostState {
	t.mu.Lock()
	defer t.mu.Unlock()
	if before := t.states[state.host.Name]; before != nil && !before.dead() {
		return before
	}
	if t.states == nil {
		t.states = map[string]*hostState{}
	}
	t.states[state.host.Name] = state
	return state
}

// visit implements commons.
func (a *asking) visit(ctx, waiting context.Context, d *delegated, index int, c *catalog.Compiled) (result *wire.Result, err error) {
	f, on, at := d.fleet, d.entries[index].On, place{d.of.number, d.of.mode.part(), index}
	defer func() { err = d.reason(on, err) }()
	if on == manifest.Controller {
		return a.here(waiting, d.host, at, c)
	}
	state, done, result, err := a.borrow(waiting, d.host, Borrow{place: at, On: on})
	if err != nil || result != nil {
		return result, err
	}
	defer func() { done(result) }()
	state.leftover = true // a worker that was lost may have left its program there
	if f.runner.Options.Check {
		state = f.targets.keep(state)
	} else {
		defer func() { // with the lock that its host program holds
			if o := f.runner.onceFor(d.of, d.host, index); result != nil && o != nil { // the session ends before it is reported
				f.reported.Store(*o, true)
				f.acknowledge(state)
			}
			_ = state.finishPrograms(ctx) // the result of the entry is known
			state.close()
		}()
	}
	if f.interrupted(ctx) {
		return nil, errStopped
	}
	result, err = f.playOn(d.of, state).runFor(ctx, d.host, index, c)
	if err != nil {
		state.close()
	}
	return result, err
}

// here reports that the turn of an entry has come that runs on the controller.
func (a *asking) here(ctx context.Context, host string, at place, c *catalog.Compiled) (*wire.Result, error) {
	h := Here{at, c.Catalog.Entries[0].Refresh, c.Catalog.Check, c.Catalog.Monitor, c.Catalog.Rehearsal}
	result, err := request(ctx, a.wait(), host, h)
	if errors.Is(err, context.Canceled) {
		err = errStopped
	}
	return result, err
}

// A loan is an entry that runs elsewhere for a worker's host, or has.
type loan struct {
	on     string       // where it runs
	done   func()       // ends it; nil if it has ended
	result *wire.Result // nil is not known
	ended  chan struct{}
}

// begin begins a loan, unless there is one: another worker had it before, and was lost.
func (a *answerer) begin(at place, on string) (l *loan, first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if l = a.loans[at]; l != nil {
		return l, false
	}
	l = &loan{on: on, ended: make(chan struct{})}
	if a.loans == nil {
		a.loans = map[place]*loan{}
	}
	a.loans[at] = l
	return l, true
}

// end ends a loan, with the result of the entry.
func (a *answerer) end(l *loan, result *wire.Result) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if l.done != nil {
		l.done()
		l.done = nil
	}
	select {
	case <-l.ended:
	default:
		l.result = result
		close(l.ended)
	}
}

// before returns the result of an entry that a worker had before which was lost.
func (a *answerer) before(l *loan, on string) (*wire.Result, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if l.result != nil {
		return l.result, nil
	}
	return nil, errors.New("the outcome is unknown: the worker that ran it was lost; check " + on)
}

// check checks that an entry of the host runs on the host that the worker names.
func (b Borrow) check(a *answerer) error {
	if e, _, _ := a.entry(b.place); e == nil || e.On != b.On || b.On == manifest.Controller {
		return breach("requested %.100q, where resource %d of %s does not run", b.On, b.Index, a.host)
	}
	return nil
}

func (r Return) check(a *answerer) error {
	a.mu.Lock()
	l := a.loans[r.place]
	a.mu.Unlock()
	if l != nil && l.on != r.On {
		return breach("gave %.100q back, which it did not have", r.On)
	}
	return checkAloneResult(r.Result)
}

// check checks that an entry of the host runs on the controller, and that it may be applied in such a turn.
func (h Here) check(a *answerer) error {
	e, _, c := a.entry(h.place)
	if e == nil || e.On != manifest.Controller {
		return breach("requested that resource %d of %s run on the %s, where it does not run", h.Index, a.host, manifest.Controller)
	}
	o := &a.fleet.runner.Options
	applies := Requests[PlayRequest](a.turn) || Requests[RollRequest](a.turn) || h.Part >= repairPart
	if !h.Check && !h.Monitor && (o.Check || o.Monitor || !applies) {
		return breach("requested that %s of %s be applied on the %s in a turn that changes nothing", e.Ref(), a.host, manifest.Controller)
	}
	for _, ref := range h.Refresh {
		if !slices.ContainsFunc(e.Subscribe, func(i int) bool { return i >= 0 && i < len(c.Catalog.Entries) && c.Catalog.Entries[i].Ref() == ref }) {
			return breach("requested a refresh of %s of %s by %.100q, to which it does not subscribe", e.Ref(), a.host, ref)
		}
	}
	return nil
}

// answer waits for the session of a host, and lends it.
func (b Borrow) answer(a *answerer) (Loan, error) {
	f := a.fleet
	if f.runner.Inventory.Host(b.On) == nil {
		return Loan{}, fmt.Errorf("no host of the inventory is called %q", b.On)
	}
	l, first := a.begin(b.place, b.On)
	if !first { // a worker had it before, and was lost: the host keeps the result
		if a.end(l, nil); l.result != nil {
			return Loan{Result: l.result}, nil
		}
		a.forget(b.place)
		l, _ = a.begin(b.place, b.On)
	}
	ctx, end := f.untilStopped(a.ctx)
	defer end()
	leave, err := f.sessions.Borrow(ctx, a.host, b.On)
	if err != nil {
		a.forget(b.place)
		return Loan{}, err
	}
	a.mu.Lock()
	l.done = leave
	a.mu.Unlock()
	if a.ctx.Err() != nil {
		a.end(l, nil)
		return Loan{}, errOver
	}
	lent, err := b.Lend(b.On)
	if err != nil {
		a.end(l, nil)
	}
	return Loan{Lent: lent, Predicted: a.predictedOn(b.On)}, err
}

// hasLent reports whether a host is lent, with the lock held.
func (a *answerer) hasLent(host string) bool {
	for _, l := range a.loans {
		if l.on == host && l.done != nil {
			return true
		}
	}
	return false
}

// forget allows an entry to be requested again: nothing has begun.
func (a *answerer) forget(at place) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.loans, at)
}

// answer takes a host back. Without a result, nothing was done there, or a failure was reported.
func (r Return) answer(a *answerer) error {
	a.mu.Lock()
	l := a.loans[r.place]
	a.mu.Unlock()
	if l == nil {
		return nil
	}
	a.end(l, r.Result)
	if f := a.fleet; f.runner.Options.Check && r.Result != nil && r.Result.Status == wire.Changed {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.predicted == nil {
			f.predicted = map[string][]string{}
		}
		f.predicted[r.On] = append(f.predicted[r.On], a.host)
	}
	return nil
}

// predictedOn reports whether workers would have changed a host for others than this one.
func (a *answerer) predictedOn(host string) bool {
	f := a.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.predicted[host], func(by string) bool { return by != a.host })
}

// answer runs an entry on the controller, as compiled here.
func (h Here) answer(a *answerer) (*wire.Result, error) {
	f := a.fleet
	_, made, _ := a.entry(h.place)
	of := a.selected(playPart{h.Play, h.Part})
	if made == nil || of == nil {
		return nil, errOver
	}
	alone := *made
	c := &alone.Catalog
	c.Entries = slices.Clone(c.Entries)
	c.Entries[0].Refresh = h.Refresh
	c.Check, c.Monitor, c.Rehearsal, c.Diff = h.Check, h.Monitor, h.Rehearsal, f.runner.Options.Diff
	if check, monitor, _ := of.mode.flags(&f.runner.Options); check == c.Check && monitor == c.Monitor {
		c.Lock = f.runner.lock(of.mode)
	}
	if !f.targets.use() {
		return nil, errOver
	}
	defer f.targets.users.Done()
	l, first := a.begin(h.place, manifest.Controller)
	if !first {
		select {
		case <-l.ended: // it has continued, whatever happened to the worker
		case <-a.ctx.Done():
		}
		return a.before(l, manifest.Controller)
	}
	ctx, end := f.untilStopped(a.ctx)
	leave, err := f.sessions.Borrow(ctx, a.host, manifest.Controller)
	end()
	if err != nil {
		a.forget(h.place)
		return nil, err
	}
	defer leave()
	state, err := f.target(manifest.Controller)
	if err != nil {
		return nil, err
	}
	result, err := f.playOn(of, state).runFor(a.ctx, a.host, h.Index, &alone)
	a.end(l, result)
	if err == nil || errors.Is(err, errStopped) {
		return result, err
	}
	state.close()
	return nil, errors.New(reasonOn(a.of.play.Name, manifest.Controller, err).Error())
}
