package playbooks

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/activity"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/flight"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/playbooks/relays"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
	"github.com/ccm-push/ccm-push/playbooks/share"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/start"
	"github.com/ccm-push/ccm-push/transport/usercert"
)

// A Runner takes plays over a fleet.
type Runner struct {
	Inventory  *inventory.Inventory
	Plays      []*manifest.Play
	Dialer     *dial.Dialer
	Builds     []start.Build // the lean host programs
	FullBuilds []start.Build // host programs for hosts with a resource that requires the full one
	BuildID    string        // build id that every host program must report
	Connect    reach.Options
	// Authority signs certificates for login keys; nil means no authority and no relays.
	Authority *usercert.Authority
	Options   Options
	Events    *events.Stream
	Tally     *events.Tally
	Fetched   *record.Fetched   // where files of hosts are kept; nil where none can be
	Told      *record.Told      // results that earlier runs already reported; nil means unknown
	Activity  *activity.Tracker // receives the current step of each host; nil records none
	Step      *Stepper          // prompts before each step of the first host of a play; nil prompts for nothing
	// Ask prompts at the terminal for the next step of a rollout; nil without a terminal. Steer receives the commands
	// of ccm-push rollout; nil receives none.
	Ask      func(ctx context.Context, question string) (answer string, err error)
	Steer    <-chan rollout.Request
	Now      func() time.Time
	NewNonce func() string // unguessable, of letters and digits
	// Workers take hosts through plays; nil: the runner itself does.
	Workers Workers
	// Lookups answers template functions that read from NATS; nil makes these functions fail.
	Lookups Lookups
	// Registry has services registered; nil: nothing is.
	Registry Registry
	// Needs is set by Run: the data and programs that workers require.
	Needs Needs
	// Names are the host names that the inventory of this worker lacks; nil if the inventory is complete. If Names is
	// set, Targets has the connections of hosts, and Connect is ignored.
	Names *HostNames
	// Controller is the machine that gave this worker its hosts; nil if this machine is not a worker.
	Controller Controller
	Targets    map[string]transport.Target
	// Connections keeps connections to hosts that this worker gets again; nil keeps none.
	Connections *Connections

	// TakeBack is set by Run: the hosts whose changes must be undone, because a rollout has stopped with this rule.
	TakeBack []string
	// TakeBackAll reports that TakeBack has all changed hosts, and that changes on other hosts (on) must be undone,
	// too.
	TakeBackAll bool

	control *flight.Control              // nil before the first host begins
	relays  *relays.Relays               // nil without relays
	queue   *atomic.Pointer[share.Queue] // the last one whose hosts have begun, for the relays
}

// Options are the command line options of a run. The zero value applies changes, with as many hosts in progress as
// possible.
type Options struct {
	Run     string // id
	Check   bool
	Monitor bool // run health checks and nothing else
	Diff    bool
	Strict  bool   // warnings about templates are errors
	Forks   int    // maximum number of hosts in progress; 0 means as many as possible, or 64 in a rollout
	Files   int    // maximum number of open files for hosts in progress; 0 means no limit
	Keep    int    // connections kept between plays; 0 means 256, negative none
	Limit   string // a second pattern; "" limits nothing
	// Follow is the pattern of the hosts whose command output is printed as it arrives; "" means none.
	Follow string
	// Progress is the progress, by play, of the run that this run resumes; nil for a new run. Origin is the first run
	// of the chain; the zero value for a new run.
	Progress *record.Progress `json:"-"`
	Origin   record.Origin
	Holder   string          // user and machine of the run, for the lock
	NoLock   bool            // ad-hoc commands take no lock
	Catalog  catalog.Options `json:"-"`
	// Reconnect is how long to try to reconnect after a lost connection; 0 disables it.
	Reconnect time.Duration
	// IdleTimeout is the time without data after which host and controller consider the connection lost; 0 means
	// [wire.IdleTimeout].
	IdleTimeout time.Duration
	// LockTimeout is how long a host waits for the end of another run; 0 means that it does not wait.
	LockTimeout time.Duration
	Deadlines   Deadlines
	// CompileFirst applies nothing on any host of a batch until the catalogs of all
	// have been made.
	CompileFirst bool
	// Options of rollouts. IncludeBroken also changes hosts that were unhealthy before the run. Canary is the only host
	// of the first batch; "" means no canary. Yes skips the prompts between batches. Hold is the time for which a
	// stopped rollout without a terminal waits for a command; a negative value means no limit.
	IncludeBroken bool
	Canary        string
	Yes           bool
	Hold          time.Duration
	Watch         *Watch   // settings for watching the hosts after the plays; nil disables it
	Manifests     []string // as given, for the first event
	Version       string
}

const (
	defaultForks = 64
	defaultKeep  = 256
)

// compileTime bounds the compilation of one host's catalog.
const compileTime = 30 * time.Second

// selection is the hosts of one play.
type selection struct {
	number   int // number of the play in the run
	play     *manifest.Play
	compiler *catalog.Compiler
	values   *inventoryValues
	hosts    []*inventory.Host
	done     map[string]bool                     // hosts that the resumed run has finished
	refs     func() []string                     // references of its resources, as type#name; made once
	begun    bool                                // a batch has begun
	first    string                              // host that --step prompts for; "" means none
	found    func(host string, found Prediction) // receives the predictions of a check run with a rollout; nil ignores them
	parts    *parts                              // steps of its rollout; nil without one
	kept     *keptResults                        // results of the check before the run; nil if there was no check
}

// has reports whether a host is one of the play.
func (s *selection) has(host string) bool {
	return slices.ContainsFunc(s.hosts, func(h *inventory.Host) bool { return h.Name == host })
}

// Select returns the hosts of each play, and contacts none. With a limit, a play may have no hosts, but not all plays.
func (r *Runner) Select() ([][]*inventory.Host, error) {
	var all [][]*inventory.Host
	var errs, emptied []error
	for i, play := range r.Plays {
		hosts, err := SelectHosts(r.Inventory, play.HostPattern(), "", r.warn)
		if err == nil {
			hosts = r.recordedHosts(i, hosts)
		}
		if play.Undo != nil {
			hosts = among(hosts, setOf(play.Undo.Hosts))
		}
		if err != nil && play.Hosts != nil {
			err = play.Hosts.Errorf("", "%v", err)
		}
		errs = append(errs, err)
		if err == nil && r.Options.Limit != "" {
			hosts, err = r.limit(hosts)
			if errors.Is(err, inventory.ErrNothing) {
				emptied = append(emptied, err)
			} else {
				errs = append(errs, err)
			}
		}
		all = append(all, hosts)
	}
	if len(emptied) > 0 && len(emptied) == len(r.Plays) {
		return nil, emptied[0]
	}
	return all, errors.Join(errs...)
}

func (r *Runner) limit(hosts []*inventory.Host) ([]*inventory.Host, error) {
	hosts, warnings, err := r.Inventory.Limit(hosts, r.Options.Limit)
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		r.warn(w)
	}
	return hosts, nil
}

// followed returns the hosts whose command output is printed as it arrives, by name.
func (r *Runner) followed(plays [][]*inventory.Host) (map[string]bool, error) {
	if r.Options.Follow == "" {
		return nil, nil
	}
	hosts, warnings, err := r.Inventory.Limit(slices.Concat(plays...), r.Options.Follow)
	if errors.Is(err, inventory.ErrNothing) {
		err = errors.New("it selects no host of this run")
	}
	if err != nil {
		return nil, fmt.Errorf("--follow %s: %w", r.Options.Follow, err)
	}
	for _, w := range warnings {
		r.warn(w)
	}
	return setOf(names(hosts)), nil
}

// SelectHosts returns the hosts that match pattern and limit; an empty limit matches all.
func SelectHosts(inv *inventory.Inventory, pattern, limit string, warn func(string)) ([]*inventory.Host, error) {
	hosts, warnings, err := inv.Select(pattern)
	if err == nil && limit != "" {
		var more []string
		hosts, more, err = inv.Limit(hosts, limit)
		warnings = append(warnings, more...)
	}
	for _, w := range warnings {
		warn(w)
	}
	return hosts, err
}

// Run runs the plays in order. After the first signal on stop, each host finishes the resource in progress; the end of
// ctx kills resources in progress. The error concerns the whole run; errors of hosts and resources are sent as events,
// and counted by Tally.
func (r *Runner) Run(ctx context.Context, stop <-chan struct{}) (events.Summary, error) {
	downloads := catalog.NewDownloads()
	defer downloads.Close()
	plays, err := r.check(ctx, stop, nil, r.compiling(downloads), false, func(*manifest.Play, string) {})
	defer plays.close()
	if err != nil {
		return events.Summary{}, err
	}
	hostLists, done, hosts, compilers, parts := plays.hosts, plays.done, plays.remaining(), plays.compilers, plays.parts
	followed, err := r.followed(hostLists)
	if err := errors.Join(err, r.checkAsking(), r.checkFetches(), r.checkRegistry(ctx)); err != nil {
		return events.Summary{}, err
	}
	if r.Workers == nil { // otherwise no passphrase is prompted for, and workers log in with their own keys
		if err := r.Unlock(ctx, hosts); err != nil {
			return events.Summary{}, err
		}
		if err := r.CheckFiles(hosts); err != nil {
			return events.Summary{}, err
		}
	}
	r.forWorkers(compilers, parts, namesOf(hostLists))
	if err := r.enter(ctx, stop, remaining(hostLists, done)); err != nil {
		return events.Summary{}, err
	}
	stop, stepped := r.Step.stopping(stop)
	defer stepped()
	f := &fleet{runner: r, stop: stop, states: map[string]*hostState{}, places: make(chan struct{}, r.forks()), followed: followed, lent: setOf(names(plays.lent))}
	r.openRelays(hosts)
	defer r.closeRelays()
	f.sessions, f.once, f.commons = share.NewSessions(&f.waits), share.NewOnce(&f.waits), ownCommons{f}
	defer f.close()
	for i, play := range r.Plays {
		s := &selection{number: i, play: play, compiler: compilers[i], values: plays.values[i], hosts: hostLists[i], done: done[i], parts: parts[i], kept: plays.kept[i], refs: sync.OnceValue(play.LiteralRefs)}
		f.plays = append(f.plays, s)
		f.expect(s)
	}
	f.exchange = share.NewExchange(r.Plays, hostLists)
	f.exchange.WaitIn(&f.waits)
	r.Events.Report(events.RunStart{
		Check: r.Options.Check, Diff: r.Options.Diff, Manifests: r.Options.Manifests,
		Version: r.Options.Version, Hosts: len(f.states), Monitor: r.Options.Monitor, Plays: selected(r.Plays, hostLists, done), Undoes: r.undoes(),
	})
	r.Activity.Begin(len(f.states), r.Options.Check)
	watch := r.Options.Watch
	onlyWatches := watch != nil && (watch.Only || r.Options.Check)
	if onlyWatches {
		f.allOtherFacts(ctx)
	}
	if onlyWatches || f.settle(ctx) && f.playAll(ctx) && watch != nil {
		f.watch(ctx)
	}
	f.finish(ctx)
	summary := r.Tally.Summary(f.interrupted(ctx) && !f.rolloutStopped && f.watching == nil)
	summary.Watch = r.Options.Watch.failures(f.watching.Totals())
	summary.RolloutStopped, r.TakeBack, r.TakeBackAll = f.rolloutStopped, f.takeBack, f.takeBackAll
	summary.NotStarted = f.notStarted()
	if !onlyWatches {
		summary.PlaysNotRun = notRun(f.plays)
	}
	r.Events.Report(summary)
	return summary, nil
}

// addresses returns the addresses of hosts; nil if every address equals the name.
func addresses(hosts []*inventory.Host) []string {
	list, others := make([]string, len(hosts)), false
	for i, h := range hosts {
		if address := h.Connection().Address; address != h.Name {
			list[i], others = address, true
		}
	}
	if !others {
		return nil
	}
	return list
}

// undoes returns the id of the run that the plays undo; "" means none.
func (r *Runner) undoes() string {
	for _, p := range slices.Backward(r.Plays) { // the runs that resumed another one come before it
		if p.Undo != nil {
			return p.Undo.Run
		}
	}
	return ""
}

// selected returns the plays with the names of their hosts, and of the hosts that have finished them.
func selected(plays []*manifest.Play, hosts [][]*inventory.Host, done []map[string]bool) []events.SelectedPlay {
	list := make([]events.SelectedPlay, len(plays))
	for i, play := range plays {
		list[i] = events.SelectedPlay{
			Name: play.Name, Hosts: names(hosts[i]), Addresses: addresses(hosts[i]), Become: play.Become, BecomeUser: play.BecomeUser, BecomeMethod: play.BecomeMethod,
			Done: names(among(hosts[i], done[i])),
		}
	}
	return list
}

// checkImports reports values that no host can receive from another host. hosts are the hosts of each play; nil means
// unknown.
func (r *Runner) checkImports(hosts [][]*inventory.Host) error {
	run := share.Run{Inventory: r.Inventory, Plays: r.Plays, Hosts: hosts, Limited: r.Options.Limit != "" || r.Options.Progress != nil}
	for n, list := range hosts {
		first := list
		if all := r.batches(n, r.Plays[n], list); len(all) > 0 {
			first = all[0]
		}
		run.First = append(run.First, first)
	}
	return run.Check()
}

// compiling returns the options that compile the plays, and the parts of their rollouts. downloads collects the files
// that hosts get from web servers; nil collects none.
func (r *Runner) compiling(downloads *catalog.Downloads) catalog.Options {
	opts := r.Options.Catalog
	opts.Downloads, opts.Watch = downloads, r.Options.Watch.defaults()
	opts.InventorySecrets = r.maskInventory(opts.Mask) || r.Names != nil && r.Names.Secrets
	opts.Variables, opts.HasHost = r.variables(), r.hasHost
	return opts
}

// compilers opens the folder of every play, and reports all errors. values are the inventory values for expressions.
func (r *Runner) compilers(ctx context.Context, opts catalog.Options, values []*inventoryValues) ([]*catalog.Compiler, error) {
	var all []*catalog.Compiler
	var errs []error
	for i, play := range r.Plays {
		opts.Inventory = values[i].of
		c, err := r.compiler(ctx, play, opts)
		if errs = append(errs, err); c != nil {
			all = append(all, c)
		}
	}
	return all, errors.Join(errs...)
}

// compiler opens the folder of a play; nil if that cannot be done.
func (r *Runner) compiler(ctx context.Context, play *manifest.Play, opts catalog.Options) (*catalog.Compiler, error) {
	c, err := catalog.New(play, opts)
	if err != nil {
		return nil, err
	}
	errs := []error{c.CheckLiteral(ctx), r.checkLookups(c)}
	for _, w := range c.Warnings() {
		if r.Options.Strict {
			errs = append(errs, &yamlpos.Error{Msg: w})
			continue
		}
		r.warn(w)
	}
	return c, errors.Join(errs...)
}

func closeCompilers(all []*catalog.Compiler) {
	for _, c := range all {
		c.Close()
	}
}

func (r *Runner) warn(text string) {
	if r.Connect.Warn != nil {
		r.Connect.Warn(text)
	}
}

// forks returns the number of hosts that a rollout has in progress at once. After a host has stopped the rollout, this
// number of hosts can still fail.
func (r *Runner) forks() int {
	if r.Options.Forks > 0 {
		return r.Options.Forks
	}
	return defaultForks
}

// fly processes the hosts of a queue, as many at once as possible.
func (r *Runner) fly(q *share.Queue) {
	if r.control == nil {
		r.control = flight.NewControl(flight.Bounds{Hosts: r.Options.Forks, Files: r.Options.Files, Memory: flight.Memory()})
		r.Dialer.Exhausted = r.control.Exhausted
	}
	if r.queue != nil {
		r.queue.Store(q)
	}
	r.control.Run(q)
}

func (r *Runner) keep() int {
	if r.Options.Watch != nil { // which needs all of them
		return math.MaxInt
	}
	if r.Options.Keep == 0 {
		return defaultKeep
	}
	return max(0, r.Options.Keep)
}

// applies reports whether the run changes hosts.
func (r *Runner) applies() bool { return !r.Options.Check && !r.Options.Monitor }

// collectors returns the fact collectors that the plays of a host need, and the paths of single facts.
func collectors(plays []*selection) []string {
	var paths []string
	all := false
	for _, p := range plays {
		for _, c := range append(p.parts.compilers(), p.compiler) {
			more, everything := c.Facts()
			paths, all = append(paths, more...), all || everything
		}
	}
	wanted := facts.Collectors(paths, all)
	queries := facts.Queries{}
	for _, p := range plays {
		for _, asked := range p.play.AskedFacts {
			queries[asked.At.Text] = asked.Query
		}
	}
	if ask := queries.Collector(); ask != "" {
		wanted = append(wanted, ask)
	}
	return wanted
}

// lock returns the lock that a catalog takes on the host if it applies changes.
func (r *Runner) lock(m mode) *wire.Lock {
	if !r.applies() || r.Options.NoLock || m.looks() {
		return nil
	}
	l := &wire.Lock{Holder: r.Options.Holder, Run: r.Options.Run, Wait: r.Options.LockTimeout}
	if o := r.Options.Origin; o.Epoch > 0 { // a program of the run before may still be at a resource
		l.First, l.Epoch, l.Again = o.First, o.Epoch, true
	}
	return l
}

// maxParts exceeds the number of parts of a rollout. A resumed run starts these parts from the beginning.
const maxParts = 8

// once returns the identity of a play's catalog, by which a host recognises a repeated catalog; nil for a catalog that
// only checks, or that changes something without a lock.
func (r *Runner) once(p *part) *wire.Once {
	if r.Options.Monitor || r.Options.NoLock || p.mode.looks() {
		return nil
	}
	part := p.mode.part()
	if part > 0 && part < repairPart { // a host that was out of its pool may be back
		part += maxParts * (r.Options.Origin.Epoch % (repairPart / maxParts))
	}
	return &wire.Once{Run: r.Options.Run, Play: p.number + 1 + part*wire.MaxPlays}
}
