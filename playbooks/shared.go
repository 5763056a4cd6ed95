package playbooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/session"
	"github.com/ccm-push/ccm-push/playbooks/share"
	"github.com/ccm-push/ccm-push/transport"
)

// Hosts share values, semaphores and resources that run once. The coordinator of the run keeps this state. A worker
// requests it, and reports what other hosts wait for.

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

// Release ends the claims of an entry.
type Release struct {
	Index int `json:"index"`
}

// Claims are the semaphores of an entry, which are waited for. The answer comes when they
// are granted, or has the reason why they never are: a lost host may hold one.
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

// Awaits requests the result of a resource that runs once.
type Awaits struct {
	Resource string `json:"resource"`
}

// Awaited is the result of a resource that runs once. If Result is nil, the host of the question runs it.
type Awaited struct {
	On     string       `json:"on,omitempty"` // host where it has run
	Result *wire.Result `json:"result,omitempty"`
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

// A commons has everything that the hosts of a run share: the controller has an ownCommons, and a worker asking.
type commons interface {
	// join begins the host's part in the values between hosts; nil if it has none.
	join(ctx context.Context, p *hostPlay, c *catalog.Compiled) exchange
	// claim requests the semaphores of an entry.
	claim(ctx context.Context, p *hostPlay, c *catalog.Compiled, index int, claims []share.Claim) *share.Turn
	// visit runs an entry on another host. The result is nil if the error is errStopped.
	visit(ctx, waiting context.Context, d *delegated, index int, alone *catalog.Compiled) (*wire.Result, error)
	// fetch returns the function that takes the files of a host, for an entry of another host or its own; nil where the
	// run has no folder for them.
	fetch(ctx context.Context, of, host string) func(*wire.Entry) (session.File, error)
}

// ownCommons has everything that the hosts of this machine's run share.
type ownCommons struct{ *fleet }

func (o ownCommons) join(_ context.Context, p *hostPlay, c *catalog.Compiled) exchange {
	if o.exchange == nil {
		return nil
	}
	return o.exchange.Join(p.of.number, p.state.host.Name, c)
}

func (o ownCommons) claim(_ context.Context, _ *hostPlay, _ *catalog.Compiled, _ int, claims []share.Claim) *share.Turn {
	return o.semaphores.Request(claims)
}

// controller returns the connection of a worker to its controller; nil on the controller itself.
func (f *fleet) controller() *asking {
	a, _ := f.commons.(*asking)
	return a
}

// A Controller is the machine that gave this worker its hosts.
type Controller interface {
	// Answer sends a question about a host, and returns the answer after [CheckAnswer].
	Answer(ctx context.Context, host string, q Question) (Answer, error)
	// Waiting reports that a host begins to wait for other hosts, so that the worker can process another host.
	Waiting()
	// Reach returns the connection to a lent host, with keys and files of this worker. They are kept until a [Return].
	Reach(ctx context.Context, lent *Lent) (transport.Target, error)
	// Orders returns the channel of repairs for a host that this worker watches.
	Orders(host string) <-chan WatchOrder
}

// asking sends the questions of a worker.
type asking struct {
	Controller
	waiting func() // called when a host begins to wait for others, so the worker can process another host
	files   atomic.Int64

	telling sync.WaitGroup
}

// errOver is the error if the run ends before a question is answered.
var errOver = fmt.Errorf("the run ends: %w", context.Canceled)

// request sends a question, and returns the value of the answer.
func request[A any](ctx context.Context, c Controller, host string, q valued[A]) (value A, err error) {
	answer, err := send(ctx, c, host, q)
	if err == nil {
		err = json.Unmarshal(answer.Value, &value)
	}
	return value, err
}

// send sends a question. If the run ends before the answer, the error is errOver.
func send(ctx context.Context, c Controller, host string, q Question) (Answer, error) {
	answer, err := c.Answer(ctx, host, q)
	switch {
	case err != nil:
	case answer.Over:
		err = errOver
	case answer.Error != "":
		err = errors.New(answer.Error)
	}
	return answer, err
}

// wait notes that a host begins to wait for others.
func (a *asking) wait() Controller {
	a.waiting()
	return a
}

// tell sends a report that other hosts wait for. If the report fails, the coordinator ends the host.
func (a *asking) tell(ctx context.Context, host string, q Question) {
	_, _ = a.Answer(context.WithoutCancel(ctx), host, q)
}

func (a *asking) join(ctx context.Context, p *hostPlay, c *catalog.Compiled) exchange {
	if !share.Any(p.runner.Plays) {
		return nil
	}
	e := &askedExchange{asking: a, ctx: ctx, host: p.state.host.Name, sensitive: map[int]bool{}}
	e.begin(c, false)
	return e
}

func (a *asking) claim(ctx context.Context, p *hostPlay, c *catalog.Compiled, index int, _ []share.Claim) *share.Turn {
	e := &c.Catalog.Entries[index]
	return a.claims(ctx, p.state.host.Name, Claims{
		Index: index, Semaphores: e.Sema, Type: e.Type, Name: e.Name, Alias: e.Alias, Within: p.runner.within(c, index),
	})
}

// claims requests semaphores. At the end of the turn, the worker reports the release to the coordinator,
// also after the run was stopped. If the host is given up while it may hold the semaphores, the end of its turn reports
// this instead.
func (a *asking) claims(ctx context.Context, host string, claims Claims) *share.Turn {
	waiting, stop := context.WithCancel(ctx)
	ended := make(chan bool, 1)
	turn, decide := share.NewTurn(func(abandoned bool) {
		ended <- abandoned
		stop()
	})
	a.telling.Go(func() {
		switch may, err := request(waiting, a.wait(), host, claims); {
		case err != nil:
		case may != nil:
			decide(may)
		default:
			decide(nil)
		}
		if abandoned := <-ended; !abandoned {
			a.tell(ctx, host, Release{claims.Index})
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

func (e *askedExchange) begin(c *catalog.Compiled, stage bool) {
	e.mu.Lock()
	e.imports = importsFrom(e.imports, c, stage)
	e.mu.Unlock()
	j := Joins{Stage: stage, From: c.Catalog.From, Imports: c.Imports}
	for i := range c.Catalog.Entries {
		one := &c.Catalog.Entries[i]
		j.Entries = append(j.Entries, wire.Entry{
			Type: one.Type, Name: one.Name, Alias: one.Alias, Excluded: one.Excluded, Check: one.Check, Sensitive: one.Sensitive, Export: one.Export,
		})
	}
	e.tell(e.ctx, e.host, j)
}

// Stage implements exchange.
func (e *askedExchange) Stage(c *catalog.Compiled) { e.begin(c, true) }

// Export implements exchange.
func (e *askedExchange) Export(r *wire.Result, c *wire.Catalog) {
	entry := &c.Entries[r.Index]
	if len(entry.Export) == 0 && !entry.Excluded {
		return
	}
	e.tell(e.ctx, e.host, Exports{
		Result: wire.Result{Index: r.Index, Status: r.Status, Grade: r.Grade, Sent: r.Sent}, Check: c.Check, Sensitive: entry.Sensitive,
	})
}

// Import implements exchange.
func (e *askedExchange) Import(ctx context.Context, index int) *wire.Imported {
	e.mu.Lock()
	q := Imports{Index: index, Properties: propertiesOf(e.imports[index])}
	e.mu.Unlock()
	imported, err := request(ctx, e.wait(), e.host, q)
	if errors.Is(err, context.Canceled) { // the host is stopped, so this is not a failure of the entry
		<-ctx.Done()
	}
	if err != nil {
		return &wire.Imported{Index: index, Error: err.Error()}
	}
	if imported.Sensitive {
		e.mu.Lock()
		e.sensitive[index] = true
		e.mu.Unlock()
	}
	return imported
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
		o.tell(o.ctx, host, OnceNews{Has: has})
	}
}

// Ended implements onces.
func (o *askedOnce) Ended(host, resource string, result *wire.Result) {
	o.tell(o.ctx, host, OnceNews{Ended: resource, Result: result})
}

// Await implements onces.
func (o *askedOnce) Await(ctx context.Context, host, resource string) (on string, result *wire.Result, err error) {
	a, err := request(ctx, o.wait(), host, Awaits{resource})
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

// answer waits until all of a batch is ready.
func (Ready) answer(a *answerer) error {
	b := a.fleet.barrier
	if b == nil {
		return nil
	}
	b.ready(a.host)
	ctx, end := a.fleet.untilStopped(a.ctx)
	defer end()
	return b.await(ctx, a.host)
}

func (j Joins) answer(a *answerer) error {
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
	return nil
}

func (e Exports) answer(a *answerer) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := &e.Result
	if a.participant == nil || r.Index < 0 || r.Index >= len(a.catalog.Entries) {
		return nil
	}
	entry := &a.catalog.Entries[r.Index]
	for key := range r.Sent {
		if !slices.Contains(entry.Export, key) {
			delete(r.Sent, key)
		}
	}
	entry.Sensitive, a.catalog.Check = e.Sensitive, e.Check
	a.participant.Export(r, &a.catalog)
	return nil
}

func (q Imports) answer(a *answerer) (*wire.Imported, error) {
	a.mu.Lock()
	participant := a.participant
	a.mu.Unlock()
	return participant.Import(a.ctx, q.Index), nil
}

func (c Claims) answer(a *answerer) (*share.MayHoldError, error) {
	claims, err := share.ParseSemaphores(c.Semaphores)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	if a.claims == nil {
		a.mu.Unlock()
		return nil, errOver
	}
	one := a.claims[c.Index] // of a worker that was lost
	if one == nil {
		one = &claimed{&c, a.fleet.semaphores.Request(claims)}
		a.claims[c.Index] = one
	}
	a.mu.Unlock()
	select {
	case <-one.turn.Granted():
		if may, ok := errors.AsType[*share.MayHoldError](one.turn.Err()); ok {
			return may, nil
		}
		a.fleet.started(events.ResourceStart{
			Play: a.of.play.Name, Host: a.host, Type: c.Type, Name: c.Name, Alias: c.Alias, Semaphores: c.Semaphores, Within: c.Within,
		})
		return nil, nil
	case <-one.turn.Released():
	case <-a.ctx.Done():
	}
	return nil, errOver
}

func (r Release) answer(a *answerer) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.claims[r.Index]; c != nil {
		delete(a.claims, r.Index)
		c.turn.Release()
	}
	return nil
}
