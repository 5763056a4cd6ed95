package watch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/listen"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A Listener hears that something may have changed.
type Listener interface {
	// Listen replaces the places to listen to, and returns for each the reason why it cannot be heard, or only in part.
	Listen(ctx context.Context, sources []modules.Sources) (polled []string, err error)
	// Hints returns the hints about possible changes.
	Hints() <-chan listen.Hint
	// Drain returns when hints for all changes before the call are in Hints.
	Drain(ctx context.Context) error
	Close() error
}

// A Look is the state of the host's lock, seen without taking it.
type Look struct {
	Held   bool
	Holder wire.Lock // holder, as far as it is known
	Turn   string    // another one after the lock was taken or given back
}

// A Config has the parts that a Loop works with.
type Config struct {
	Listen func() (Listener, error) // nil hears nothing
	Look   func() Look              // at the lock of the host; nil is never held
	// PackageOf names the package that a program is of, "" if that is not known; nil knows none.
	PackageOf func(ctx context.Context, program string) string
	Tell      func([]*wire.Watched) error // an error belongs to the session, which ends
	Rest      func()                      // called when nothing was checked for a while, after something was; nil does nothing
	Now       func() time.Time
}

// A Loop keeps the catalogs of a session under watch. They are checked one after the other.
type Loop struct {
	config Config
	calls  chan func()
	ended  chan struct{} // closed at the end of Serve
	begins func()        // begins the watch of the last catalog

	mu       sync.Mutex
	checking int                // play that is being checked; 0 means none
	cancel   context.CancelFunc // ends that
	leaving  map[int]bool       // plays that are about to be dropped

	// Used by Serve alone:
	listener Listener
	deaf     string // reason why no listener works
	plays    map[int]*play
	waiting  bool      // another run was in progress
	relisten time.Time // time of the next Listen; zero means none is due
	worked   time.Time // when something was run, checked or listened to last, since it has rested; zero is not
}

// rest is the time without a check after which the loop rests.
const rest = 5 * time.Second

// Times after which what cannot be helped is tried again.
const (
	lockPoll  = 250 * time.Millisecond
	quietPoll = time.Second
	retry     = time.Minute
)

// New returns a Loop, which Serve has to serve.
func New(c Config) *Loop {
	return &Loop{config: c, calls: make(chan func()), ended: make(chan struct{}), leaving: map[int]bool{}, plays: map[int]*play{}}
}

// errCannotWatch refuses a catalog that is more than a check.
var errCannotWatch = errors.New("watch needs a complete check run, without a record and without a lock")

// Run is [engine.Engine.Run] for a catalog with a Watch. It ends the reports about the previous catalog of the same
// play.
func (l *Loop) Run(ctx context.Context, e *engine.Engine, cat *wire.Catalog, emit func(*wire.Result) error) (stopped bool, err error) {
	l.begins = func() {}
	if !cat.Check || !cat.Rehearsal || cat.Lock != nil || cat.Once != nil || cat.Undo != nil || cat.Remember != nil || cat.Until > 0 {
		return false, errCannotWatch
	}
	l.drop(cat.Watch.Play)
	standing, stopped, err := e.Stand(ctx, cat, emit)
	if standing != nil {
		l.begins = func() {
			l.plays[cat.Watch.Play] = newPlay(cat, standing, l.config.Now())
			l.place()
			l.worked = l.config.Now() // it was run just now
		}
	}
	return stopped, err
}

// Begin begins the watch of the last catalog, if it was not stopped.
func (l *Loop) Begin() { l.do(l.begins) }

// drop ends the watch of a play, and a check of it that is under way.
func (l *Loop) drop(play int) {
	l.mu.Lock()
	l.leaving[play] = true
	if l.checking == play {
		l.cancel()
	}
	l.mu.Unlock()
	l.do(func() {
		delete(l.plays, play)
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.leaving, play)
	})
}

// do has Serve call f, and waits for that.
func (l *Loop) do(f func()) {
	done := make(chan struct{})
	select {
	case l.calls <- func() { f(); close(done) }:
		<-done
	case <-l.ended:
	}
}

// Serve works until ctx ends, or nothing can be reported any more.
func (l *Loop) Serve(ctx context.Context) {
	defer close(l.ended)
	defer func() {
		if l.listener != nil {
			l.listener.Close()
		}
	}()
	var hints <-chan listen.Hint
	for {
		next, err := l.work(ctx)
		if err != nil || ctx.Err() != nil {
			return
		}
		if l.listener != nil {
			hints = l.listener.Hints()
		}
		next = earlier(next, l.rests())
		var timer *time.Timer
		var rings <-chan time.Time
		if !next.IsZero() {
			timer = time.NewTimer(max(0, next.Sub(l.config.Now())))
			rings = timer.C
		}
		select {
		case <-ctx.Done():
		case call := <-l.calls:
			call()
		case h, ok := <-hints:
			if !ok {
				return
			}
			l.take(h)
		case <-rings:
		}
		if timer != nil {
			timer.Stop()
		}
	}
}

// rests calls Rest if it is due, and returns when it is due; zero if it has rested.
func (l *Loop) rests() (next time.Time) {
	if l.worked.IsZero() || l.config.Rest == nil {
		return time.Time{}
	}
	if due := l.worked.Add(rest); due.After(l.config.Now()) {
		return due
	}
	l.worked = time.Time{}
	l.config.Rest()
	return time.Time{}
}

// take notes what a hint is about.
func (l *Loop) take(h listen.Hint) {
	now := l.config.Now()
	for _, p := range l.plays {
		if h.All != "" {
			p.hinted.hint(everything, now)
			p.missed = h.All
		}
		for _, at := range h.Sources {
			i := at - p.first
			switch {
			case i >= 0 && i < len(p.sources):
				p.hinted.hint(i, now)
				if w, ok := h.Writers[at]; ok {
					p.writers[i] = w
				}
			case i == len(p.sources): // whether it is quiet
				p.after = time.Time{}
			}
		}
	}
}

// takeAll notes the hints that are here.
func (l *Loop) takeAll() {
	for l.listener != nil {
		select {
		case h, ok := <-l.listener.Hints():
			if !ok {
				return
			}
			l.take(h)
		default:
			return
		}
	}
}

// work checks due entries, and returns when the next ones are due, or zero.
func (l *Loop) work(ctx context.Context) (next time.Time, err error) {
	for ctx.Err() == nil {
		if !l.relisten.IsZero() && !l.relisten.After(l.config.Now()) {
			if err := l.hear(ctx); err != nil {
				return next, err
			}
		}
		l.takeAll()
		now := l.config.Now()
		p, next := l.nextPlay(now)
		if p == nil || next.After(now) {
			return earlier(next, l.relisten), nil
		}
		before := l.look()
		if before.Held {
			l.waiting = true
			return now.Add(lockPoll), nil
		}
		if l.waiting {
			l.waiting = false
			l.drain(ctx)
			continue
		}
		if err := l.check(ctx, p, before); err != nil {
			return next, err
		}
	}
	return next, ctx.Err()
}

// nextPlay is the one of which something is due first.
func (l *Loop) nextPlay(now time.Time) (first *play, next time.Time) {
	for _, n := range slices.Sorted(maps.Keys(l.plays)) {
		p := l.plays[n]
		if due := p.next(now); !due.IsZero() && (first == nil || due.Before(next)) {
			first, next = p, due
		}
	}
	return first, next
}

// look reads the state of the host's lock, and records the run in progress for all plays.
func (l *Loop) look() Look {
	if l.config.Look == nil {
		return Look{}
	}
	seen := l.config.Look()
	if seen.Held && seen.Holder.Run != "" {
		for _, p := range l.plays {
			p.holder = seen.Holder
		}
	}
	return seen
}

// drain waits for the hints of all changes of another run, which are then checked.
func (l *Loop) drain(ctx context.Context) {
	if l.listener != nil {
		if err := l.listener.Drain(ctx); err != nil {
			for _, p := range l.plays {
				p.all = true
			}
		}
	}
	l.takeAll()
	for _, p := range l.plays {
		p.hurry()
	}
}

// check checks the due entries of a play, and reports new results.
func (l *Loop) check(ctx context.Context, p *play, before Look) error {
	if p.isQuiet() {
		p.all, p.after = true, l.config.Now().Add(quietPoll)
		return nil
	}
	checks, begun := l.begin(ctx, p.watch.Play)
	if !begun {
		return nil // it is about to be dropped, which the next call does
	}
	defer l.end()
	defer func() { l.worked = l.config.Now() }()
	again, whole := p.due(l.config.Now())
	standing, err := p.standing.Check(checks, again)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case checks.Err() != nil:
		p.after = l.config.Now().Add(retry)
		return nil
	case err != nil:
		p.all, p.after = true, l.config.Now().Add(retry)
		return nil
	}
	if after := l.look(); after.Held || after.Turn != before.Turn || p.isQuiet() {
		// Another run may have been halfway through its changes.
		l.waiting = true
		for i := range p.known {
			if again(i) {
				p.soon[i] = true
			}
		}
		p.all = p.all || whole
		return nil
	}
	news, writers := p.learn(standing, again, whole)
	if p.listenTo(checks, again, l.config.Now()) {
		l.relisten = l.config.Now()
	}
	l.namePackages(ctx, writers)
	told := pieces(p.watch.Play, news, writers)
	if whole && p.missed != "" && !p.all {
		if len(told) == 0 {
			told = []*wire.Watched{{Play: p.watch.Play}}
		}
		told[0].Missed, p.missed = p.missed, ""
	}
	return l.tell(told)
}

// namePackages adds the packages of the writers' programs.
func (l *Loop) namePackages(ctx context.Context, writers map[int]wire.Writer) {
	if l.config.PackageOf == nil {
		return
	}
	packages := map[string]string{}
	for i, w := range writers {
		if w.Program == "" {
			continue
		}
		of, asked := packages[w.Program]
		if !asked {
			of = l.config.PackageOf(ctx, w.Program)
			packages[w.Program] = of
		}
		w.Package = of
		writers[i] = w
	}
}

// begin begins a check of a play, unless that is about to be dropped.
func (l *Loop) begin(ctx context.Context, play int) (checks context.Context, begun bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leaving[play] {
		l.plays[play].after = l.config.Now().Add(retry)
		return nil, false
	}
	checks, l.cancel = context.WithCancel(ctx)
	l.checking = play
	return checks, true
}

// end ends a check.
func (l *Loop) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel()
	l.checking = 0
}

func (l *Loop) tell(list []*wire.Watched) error {
	if len(list) == 0 {
		return nil
	}
	return l.config.Tell(list)
}

// place gives each play its range of the sources, and schedules a Listen. Moved entries are checked, since hints may be
// in transit.
func (l *Loop) place() {
	first := 0
	for _, n := range slices.Sorted(maps.Keys(l.plays)) {
		p := l.plays[n]
		if p.first != first {
			p.first, p.all = first, true
		}
		first += len(p.sources) + 1
	}
	l.relisten = l.config.Now()
}

// hear listens to the sources of all entries, and reports sources that it cannot listen to.
func (l *Loop) hear(ctx context.Context) error {
	l.relisten, l.worked = time.Time{}, l.config.Now()
	l.open()
	var all []modules.Sources
	order := slices.Sorted(maps.Keys(l.plays))
	for _, n := range order {
		p := l.plays[n]
		if !p.heard {
			p.listenTo(ctx, func(int) bool { return true }, l.config.Now())
		}
		all = append(append(all, p.sources...), modules.Sources{Paths: p.watch.Quiet})
	}
	polled, deaf := []string(nil), l.deaf
	if l.listener != nil {
		var err error
		if polled, err = l.listener.Listen(ctx, all); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			polled, deaf = nil, err.Error()
			l.relisten = l.config.Now().Add(retry)
		}
	}
	var told []*wire.Watched
	for _, n := range order {
		p := l.plays[n]
		for i := range p.silent {
			switch p.silent[i] = ""; {
			case isZero(p.sources[i]): // the entry has said why it is polled, or depends on others alone
			case polled != nil:
				p.silent[i] = polled[p.first+i]
			default:
				p.silent[i] = deaf
			}
		}
		told = append(told, p.listPolled()...)
	}
	return l.tell(told)
}

// isZero reports whether the sources are empty.
func isZero(s modules.Sources) bool {
	return len(s.Paths)+len(s.Trees)+len(s.Units) == 0 && !s.Mounts
}

// open opens the listener, if that was not tried yet.
func (l *Loop) open() {
	if l.listener != nil || l.deaf != "" {
		return
	}
	if l.config.Listen == nil {
		l.deaf = "nothing is heard here"
		return
	}
	listener, err := l.config.Listen()
	if err != nil {
		l.deaf = err.Error()
		return
	}
	l.listener = listener
}
