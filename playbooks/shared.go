package playbooks

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/share"
)

// Hosts share values, semaphores and resources that run once. The coordinator of the run keeps this state. A worker
// requests it, and reports what other hosts wait for.

// A Question is a request or a report of a worker about one of its hosts. One field is set.
type Question struct {
	Joins   *Joins    `json:"joins,omitempty"`
	Exports *Exports  `json:"exports,omitempty"`
	Imports *Imports  `json:"imports,omitempty"`
	Claims  *Claims   `json:"claims,omitempty"`
	Release *int      `json:"release,omitempty"` // index of the entry whose claims end
	Once    *OnceNews `json:"once,omitempty"`
	Awaits  string    `json:"awaits,omitempty"` // resource that runs once; the answer has its result
	Borrow  *Borrow   `json:"borrow,omitempty"`
	Return  *Return   `json:"return,omitempty"`
	Here    *Here     `json:"here,omitempty"`
	Lookup  *Lookup   `json:"lookup,omitempty"`
	File    *FilePart `json:"file,omitempty"`
	// Ready reports that the catalog of a host is compiled. The answer comes when all hosts of the batch are ready.
	Ready bool `json:"ready,omitempty"`
	// Step is the text of a prompt; the answer comes after a yes.
	Step string `json:"step,omitempty"`
	// OtherFacts requests the facts of other hosts that a play reads: the number of the play, from 0.
	OtherFacts *int `json:"other_facts,omitempty"`
	// Known precedes everything that the coordinator runs, registers or stores for the host.
	Known *Known `json:"known,omitempty"`
	// Watched is news of a watched host. After the answer, the host continues.
	Watched *WatchNews `json:"watched,omitempty"`
}

// Joins reports that the catalog of a host, or its next stage, is compiled.
type Joins struct {
	Stage   bool                     `json:"stage,omitempty"`
	From    int                      `json:"from,omitempty"`
	Entries []wire.Entry             `json:"entries"` // the parts of the entries that other hosts need
	Imports map[int][]catalog.Import `json:"imports,omitempty"`
}

// Exports is the result of an entry that other hosts may receive values of.
type Exports struct {
	Result    wire.Result `json:"result"`
	Check     bool        `json:"check,omitempty"`
	Sensitive bool        `json:"sensitive,omitempty"` // true also if a received value is sensitive
}

// Imports requests the values that an entry receives from other hosts, and waits for them.
type Imports struct {
	Index      int      `json:"index"`
	Properties []string `json:"properties"` // which receive a value, sorted
}

// Claims are the semaphores of an entry, which are waited for.
type Claims struct {
	Index      int      `json:"index"`
	Semaphores []string `json:"semaphores"`
	Type       string   `json:"type"` // type and name of the entry
	Name       string   `json:"name"`
	Alias      string   `json:"alias,omitempty"`
	// Within is how long the entry may be in progress on a lost host; 0 means no limit.
	Within time.Duration `json:"within,omitempty"`
}

// OnceNews reports which resources of a host run once, or the result of one of them.
type OnceNews struct {
	Has    map[string]bool `json:"has,omitempty"`
	Ended  string          `json:"ended,omitempty"`
	Result *wire.Result    `json:"result,omitempty"`
}

// An Answer answers a request. The answer to a report is empty.
type Answer struct {
	Error    string         `json:"error,omitempty"` // why it cannot be
	Over     bool           `json:"over,omitempty"`  // the run ends, and it is not waited for any more
	Imported *wire.Imported `json:"imported,omitempty"`
	On       string         `json:"on,omitempty"`     // where a resource has run once
	Result   *wire.Result   `json:"result,omitempty"` // result of this resource; nil means that the host of the question runs it
	// Lend is a host that is lent, and Lent how it is reached, which is not known here.
	Lend string `json:"lend,omitempty"`
	// Predicted reports, in a check run, that the lent host would have been changed for another host.
	Predicted bool    `json:"predicted,omitempty"`
	Lent      *Lent   `json:"lent,omitempty"`
	Looked    *Looked `json:"looked,omitempty"`

	OtherFacts *OtherFacts `json:"other_facts,omitempty"`
	// MayHold reports that the semaphores are never granted, because a lost host may hold one.
	MayHold *share.MayHoldError `json:"may_hold,omitempty"`
}

// propertiesOf returns the properties that receive values, sorted.
func propertiesOf(list []catalog.Import) (properties []string) {
	for _, one := range list {
		properties = append(properties, one.Property)
	}
	slices.Sort(properties)
	return slices.Compact(properties)
}

// importsFrom returns the imports of a catalog, by entry. A later stage keeps the imports of earlier entries.
func importsFrom(before map[int][]catalog.Import, c *catalog.Compiled, stage bool) map[int][]catalog.Import {
	all := map[int][]catalog.Import{}
	for i, list := range before {
		if stage && i < c.Catalog.From {
			all[i] = list
		}
	}
	for i, list := range c.Imports {
		if !stage || i >= c.Catalog.From {
			all[i] = list
		}
	}
	return all
}

// An exchange is a host's part in the values between hosts.
type exchange interface {
	Stage(*catalog.Compiled)
	Export(*wire.Result, *wire.Catalog)
	Import(ctx context.Context, index int) *wire.Imported
	ImportedSensitive(index int) bool
}

// onces are the resources of a batch that run once, see [share.Once].
type onces interface {
	Begin(hosts []string, again bool, start func(host string))
	Compiled(host string, has map[string]bool)
	Over(host string, lost bool)
	Began(host, resource string)
	Ended(host, resource string, result *wire.Result)
	Await(ctx context.Context, host, resource string) (on string, result *wire.Result, err error)
}

// join begins the host's part in the values between hosts; nil if it has none.
func (p *hostPlay) join(ctx context.Context, c *catalog.Compiled) exchange {
	host := p.state.host.Name
	switch {
	case p.of.mode.looks(), p.of.mode.part() != 0:
	case p.asks != nil && share.Any(p.runner.Plays):
		e := &askedExchange{asking: p.asks, ctx: ctx, host: host, sensitive: map[int]bool{}}
		e.join(c, false)
		return e
	case p.exchange != nil:
		return p.exchange.Join(p.of.number, host, c)
	}
	return nil
}

// asking sends the questions of a worker to the coordinator.
type asking struct {
	ask     func(ctx context.Context, host string, q Question) (Answer, error)
	waiting func() // called when a host begins to wait for others, so the worker can process another host
	files   atomic.Int64

	telling sync.WaitGroup
}

// wait sends a question whose answer may take long.
func (a *asking) wait(ctx context.Context, host string, q Question) (Answer, error) {
	a.waiting()
	answer, err := a.ask(ctx, host, q)
	if err == nil && answer.Over {
		err = context.Canceled
	}
	return answer, err
}

// tell sends a report that other hosts wait for. If the report fails, the coordinator ends the host.
func (a *asking) tell(ctx context.Context, host string, q Question) {
	_, _ = a.ask(context.WithoutCancel(ctx), host, q)
}

// claim requests the semaphores of an entry. At the end of the turn, the worker reports the release to the coordinator,
// also after the run was stopped. If the host is given up while it may hold the semaphores, the end of its turn reports
// this instead.
func (a *asking) claim(ctx context.Context, host string, claims *Claims) *share.Turn {
	waiting, stop := context.WithCancel(ctx)
	ended := make(chan bool, 1)
	turn, decide := share.NewTurn(func(abandoned bool) {
		ended <- abandoned
		stop()
	})
	a.telling.Go(func() {
		if answer, err := a.wait(waiting, host, Question{Claims: claims}); err == nil {
			if answer.MayHold != nil {
				decide(answer.MayHold)
			} else {
				decide(nil)
			}
		}
		if abandoned := <-ended; !abandoned {
			a.tell(ctx, host, Question{Release: &claims.Index})
		}
	})
	return turn
}

// An askedExchange is a host's part in the values between hosts, at a worker.
type askedExchange struct {
	*asking
	ctx  context.Context // context of the play, because Answers of a host have none
	host string

	mu        sync.Mutex
	imports   map[int][]catalog.Import
	sensitive map[int]bool
}

func (e *askedExchange) join(c *catalog.Compiled, stage bool) {
	e.mu.Lock()
	e.imports = importsFrom(e.imports, c, stage)
	e.mu.Unlock()
	j := &Joins{Stage: stage, From: c.Catalog.From, Imports: c.Imports}
	for i := range c.Catalog.Entries {
		one := &c.Catalog.Entries[i]
		j.Entries = append(j.Entries, wire.Entry{
			Type: one.Type, Name: one.Name, Alias: one.Alias, Excluded: one.Excluded, Check: one.Check, Sensitive: one.Sensitive, Export: one.Export,
		})
	}
	e.tell(e.ctx, e.host, Question{Joins: j})
}

// Stage implements exchange.
func (e *askedExchange) Stage(c *catalog.Compiled) { e.join(c, true) }

// Export implements exchange.
func (e *askedExchange) Export(r *wire.Result, c *wire.Catalog) {
	entry := &c.Entries[r.Index]
	if len(entry.Export) == 0 && !entry.Excluded {
		return
	}
	e.tell(e.ctx, e.host, Question{Exports: &Exports{
		Result: wire.Result{Index: r.Index, Status: r.Status, Uncertain: r.Uncertain, Sent: r.Sent}, Check: c.Check, Sensitive: entry.Sensitive,
	}})
}

// Import implements exchange.
func (e *askedExchange) Import(ctx context.Context, index int) *wire.Imported {
	e.mu.Lock()
	q := &Imports{Index: index, Properties: propertiesOf(e.imports[index])}
	e.mu.Unlock()
	a, err := e.wait(ctx, e.host, Question{Imports: q})
	if errors.Is(err, context.Canceled) { // the host is stopped, so this is not a failure of the entry
		<-ctx.Done()
	}
	if err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	if err != nil {
		return &wire.Imported{Index: index, Error: err.Error()}
	}
	if a.Imported.Sensitive {
		e.mu.Lock()
		e.sensitive[index] = true
		e.mu.Unlock()
	}
	return a.Imported
}

// ImportedSensitive implements exchange.
func (e *askedExchange) ImportedSensitive(index int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sensitive[index]
}

// askedOnce handles resources that run once, at a worker.
type askedOnce struct {
	*asking
	ctx context.Context // context of the turns
	may bool            // some resource may
}

func (o *askedOnce) Begin([]string, bool, func(string)) {}
func (o *askedOnce) Over(string, bool)                  {}
func (o *askedOnce) Began(string, string)               {}

// Compiled implements onces.
func (o *askedOnce) Compiled(host string, has map[string]bool) {
	if o.may {
		o.tell(o.ctx, host, Question{Once: &OnceNews{Has: has}})
	}
}

// Ended implements onces.
func (o *askedOnce) Ended(host, resource string, result *wire.Result) {
	o.tell(o.ctx, host, Question{Once: &OnceNews{Ended: resource, Result: result}})
}

// Await implements onces.
func (o *askedOnce) Await(ctx context.Context, host, resource string) (on string, result *wire.Result, err error) {
	a, err := o.wait(ctx, host, Question{Awaits: resource})
	if err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	return a.On, a.Result, err
}

// mayRunOnce reports whether a resource of a play, as far as it is known, may run once.
func mayRunOnce(play *manifest.Play) bool {
	may := play.JetFile != nil
	manifest.Walk(play.Resources, func(r *manifest.Resource, _ int) {
		_, nests := r.Type.New().(modules.Nester)
		may = may || r.Once || nests
	})
	return may
}

// An answerer answers the questions about one host while a worker has the host.
type answerer struct {
	fleet *fleet
	of    *selection
	host  string
	turn  Turn
	ctx   context.Context // ends with the turn

	mu          sync.Mutex
	participant *share.Participant
	catalog     wire.Catalog // catalog of the host, with the parts that other hosts need
	imports     map[int][]catalog.Import
	claims      map[int]*claimed // claims, by index of the entry
	loans       map[place]*loan
	files       map[[2]string]*halfFile // incomplete files, by host and name
	hasOnce     map[string]bool         // resources that run once, as the worker has said
	made        map[playPart]*catalog.Compiled
}

// claimed has the semaphores that a worker requested for an entry.
type claimed struct {
	*Claims
	turn *share.Turn
}

// answering returns an answerer for the host, and a function that closes it. Its argument lost reports that the host
// was given up.
func (p *hostPlay) answering(ctx context.Context, t Turn) (a *answerer, closed func(lost bool)) {
	ctx, cancel := context.WithCancel(ctx)
	a = &answerer{fleet: p.fleet, of: p.of.selection, host: p.state.host.Name, turn: t, ctx: ctx, claims: map[int]*claimed{}}
	return a, func(lost bool) {
		cancel()
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, c := range a.claims {
			if lost && c.turn.IsHeld() {
				what := c.Type + "#" + cmp.Or(c.Alias, c.Name)
				p.abandoned(a.host, what, c.Semaphores, c.Within)
				c.turn.Abandon(a.host, what, c.Within)
			} else {
				c.turn.Release()
			}
		}
		a.claims = nil
		for at := range a.files {
			a.drop(at)
		}
		for _, l := range a.loans {
			if l.done != nil {
				l.done()
				l.done = nil
			}
		}
	}
}

// ready waits until all of a batch is ready.
func (a *answerer) ready() Answer {
	b := a.fleet.barrier
	if b == nil {
		return Answer{}
	}
	b.ready(a.host)
	ctx, end := a.fleet.untilStopped(a.ctx)
	defer end()
	return waited(Answer{}, b.await(ctx, a.host))
}

// waited returns the answer, or an answer with the error.
func waited(a Answer, err error) Answer {
	switch {
	case errors.Is(err, context.Canceled):
		return Answer{Over: true}
	case err != nil:
		return Answer{Error: err.Error()}
	}
	return a
}

func (a *answerer) join(j *Joins) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.catalog = wire.Catalog{Entries: j.Entries, From: j.From}
	c := &catalog.Compiled{Catalog: a.catalog, Imports: j.Imports}
	stage := j.Stage && a.participant != nil
	a.imports = importsFrom(a.imports, c, stage)
	if stage {
		a.participant.Stage(c)
	} else {
		a.participant = a.fleet.exchange.Join(a.of.number, a.host, c)
	}
}

func (a *answerer) export(e *Exports) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := &e.Result
	if a.participant == nil || r.Index < 0 || r.Index >= len(a.catalog.Entries) {
		return
	}
	entry := &a.catalog.Entries[r.Index]
	for key := range r.Sent {
		if !slices.Contains(entry.Export, key) {
			delete(r.Sent, key)
		}
	}
	entry.Sensitive, a.catalog.Check = e.Sensitive, e.Check
	a.participant.Export(r, &a.catalog)
}

func (a *answerer) imported(index int) Answer {
	a.mu.Lock()
	participant := a.participant
	a.mu.Unlock()
	return Answer{Imported: participant.Import(a.ctx, index)}
}

func (a *answerer) claim(c *Claims) Answer {
	claims, err := share.ParseSemaphores(c.Semaphores)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	a.mu.Lock()
	if a.claims == nil {
		a.mu.Unlock()
		return Answer{Over: true}
	}
	one := a.claims[c.Index] // of a worker that was lost
	if one == nil {
		one = &claimed{c, a.fleet.semaphores.Request(claims)}
		a.claims[c.Index] = one
	}
	a.mu.Unlock()
	select {
	case <-one.turn.Granted():
		if may, ok := errors.AsType[*share.MayHoldError](one.turn.Err()); ok {
			return Answer{MayHold: may}
		}
		a.fleet.started(events.ResourceStart{
			Play: a.of.play.Name, Host: a.host, Type: c.Type, Name: c.Name, Alias: c.Alias, Semaphores: c.Semaphores, Within: c.Within,
		})
		return Answer{}
	case <-one.turn.Released():
	case <-a.ctx.Done():
	}
	return Answer{Over: true}
}

func (a *answerer) release(index int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.claims[index]; c != nil {
		delete(a.claims, index)
		c.turn.Release()
	}
}
