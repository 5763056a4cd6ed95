package playbooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/session"
	"github.com/ccm-push/ccm-push/playbooks/share"
	"github.com/ccm-push/ccm-push/transport"
)

// delegated are the resources of one host in one play that run on other hosts, or on one host of the batch: the host
// program requests each when its turn has come, however often its own connection is lost.
type delegated struct {
	fleet   *fleet
	of      *part
	host    string                    // host that they belong to
	entries []wire.Entry              // entries of that host
	alone   map[int]*catalog.Compiled // compiled catalogs, by the number of the entry
	once    map[int]string            // entries that run once, with their keys for all hosts of the batch

	mu      sync.Mutex
	changed map[int]bool // entries of the host that have changed
	begun   map[int]*delegation
}

// A delegation is such a resource that has begun. Its result is set when ended is closed.
type delegation struct {
	ended  chan struct{}
	result *wire.Result // nil if the run has ended before it, or if the host itself runs it
	here   bool         // it is
	first  bool         // this host runs an entry that runs once
	on     string       // where it ran
	late   bool         // the session of the host that it is for ended before it did
}

// delegates returns the delegated resources of the host, whose catalog is compiled.
func (p *hostPlay) delegates(c *catalog.Compiled) *delegated {
	d := &delegated{fleet: p.fleet, of: p.of, host: p.state.host.Name}
	d.stage(c)
	return d
}

// stage takes the entries of a catalog: the only one, or the next stage.
func (d *delegated) stage(c *catalog.Compiled) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries, d.alone, d.once = c.Catalog.Entries, c.Elsewhere, nil
	has, count := map[string]bool{}, map[string]int{}
	for i := range d.entries {
		e := &d.entries[i]
		written := c.Written(i)
		if !e.Once || written == nil {
			continue
		}
		// The names of one resource may differ from host to host.
		at := written.Pos() + " " + e.Type + "#" + written.Text
		if count[at]++; count[at] > 1 {
			at = fmt.Sprintf("%s %d", at, count[at])
		}
		if d.once == nil {
			d.once = map[int]string{}
		}
		d.once[i], has[at] = at, !e.Excluded && !e.Hidden
	}
	d.fleet.hasOnce(d.of.selection, d.host, has)
}

// run runs a resource on another host, and returns its result. result is nil if the run ends before the result arrives,
// or if this host must run the resource (here). When waiting ends, run returns; when ctx ends, the resource is killed.
func (d *delegated) run(ctx, waiting context.Context, index int, refresh bool) (result *wire.Result, here bool) {
	d.mu.Lock()
	one := d.begun[index]
	if one != nil {
		d.mu.Unlock()
		select {
		case <-one.ended:
			return one.result, one.here
		case <-waiting.Done():
			return nil, false
		}
	}
	one = &delegation{ended: make(chan struct{}), on: d.entries[index].On}
	if d.begun == nil {
		d.begun = map[int]*delegation{}
	}
	d.begun[index] = one
	d.mu.Unlock()
	d.bring(ctx, waiting, index, refresh, one)
	d.mu.Lock()
	defer d.mu.Unlock()
	one.late = waiting.Err() != nil
	close(one.ended)
	if one.result == nil && !one.here {
		delete(d.begun, index)
	}
	return one.result, one.here
}

// bring finds out who runs a resource, and has that done.
func (d *delegated) bring(ctx, waiting context.Context, index int, refresh bool, one *delegation) {
	if resource := d.once[index]; resource != "" {
		waiting, stopped := d.fleet.untilStopped(waiting)
		on, result, err := d.fleet.once.Await(waiting, d.host, resource)
		stopped()
		switch {
		case errors.Is(err, context.Canceled):
			return
		case err != nil:
			one.result = &wire.Result{Status: wire.Failed, Error: err.Error()}
			return
		case result != nil:
			if one.result = result; on != d.host {
				one.on = cmp.Or(one.on, on)
			}
			return
		}
		one.first = true
		d.fleet.begins(d.of, d.host, resource)
	}
	if d.alone[index] == nil {
		one.here = true
		return
	}
	one.result = d.visit(ctx, waiting, index, refresh)
	if resource := d.once[index]; resource != "" && one.result != nil { // whatever becomes of this host
		d.fleet.once.Ended(d.host, resource, one.result)
	}
}

// told returns the reported result of an entry that has ended: for an entry that ran elsewhere the result of the other
// host. A kept result of an entry that runs once counts for the other hosts, even if it was requested by a worker that
// is lost, or by a run that this one resumes.
func (d *delegated) told(r *wire.Result) *wire.Result {
	d.mu.Lock()
	defer d.mu.Unlock()
	told := d.instead(r)
	if told.Status == wire.Changed {
		if d.changed == nil {
			d.changed = map[int]bool{}
		}
		d.changed[r.Index] = true
	}
	one := d.begun[r.Index]
	resource := d.once[r.Index]
	if resource != "" && one == nil && r.Kept {
		if _, on := d.fleet.runner.onceBefore(d.of.selection, d.host, resource); on != "" && on != d.host {
			d.ranOn(r.Index, cmp.Or(d.entries[r.Index].On, on))
			return told // the result of the host where it ran holds for the others
		}
	}
	if resource != "" && (told.Status == wire.Skipped || r.Kept || one != nil && one.first) {
		ended := *told
		ended.Kept, ended.Earlier = false, false
		if ended.Status == wire.Rescued { // which each host is to do for itself
			ended.Status = wire.Failed
		}
		if ended.Unknown {
			ended.Error = d.host + ": " + ended.Error
		}
		d.fleet.once.Ended(d.host, resource, &ended)
	}
	return told
}

// finished waits for the entries that run on other hosts, and returns those with a result, in order. The host has not
// received the results of late ones, and may not have reported the others.
func (d *delegated) finished() (received, late []int) {
	d.mu.Lock()
	begun := maps.Clone(d.begun)
	d.mu.Unlock()
	for _, i := range slices.Sorted(maps.Keys(begun)) {
		one := begun[i]
		switch <-one.ended; {
		case one.result == nil || one.here:
		case one.late:
			late = append(late, i)
		default:
			received = append(received, i)
		}
	}
	return received, late
}

// ranOn notes that a result which this host has kept belongs to another one, where the entry ran.
func (d *delegated) ranOn(index int, on string) {
	if d.begun == nil {
		d.begun = map[int]*delegation{}
	}
	one := &delegation{ended: make(chan struct{}), here: true, on: on}
	close(one.ended)
	d.begun[index] = one
}

// instead returns the result to report in place of r.
func (d *delegated) instead(r *wire.Result) *wire.Result {
	one := d.begun[r.Index]
	if one == nil || one.here {
		return r
	}
	select {
	case <-one.ended:
	default: // this host was killed while it waited
		return r
	}
	if o := d.fleet.runner.onceFor(d.of, d.host, r.Index); o != nil {
		d.fleet.reported.Store(*o, true)
	}
	told := *one.result
	told.Index, told.Duration, told.Kept, told.Earlier = r.Index, r.Duration, r.Kept || told.Kept, r.Earlier || told.Earlier
	if r.Status == wire.Rescued {
		told.Status = wire.Rescued
	}
	if r.Grade != modules.Certain && told.Grade != modules.Unknown {
		told.Grade, told.Because = r.Grade, cmp.Or(told.Because, r.Because)
	}
	return &told
}

// on returns the host where an entry ran, or would have; "" means its own host.
func (d *delegated) on(index int) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if one := d.begun[index]; one != nil {
		return one.on
	}
	if index < len(d.entries) { // else it has left the manifest
		return d.entries[index].On
	}
	return ""
}

// isHere reports whether this host itself runs an entry.
func (d *delegated) isHere(index int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.begun[index]
	if one == nil {
		return false
	}
	select {
	case <-one.ended:
		return one.here
	default:
		return false
	}
}

// onceOf returns the key for all hosts of the batch of an entry that runs once; "" for any other.
func (d *delegated) onceOf(index int) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.once[index]
}

// checks are the health checks of an entry, wherever it runs.
func (d *delegated) checks(index int) []wire.HealthCheck {
	switch alone := d.alone[index]; {
	case alone != nil:
		return alone.Catalog.Entries[0].Health
	case index < len(d.entries):
		return d.entries[index].Health
	}
	return nil // it has left the manifest
}

// refreshedBy names what a resource subscribes to and has changed.
func (d *delegated) refreshedBy(index int) (refs []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, i := range d.entries[index].Subscribe {
		if d.changed[i] {
			refs = append(refs, d.entries[i].Ref())
		}
	}
	if len(refs) == 0 { // an earlier run has left it to do
		refs = append(refs, d.entries[d.entries[index].Subscribe[0]].Ref())
	}
	return refs
}

// visit waits for the session of the host where a resource runs, and brings it about there.
func (d *delegated) visit(ctx, waiting context.Context, index int, refresh bool) *wire.Result {
	f, entry, alone := d.fleet, &d.entries[index], d.alone[index]
	var refs []string
	if refresh {
		refs = d.refreshedBy(index)
	}
	waiting, stopped := f.untilStopped(waiting)
	c := &alone.Catalog
	c.Check, c.Monitor, c.Rehearsal = d.of.mode.flags(&f.runner.Options)
	c.Diff, c.Lock = f.runner.Options.Diff, f.runner.lock(d.of.mode)
	c.Entries[0].Refresh = refs
	result, err := f.commons.visit(ctx, waiting, d, index, alone)
	stopped()
	switch {
	case errors.Is(err, errStopped):
		return nil
	case err != nil:
		return &wire.Result{Status: wire.Failed, Error: entry.On + ": " + err.Error()}
	}
	return result
}

// visit implements commons.
func (f ownCommons) visit(ctx, waiting context.Context, d *delegated, index int, alone *catalog.Compiled) (*wire.Result, error) {
	on := d.entries[index].On
	leave, err := f.sessions.Borrow(waiting, d.host, on)
	switch {
	case errors.Is(err, context.Canceled):
		return nil, errStopped
	case err != nil:
		return nil, err
	}
	defer leave()
	if f.interrupted(ctx) {
		return nil, errStopped
	}
	state, err := f.target(on)
	if err != nil {
		return nil, err
	}
	result, err := f.playOn(d.of, state).runFor(ctx, d.host, index, alone)
	if err != nil && !errors.Is(err, errStopped) {
		state.close()
	}
	return result, d.reason(on, err)
}

// reason words the error of a host on which a resource could not be brought about.
func (d *delegated) reason(on string, err error) error {
	if err == nil || errors.Is(err, errStopped) {
		return err
	}
	return reasonOn(d.of.play.Name, on, err)
}

// textOf returns the text of an event for the error of a host, and a hint, which may be empty.
func textOf(play, host string, err error) (text, hint string) {
	if he, ok := errors.AsType[*transport.HostError](err); ok {
		hint = he.Hint
	}
	return events.FailureText(failure(play, host, err)), hint
}

func reasonOn(play, on string, err error) error {
	text, hint := textOf(play, on, err)
	if hint != "" {
		text += "\n  hint: " + hint
	}
	return errors.New(text)
}

// runFor brings a resource of another host about in the session of this one: entry is its number in the play of that
// host. If the connection is lost, this host is dialled again for its result, which it keeps: the resource does not run twice.
func (p *hostPlay) runFor(ctx context.Context, of string, entry int, alone *catalog.Compiled) (*wire.Result, error) {
	state, options, c := p.state, &p.runner.Options, &alone.Catalog
	if state.refused != nil {
		return nil, state.refused
	}
	timed, done := p.runner.hostTime(ctx)
	defer done()
	err := p.start(timed)
	if err == nil && alone.NeedsFull && !p.program.full {
		err = p.upgrade(timed)
	}
	if err != nil {
		if err = late(timed, err); transport.Unreachable(err) { // the next one would wait as long
			state.refused = err
		}
		return nil, err
	}
	if c.Lock != nil {
		c.Once = p.runner.onceFor(p.of, of, entry)
		c.Lock.Again = c.Lock.Again || state.leftover || state.phase().wasLost()
	}
	// Its only semaphore is the one for prompting a person.
	turns := share.NewTurns(func(_ int, claims []share.Claim) *share.Turn { return p.semaphores.Request(claims) })
	c.Earlier = p.unpredicted()
	var result *wire.Result
	limit := options.Deadlines.host()
	task := session.Task{
		Compiled: alone, Claim: turns.Claim, Host: session.HostTime{Limit: limit, Remaining: limit},
		Resource: cmp.Or(options.Deadlines.Resource, defaultResourceTime),
		Emit:     func(r *wire.Result) { result = r }, Flush: func() {}, Sync: p.runner.Events.Sync,
		Ask:   p.runner.Step.asks(p.of.selection, of, state.host.Name, c, options.Catalog.Mask),
		Fetch: p.commons.fetch(ctx, of, state.host.Name), Untold: p.untoldElsewhere,
	}
	whole, stopped := false, false
	for tries := 0; ; tries++ {
		whole, err = p.program.session.Apply(ctx, p.stop, task)
		if err == nil || result != nil || phaseOf(err) != phaseLost {
			break
		}
		state.leftover = true
		if tries == maxIdle || options.Reconnect == 0 || c.Once == nil && !c.Check || p.interrupted(ctx) {
			break
		}
		var back bool
		if back, stopped = p.redial(ctx, options.Reconnect, math.MaxInt); !back {
			break
		}
		if c.Lock != nil {
			c.Lock.Again = true
		}
		p.runner.warn(fmt.Sprintf("%s is reached again, for the result of %s", state.host.Name, c.Entries[0].Ref()))
	}
	turns.Release()
	switch {
	case result != nil: // how the session ended after that is for the next one
		if options.Check && result.Status == wire.Changed {
			state.predicted = append(state.predicted, p.program)
		}
		state.keeps(c.Once)
		return result, nil
	case stopped:
		return nil, errStopped
	case err != nil && phaseOf(err) == phaseLost && p.runner.applies():
		lost := reasonOn(p.of.play.Name, state.host.Name, phased(err, events.Rest{NotReached: 1, Next: c.Entries[0].Ref()}))
		return &wire.Result{Status: wire.Failed, Unknown: true, Error: state.host.Name + ": " + lost.Error()}, nil
	case err != nil:
		return nil, phased(err, events.Rest{NotReached: 1, Next: c.Entries[0].Ref()})
	case !whole:
		return nil, errStopped
	}
	return nil, errors.New("no result was reported")
}

// untoldElsewhere reports results that the host could not report to an earlier run. A worker reports only its own
// hosts, so this host reports them to the next run that applies a play there.
func (p *hostPlay) untoldElsewhere(u *wire.Untold) (reported bool) {
	if p.controller() != nil {
		return false
	}
	if e, left := p.runner.Untold(untoldEvent(p.of.play.Name, p.state.host.Name, u)); left {
		p.runner.Events.Report(e)
	}
	return true
}

// keeps notes that the host keeps the result of a resource that has run there for another host: it is acknowledged
// once that result is in the record. nil is not kept.
func (s *hostState) keeps(o *wire.Once) {
	if o != nil {
		s.kept = append(s.kept, o)
	}
}

// onceFor is once for a resource that runs on another host than the one that it is for.
func (r *Runner) onceFor(p *part, of string, entry int) *wire.Once {
	o := r.once(p)
	if o != nil {
		o.For = fmt.Sprintf("%s %d", of, entry)
	}
	return o
}

// acknowledge reports to a host which of its results for other hosts are in the record.
func (f *fleet) acknowledge(s *hostState) {
	known := slices.DeleteFunc(s.kept, func(o *wire.Once) bool { _, reported := f.reported.Load(*o); return !reported })
	if s.kept = nil; len(known) == 0 || s.client == nil || s.dead() || !f.runner.Events.Sync() {
		return
	}
	for _, one := range s.programs {
		one.session.Acknowledge(known...)
		return
	}
}

// targets are hosts outside of a run on which resources of its hosts run. --limit does not apply to them. The zero
// targets has none.
type targets struct {
	mu     sync.Mutex
	states map[string]*hostState
	users  sync.WaitGroup // requests of workers in progress, whose turns do not wait for them
	closed bool
}

// use reports whether a host may still be used for a worker, which then has to end the use.
func (t *targets) use() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.users.Add(1)
	}
	return !t.closed
}

// target returns the host where a resource runs. Its session is borrowed.
func (f *fleet) target(name string) (*hostState, error) {
	h := f.runner.Inventory.Host(name)
	if h != nil && f.states[name] != nil {
		return f.states[name], nil
	}
	f.targets.mu.Lock()
	defer f.targets.mu.Unlock()
	if state := f.targets.states[name]; state != nil {
		return state, nil
	}
	state := &hostState{host: h}
	if h == nil {
		here, err := inventory.Parse(manifest.Controller, []byte("all: {hosts: {"+manifest.Controller+": {ansible_connection: local}}}"))
		if err != nil {
			return nil, err
		}
		state.host, state.controller = here.Host(manifest.Controller), true
	}
	if f.targets.states == nil {
		f.targets.states = map[string]*hostState{}
	}
	f.targets.states[name] = state
	return state, nil
}

func (t *targets) close(acknowledge func(*hostState)) {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.users.Wait()
	for _, state := range t.states {
		acknowledge(state)
		state.close()
	}
}

// Delegates returns, by play, the other hosts where resources run, as far as the manifests name them; nil means the
// controller. An unknown name is an error.
func (r *Runner) Delegates() ([][]*inventory.Host, error) {
	var errs yamlpos.Errors
	all := make([][]*inventory.Host, len(r.Plays))
	for i, play := range r.Plays {
		known := map[string]bool{}
		play.Delegates(func(on *yamlpos.Node) {
			h := r.Inventory.Host(on.Text)
			switch {
			case known[on.Text]:
				return
			case h == nil && on.Text != manifest.Controller:
				errs.Add(on.Errorf(r.nearHost(on.Text), "no host of the inventory is called %q", on.Text))
				return
			}
			known[on.Text] = true
			all[i] = append(all[i], h)
		})
	}
	return all, errs.Err()
}

// nearHost is a hint to what a name may mean.
func (r *Runner) nearHost(name string) string {
	known := []string{manifest.Controller}
	for _, h := range r.Inventory.Hosts() {
		known = append(known, h.Name)
	}
	if near := yamlpos.Suggest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "write the name of one host, or " + manifest.Controller
}

// hasHost reports whether the inventory has a host. A worker has a part of it: it learns whether the host exists when
// it requests it.
func (r *Runner) hasHost(name string) bool {
	return r.Inventory == nil || r.Names != nil || r.Inventory.Host(name) != nil
}
