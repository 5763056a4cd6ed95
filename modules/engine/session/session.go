package session

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A Session serves the catalogs of one controller, one after the other.
type Session struct {
	Registry modules.Registry
	Host     modules.Host // Contents, Report and Forecast are filled in
	SpoolDir string       // folder of contents in transit, within the module's own
	// Lock takes the host's lock for an applying catalog and returns a function that releases it.
	Lock func(ctx context.Context, l wire.Lock) (unlock func(), err error)
	// Stores of due refreshes, of former states of resources with reverse, and of sent values. nil stores nothing.
	Refreshes, Reversals, Sent notes.Store
	// Applied stores the properties that runs have left; nil stores nothing.
	Applied notes.Store

	// Results stores results that no controller has acknowledged; nil stores none.
	Results notes.Log
	// Past stores the states before changes of runs; nil stores nothing.
	Past notes.PastStore
	// Superseded receives a signal when the controller has come back over another connection.
	Superseded <-chan os.Signal

	Rules engine.Rules // judges health checks that are rules of goss; nil cannot
	Now   func() time.Time
	// IdleTimeout is the longest silence of the controller; 0 means [wire.IdleTimeout].
	IdleTimeout time.Duration
	// Folders keeps the folders resources/ of plays; nil keeps none.
	Folders Folders
	// Confirms reverts unconfirmed changes; nil does not.
	Confirms *Confirms
	// Watch makes what keeps catalogs under watch; nil has such catalogs refused.
	Watch func(*Controller) Watching
}

// errSilent reports that the controller has been silent for the idle timeout.
var errSilent = errors.New("nothing was heard from the controller")

// errSuperseded reports that the connection is lost, since the controller has another one.
var errSuperseded = errors.New("the controller has come back over another connection")

// Serve works until the controller closes the input, cannot be written to or falls
// silent; each lets the resources that are running end first. A message `kill` ends
// them at once.
// in must be positioned after hello.
func (s *Session) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, kill := context.WithCancelCause(ctx)
	heard := wire.NewIdleReader(in, s.Now, s.IdleTimeout)
	toController := &output{Writer: out}
	conn := wire.NewConn(bufio.NewReader(heard), toController, wire.MaxFromController)
	sweepPartials(s.SpoolDir, s.Now())
	sp := newSpool(s.SpoolDir, func(w *wire.Want) error { return conn.Send(&wire.Message{Want: w}) })
	defer sp.Close()
	r := newReceiver(conn, sp, kill)
	toController.failed = r.end
	serving := &serving{Session: s, conn: conn, spool: sp, receiver: r}
	serving.confirming = &confirming{serving: serving, silent: heard.Silent, begun: make(chan struct{})}
	serving.engine = serving.newEngine()
	r.acknowledge = func(ack wire.Ack) { serving.acknowledge(ctx, ack) }
	// Not waited for: a read from standard input cannot be interrupted. It ends
	// with the input or, at the latest, with the process.
	go r.receive()
	var work sync.WaitGroup
	defer work.Wait()
	defer kill(nil)
	work.Go(func() { r.answerPings(ctx) })
	work.Go(func() {
		if heard.TimedOut(ctx) {
			r.end(errSilent)
		}
	})
	work.Go(func() {
		select {
		case <-s.Superseded:
			r.end(errSuperseded)
		case <-ctx.Done():
		}
	})
	if s.Confirms != nil {
		work.Go(func() { serving.confirming.guard(ctx) })
	}
	if s.Watch != nil {
		serving.watch = s.Watch(&Controller{conn, r.ended})
		work.Go(func() { serving.watch.Serve(ctx) })
	}
	defer serving.unlock()
	for {
		select {
		case p := <-r.proofs:
			if err := conn.Send(&wire.Message{Confirmed: serving.confirming.prove(ctx, p.Nonce)}); err != nil {
				return err
			}
		case cat := <-r.catalogs:
			if err := serving.catalog(ctx, cat); err != nil {
				return err
			}
		case <-r.ended:
			return r.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// output writes to the controller, and records whether a write has failed.
type output struct {
	io.Writer
	failed func(error)
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if err != nil {
		o.failed(err)
	}
	return n, err
}

// serving is a session under way.
type serving struct {
	*Session
	conn     *wire.Conn
	spool    *spool
	receiver *receiver
	free     func()      // releases the host's lock; nil while it is not held
	held     atomic.Bool // the lock
	engine   *engine.Engine
	results  notes.Results
	opened   sync.Once    // the results
	begun    notes.Begun  // earlier results of the catalog, all of its stages
	again    map[int]bool // entries of the catalog whose earlier results do not count
	foretold bool         // a check run or a query has reported armed changes
	anew     string       // message about a catalog that is not continued; empty means none

	confirming *confirming
	watch      Watching // nil where nothing is watched
}

// newEngine makes what works on all catalogs of the session, one after the other.
func (s *serving) newEngine() *engine.Engine {
	e := &engine.Engine{
		Decode:    func(e *wire.Entry) (modules.Resource, error) { return s.Registry.Decode(e.Type, e.Properties) },
		Now:       s.Now,
		Prefetch:  func(_ context.Context, lacking []modules.Content) error { return s.spool.want(lacking) },
		Stop:      s.receiver.stopped,
		Refreshes: s.Refreshes,
		Rules:     s.Rules,
		Sent:      s.Sent,
		Reversals: s.Reversals,
		Applied:   s.Applied,
		Past:      s.Past,
		Import:    s.receiver.questions.imports,
	}
	if s.Confirms != nil {
		e.Confirm = s.confirming
	}
	return e
}

// catalog runs one catalog and reports how it ended.
func (s *serving) catalog(ctx context.Context, cat *wire.Catalog) error {
	refuse := func(r *wire.Refused) error { return s.conn.Send(&wire.Message{Refused: r}) }
	if refused := s.refusal(cat); refused != nil {
		return refuse(refused)
	}
	if cat.Watch != nil { // others may work on the host while it is watched
		s.giveBack()
	}
	s.confirming.catalog(cat)
	defer s.confirming.end()
	if err := s.take(ctx, cat); err != nil {
		if s.receiver.stopped() {
			return s.conn.Send(&wire.Message{Done: &wire.Done{Stopped: true}})
		}
		return refuse(notTaken(err))
	}
	host := s.Host
	host.Contents, host.YAML = s.spool, s.receiver.questions.yaml
	host.Resources = s.folder(cat.Resources)
	s.engine.Host = host
	out := &outbox{conn: s.conn, ended: s.receiver.ended, keep: s.results.Flush}
	s.confirming.flush = out.flush
	armed := s.armed(ctx, cat)
	if err := s.engine.TakeBack(cat); err != nil {
		return refuse(&wire.Refused{Phase: "undo", Error: err.Error()})
	}
	if lacks := s.lacks(cat); lacks != "" {
		return refuse(&wire.Refused{Phase: "full", Error: "type " + lacks + " needs the full host program"})
	}
	if cat.Undo != nil && len(cat.Entries) > 0 {
		if err := out.put(&wire.Message{Reversals: undone(cat)}); err != nil {
			return err
		}
	}
	if s.Confirms != nil && cat.Once != nil && cat.From == 0 {
		if err := s.tellReverted(out); err != nil {
			return err
		}
	}
	ended, err := s.begin(ctx, cat, out)
	if errors.Is(err, notes.ErrResumed) {
		return refuse(&wire.Refused{Phase: "lock", Error: err.Error()})
	}
	if err != nil {
		return err
	}
	if ended {
		_ = s.results.End(false) // it has been noted
		return errors.Join(out.put(&wire.Message{Done: &wire.Done{Armed: s.confirming.end()}}), out.flush())
	}
	return s.work(ctx, cat, out, armed)
}

// refusal returns why this program cannot begin a catalog, or nil.
func (s *serving) refusal(cat *wire.Catalog) *wire.Refused {
	if cat.Watch != nil && s.watch == nil {
		return &wire.Refused{Phase: "protocol", Error: "this host program cannot watch: only the full one can"}
	}
	for _, path := range cat.Quiet {
		if _, err := s.Host.Files.Stat(path); err == nil {
			return &wire.Refused{Phase: "quiet", Error: path + " is there"}
		}
	}
	return nil
}

// notTaken returns the message for an error of [serving.take].
func notTaken(err error) *wire.Refused {
	phase := "lock"
	if _, reverted := errors.AsType[*errReverted](err); reverted {
		phase = "confirm"
	}
	return &wire.Refused{Phase: phase, Error: err.Error(), Locked: errors.Is(err, wire.ErrLocked)}
}

// armed returns, for the first check run or query of the session, a warning about a change that is armed and not confirmed.
func (s *serving) armed(ctx context.Context, cat *wire.Catalog) string {
	asks := cat.Queries()
	if s.Confirms == nil || !cat.Check && !asks || cat.Rehearsal || cat.Lock != nil || cat.Watch != nil || s.foretold {
		return ""
	}
	s.foretold = true
	var text string
	var err error
	if asks {
		text, err = s.confirming.report()
	} else {
		text, err = s.confirming.foretell(ctx)
	}
	if err != nil {
		return "whether changes are armed and not confirmed cannot be read: " + oneLine(err)
	}
	return text
}

// work runs a catalog that has begun, and reports its end. armed is a warning for the first result.
func (s *serving) work(ctx context.Context, cat *wire.Catalog, out *outbox, armed string) error {
	s.connect(out)
	follow := &follower{out: out, now: s.Now}
	if s.engine.Follow = nil; cat.Follow {
		s.engine.Follow = follow.line
	}
	emit := func(result *wire.Result) error {
		follow.flush()
		for _, text := range []string{s.anew, armed} {
			if text != "" {
				result.Messages = append([]modules.Note{{Level: "warning", Text: text}}, result.Messages...)
			}
		}
		s.anew, armed = "", ""
		return out.put(&wire.Message{Result: result})
	}
	var stopped bool
	var err error
	if cat.Watch == nil {
		stopped, err = s.engine.Run(ctx, cat, emit)
	} else {
		stopped, err = s.watch.Run(ctx, s.engine, cat, emit)
	}
	_ = s.results.End(err == nil && !stopped && cat.Until == 0) // without it, the end is found out again
	if err == nil {
		err = out.put(&wire.Message{Done: &wire.Done{Stopped: stopped, Armed: s.confirming.end()}})
	}
	err = errors.Join(err, out.flush())
	if cat.Watch != nil {
		s.watch.Begin()
	}
	return err
}

// connect sets the functions with which the engine reaches the controller.
func (s *serving) connect(out *outbox) {
	s.engine.Semaphores = func(ctx context.Context, index int, would string) (func(), error) {
		if err := out.flush(); err != nil { // a person at the prompt has seen the earlier results
			return nil, err
		}
		return s.receiver.questions.semaphores(ctx, index, would)
	}
	s.engine.Elsewhere = func(ctx context.Context, m *wire.Elsewhere) (*wire.Elsewhere, error) {
		if err := out.flush(); err != nil { // others take their time
			return nil, err
		}
		return s.receiver.questions.elsewhere(ctx, m)
	}
	s.engine.Hand = s.hand
	s.engine.Undoes = func(all *wire.Reversals) error { return out.put(&wire.Message{Reversals: all}) }
}

// hand sends a part of a file. It does not wait for a controller that is gone.
func (s *serving) hand(ctx context.Context, p *wire.Part) error {
	sent := make(chan error, 1)
	go func() { sent <- s.conn.Send(&wire.Message{Part: p}) }() // ends with the process at the latest
	select {
	case err := <-sent:
		if err != nil {
			err = engine.ErrCut
		}
		return err
	case <-s.receiver.ended:
		return engine.ErrCut
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// lacks returns the type of a resource that would be reverted, and that this lean program does not know, or "".
func (s *serving) lacks(cat *wire.Catalog) string {
	if s.watch != nil {
		return ""
	}
	var types []string
	for i := range cat.Entries {
		if e := &cat.Entries[i]; e.Reversal && e.Properties != nil {
			types = append(types, e.Type)
		}
	}
	if noted, _ := notes.OpenReversals(s.Reversals, cat); noted.Undoes() {
		for _, v := range noted.Gone() {
			types = append(types, v.Type)
		}
	}
	for _, t := range types {
		if _, known := s.Registry.Lookup(t); !known {
			return t
		}
	}
	return ""
}

// take takes the host's lock for a catalog, once nothing of others awaits its confirmation.
func (s *serving) take(ctx context.Context, cat *wire.Catalog) error {
	confirms := s.Confirms != nil && cat.Lock != nil
	if confirms {
		if err := s.confirming.clear(ctx, cat); err != nil {
			return err
		}
	}
	had := s.free != nil
	err := s.lock(ctx, cat.Lock)
	if err != nil || had || !confirms {
		return err
	}
	// The one that had the lock before may have armed something.
	if err := s.confirming.clear(ctx, cat); err != nil {
		s.giveBack()
		return err
	}
	return nil
}

// undone names what a catalog takes back.
func undone(cat *wire.Catalog) *wire.Reversals {
	m := &wire.Reversals{}
	for i := range cat.Entries {
		e := &cat.Entries[i]
		m.Entries = append(m.Entries, wire.Reversal{Type: e.Type, Name: e.Name, Sensitive: e.Sensitive})
	}
	return m
}

// lockTold is the time after which the controller learns that the host program waits for the lock.
const lockTold = 500 * time.Millisecond

// lock takes the host's lock, unless the catalog needs none or the session holds it: it is kept for later plays. The
// wait ends when the controller sends stop or is gone.
func (s *serving) lock(ctx context.Context, l *wire.Lock) error {
	if l == nil || s.free != nil {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var waiting sync.WaitGroup
	told := false
	waiting.Go(func() {
		select {
		case <-time.After(lockTold):
			told = true
			_ = s.conn.Send(&wire.Message{Locked: &wire.Locked{Waits: true}}) // the catalog finds out
		case <-ctx.Done():
			return
		case <-s.receiver.stopping:
		}
		select {
		case <-s.receiver.stopping:
			cancel(engine.ErrKilled)
		case <-ctx.Done():
		}
	})
	free, err := s.Lock(ctx, *l)
	cancel(nil)
	waiting.Wait()
	s.free = free
	s.held.Store(err == nil)
	if told && err == nil {
		_ = s.conn.Send(&wire.Message{Locked: &wire.Locked{}})
	}
	return err
}

func (s *serving) unlock() {
	if s.free != nil {
		s.free()
	}
}

// giveBack releases the lock before the session ends.
func (s *serving) giveBack() {
	s.unlock()
	s.free = nil
	s.held.Store(false)
}

// Folders stores the folders resources/ of plays. It returns the directory of the folder with that listing (see
// [wire.Catalog]). It requests missing files with want, and opens them with from.
type Folders func(ctx context.Context, listing modules.Content, want func([]modules.Content) error, from modules.Contents) (dir string, err error)

// folder returns [modules.Host].Resources for a catalog.
func (s *serving) folder(listing modules.Content) func(context.Context) (string, error) {
	if s.Folders == nil {
		return nil
	}
	return func(ctx context.Context) (string, error) {
		if listing.IsZero() {
			return "", nil
		}
		return s.Folders(ctx, listing, s.spool.want, s.spool)
	}
}
