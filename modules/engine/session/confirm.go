package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/engine/confirm"
	"github.com/ccm-push/ccm-push/modules/engine/notes"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// Confirms has the parts that revert unconfirmed changes.
type Confirms struct {
	Files *confirm.Files
	Clock confirm.Clock
	// Start starts the watchdog, which calls [Session.Watch], so that it outlives the session. It
	// need not have begun its work then.
	Start func() error
	// Evict takes the host's lock from a run, whose host program it ends.
	Evict func(ctx context.Context, run string, l wire.Lock) (unlock func(), err error)
	// Boot is the unit that starts the watchdog when the host starts.
	Boot BootUnit
}

// A BootUnit is installed when a state with Boot is armed, and removed later.
type BootUnit interface {
	Install() error
	Remove() error
}

// confirming handles the changes of a session that must be confirmed. It implements [engine.Confirmer].
type confirming struct {
	*serving
	silent func() time.Duration // how long nothing has been heard of the controller
	once   sync.Once
	begun  chan struct{} // closed when something is armed for the first time

	arming sync.Mutex   // one arms at a time
	flush  func() error // sends what waits

	mu      sync.Mutex
	cat     *wire.Catalog // current catalog, if its changes may have to be confirmed
	id      string        // id of its nonce, or of the last one
	first   int           // see [confirm.State]
	working bool          // progress moves the deadline
}

// guardPoll is the interval at which a session checks the phase of its changes, and moves the deadline.
const guardPoll = 500 * time.Millisecond

// catalog begins a catalog, whose changes may have to be confirmed.
func (c *confirming) catalog(cat *wire.Catalog) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cat = nil; cat.Confirm == nil || cat.Lock == nil {
		return
	}
	if id := confirm.ID(cat.Confirm.Nonce); id != c.id {
		c.id, c.first = id, 0
	}
	c.cat, c.working = cat, true
}

// end ends the catalog, unless it has ended, and returns the time left to confirm its changes, or 0.
func (c *confirming) end() time.Duration {
	c.mu.Lock()
	cat, working := c.cat, c.working
	c.working = false
	c.mu.Unlock()
	if cat == nil || !working || !c.Armed() {
		return 0
	}
	c.push()
	return cat.Confirm.Within
}

func (c *confirming) push() {
	c.mu.Lock()
	id, cat := c.id, c.cat
	c.mu.Unlock()
	// If it fails, the earlier deadline stays, which is safe.
	_ = c.Confirms.Files.Push(id, c.Confirms.Clock.Since()+cat.Confirm.Within)
}

// Armed implements [engine.Confirmer].
func (c *confirming) Armed() bool {
	c.mu.Lock()
	id := c.id
	c.mu.Unlock()
	p, err := c.Confirms.Files.Phase(id)
	return err == nil && p == confirm.Armed
}

// First implements [engine.Confirmer].
func (c *confirming) First() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.first
}

// armed records that changes from first on must be confirmed.
func (c *confirming) armed(first int) {
	c.mu.Lock()
	c.first = first
	c.mu.Unlock()
	c.once.Do(func() { close(c.begun) })
}

// Arm implements [engine.Confirmer]: if a second login works now, it starts the watchdog.
func (c *confirming) Arm(ctx context.Context, a engine.Arming) error {
	c.arming.Lock()
	defer c.arming.Unlock()
	if c.Armed() { // meanwhile
		return nil
	}
	files := c.Confirms.Files
	switch s, _, err := files.Pending(); {
	case err != nil:
		return err
	case s != nil:
		return modules.Refuse("not done, since changes of run %s are being taken back", s.Run)
	}
	if err := c.flush(); err != nil { // a login takes its time
		return err
	}
	answer, err := c.receiver.questions.arm(ctx, &wire.Arm{Index: a.Index, Why: a.Why})
	if err != nil {
		return err
	}
	if answer.Error != "" {
		return modules.Refuse("not done, because %s, and a second login fails, so ccm-push could not confirm the change: %s", a.Why, answer.Error)
	}
	c.mu.Lock()
	cat, id := c.cat, c.id
	c.mu.Unlock()
	settings := cat.Confirm
	s := &confirm.State{
		Holder: cat.Lock.Holder, Run: cat.Lock.Run, ID: id, First: a.First, Boot: settings.Boot, At: c.Now().UTC().Truncate(time.Second),
		Start: c.Confirms.Clock.Start, Until: c.Confirms.Clock.Since() + settings.Within, Within: settings.Within,
		Server: goodServer(ctx, c.Host) == nil,
	}
	if listens(settings.Port) {
		s.Port = settings.Port
	}
	if cat.Once != nil {
		s.Play = cat.Once.Play
	}
	if err := c.start(ctx, s); err != nil {
		return fmt.Errorf("not done, because %s, and without confirmation nothing would revert the change: %w", a.Why, err)
	}
	c.armed(a.First)
	return c.conn.Send(&wire.Message{Arm: &wire.Arm{Index: a.Index, Why: a.Why, Set: true}})
}

// start arms a state, and waits until the watchdog runs.
func (c *confirming) start(ctx context.Context, s *confirm.State) error {
	if s.Boot {
		if err := c.Confirms.Boot.Install(); err != nil {
			return err
		}
	}
	files := c.Confirms.Files
	err := files.Arm(s)
	if err == nil {
		err = files.Forget(s.ID)
	}
	if err == nil {
		err = c.startWatchdog(ctx)
	}
	if err == nil {
		// The wait may have taken long.
		return files.Push(s.ID, c.Confirms.Clock.Since()+s.Within)
	}
	// Nothing has been done yet that it would be about.
	_, verdictErr := files.Verdict(s.ID, confirm.Confirmed)
	if s.Boot {
		verdictErr = errors.Join(verdictErr, c.Confirms.Boot.Remove())
	}
	return errors.Join(err, verdictErr, files.Forget(""))
}

// How long a watchdog may take to begin its work.
const (
	watchdogStarts = time.Minute
	watchdogPoll   = 10 * time.Millisecond
)

// startWatchdog starts the watchdog, unless there is one, and waits until it runs.
func (s *Session) startWatchdog(ctx context.Context) error {
	files := s.Confirms.Files
	if files.Watched() {
		return nil
	}
	if err := s.Confirms.Start(); err != nil {
		return fmt.Errorf("the watchdog cannot be started: %w", err)
	}
	for began := time.Now(); !files.Watched(); {
		if time.Since(began) > watchdogStarts {
			return fmt.Errorf("the watchdog has not begun its work within %v", watchdogStarts)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(watchdogPoll):
		}
	}
	return nil
}

// errTakenBack ends a session whose changes are being taken back.
var errTakenBack = errors.New("changes of this run were not confirmed in time, and are being taken back")

// guard moves the deadline while there is progress: while the catalog runs and the controller sends messages. Once the
// changes are being reverted, it ends the session, which holds the lock.
func (c *confirming) guard(ctx context.Context) {
	select {
	case <-c.begun:
	case <-ctx.Done():
		return
	}
	var revived time.Time
	for {
		c.mu.Lock()
		id, working := c.id, c.working && c.cat != nil
		c.mu.Unlock()
		p, err := c.Confirms.Files.Phase(id)
		if err == nil && p == confirm.Armed && time.Since(revived) > reviveEvery && !c.Confirms.Files.Watched() {
			revived = time.Now()
			c.revive()
		}
		switch {
		case err != nil: // it is not known
		case p == confirm.Armed && working && c.hears():
			c.push()
		case p == confirm.Reverting:
			c.receiver.end(errTakenBack)
			c.receiver.kill(engine.ErrKilled)
			return
		}
		select {
		case <-time.After(guardPoll):
		case <-ctx.Done():
			return
		}
	}
}

// reviveEvery is the shortest time between two starts of a watchdog.
const reviveEvery = 5 * time.Second

// revive starts another watchdog after the first one died, and reports that. Without one, nothing would take the
// change back at its deadline.
func (c *confirming) revive() {
	var report wire.Watchdog
	if err := c.Confirms.Start(); err != nil {
		report.Error = clip(oneLine(err))
	}
	_ = c.conn.Send(&wire.Message{Watchdog: &report}) // if it fails, the connection is lost
}

// unconfirmed describes the armed change that is not confirmed, or nil.
func (c *confirming) unconfirmed() (*confirm.State, *wire.Unconfirmed, error) {
	files := c.Confirms.Files
	s, p, err := files.Pending()
	if s == nil || err != nil {
		return nil, nil, err
	}
	u := &wire.Unconfirmed{Run: s.Run, Holder: s.Holder, At: s.At, Left: files.Left(s, c.Confirms.Clock), Watchdog: wire.WatchdogEnded, Reverting: p == confirm.Reverting}
	if files.Watched() {
		u.Watchdog = wire.WatchdogRuns
	}
	if c.Past == nil {
		return s, u, nil
	}
	changes, damage, err := notes.ReadPast(c.Past, s.Run)
	u.More = err != nil || damage != "" // the state is reported without their names
	for _, change := range changes[min(max(s.First-1, 0), len(changes)):] {
		if change.Sensitive || len(u.Resources) == maxForetold {
			u.More = true
		} else if ref := clip(change.Ref()); !slices.Contains(u.Resources, ref) {
			u.Resources = append(u.Resources, ref)
		}
	}
	return s, u, nil
}

// report describes the armed change that is not confirmed, for a query, or "".
func (c *confirming) report() (string, error) {
	_, u, err := c.unconfirmed()
	if u == nil || err != nil {
		return "", err
	}
	text := u.String()
	if names := u.Names(); names != "" {
		text += " (" + names + ")"
	}
	if !u.At.IsZero() {
		text += "; armed at " + u.At.Format(time.RFC3339)
	}
	return text, nil
}

// foretell describes the armed change that is not confirmed, for a check run, or "". If the next applying run reverts
// it first, the check run predicts the host after that.
func (c *confirming) foretell(ctx context.Context) (string, error) {
	s, u, err := c.unconfirmed()
	switch {
	case u == nil || err != nil:
		return "", err
	case u.Watchdog == wire.WatchdogRuns && (u.Reverting || u.Left > 0):
		return u.String(), nil
	}
	return c.foretellRevert(ctx, s, u.String())
}

// foretellRevert predicts that the changes of a state are taken back, for the catalogs of the session.
func (c *confirming) foretellRevert(ctx context.Context, s *confirm.State, what string) (string, error) {
	const unknown = "; what that changes cannot be predicted: "
	cat := &wire.Catalog{Check: true, Undo: &wire.Undo{Run: s.Run, Maybe: true}}
	c.engine.Unconfirmed = &engine.Unconfirmed{First: s.First}
	defer func() { c.engine.Unconfirmed = nil }()
	if err := c.engine.TakeBack(cat); err != nil {
		return what + unknown + oneLine(err), nil
	}
	if lacks := c.lacks(cat); lacks != "" {
		return what + unknown + "type " + lacks + " needs the full host program", nil
	}
	var refs []string
	_, err := c.engine.Run(ctx, cat, func(r *wire.Result) error {
		if e := &cat.Entries[r.Index]; r.Status == wire.Changed && !e.Sensitive && len(refs) < maxForetold {
			refs = append(refs, clip(e.Ref()))
		}
		return nil
	})
	if len(refs) > 0 {
		what += " (" + strings.Join(refs, ", ") + "), and the predictions are made for the host after that"
	}
	return what, err
}

// maxForetold bounds the resources in a warning about an armed change.
const maxForetold = 20

// hears reports whether the controller sends messages: without them the run makes no progress, even while a resource is
// applied. A controller that has closed the connection is not silent.
func (c *confirming) hears() bool {
	return !c.receiver.gone() && c.silent() < wire.PingInterval(c.IdleTimeout)*3/2
}

// errAwaits reports that changes of another run await their confirmation. Waiting helps.
type errAwaits struct{ text string }

func (e *errAwaits) Error() string { return e.text }
func (e *errAwaits) Unwrap() error { return wire.ErrLocked }

// errReverted reports that the changes were reverted, so there is nothing to continue.
type errReverted struct{ why string }

func (e *errReverted) Error() string { return "the host has reverted the changes: " + e.why }

// revertTakes is the least time that a run waits for a revert in progress.
const revertTakes = 2 * time.Minute

// clear waits until all unconfirmed changes belong to this catalog, which continues them. Changes whose deadline has
// passed are reverted first.
func (c *confirming) clear(ctx context.Context, cat *wire.Catalog) error {
	files := c.Confirms.Files
	if cat.Confirm != nil {
		if r, err := files.Of(confirm.ID(cat.Confirm.Nonce)); err == nil && r != nil {
			return &errReverted{r.Why}
		}
	}
	for began := time.Now(); ; {
		s, p, err := files.Pending()
		if s == nil || err != nil {
			return err
		}
		left := files.Left(s, c.Confirms.Clock)
		own := cat.Confirm != nil && confirm.ID(cat.Confirm.Nonce) == s.ID && cat.Lock.Run == s.Run
		ends, text := cat.Lock.Wait, fmt.Sprintf("%v: changes of %s, run %s, await their confirmation for %v more", wire.ErrLocked, s.Holder, s.Run, left.Round(time.Second))
		if p == confirm.Reverting || left <= 0 {
			own, ends = false, max(ends, revertTakes)
			text = fmt.Sprintf("%v: unconfirmed changes of %s, run %s, are being reverted", wire.ErrLocked, s.Holder, s.Run)
			if !files.Watched() {
				if err := c.startWatchdog(ctx); err != nil {
					return fmt.Errorf("unconfirmed changes of %s, run %s, must be reverted first: %w", s.Holder, s.Run, err)
				}
			}
		}
		if own {
			if err := c.startWatchdog(ctx); err != nil {
				return err
			}
			c.armed(s.First)
			return nil
		}
		if c.free != nil || time.Since(began) >= ends {
			return &errAwaits{text}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.receiver.stopping:
			return engine.ErrKilled
		case <-time.After(clearPoll):
		}
	}
}

const clearPoll = 100 * time.Millisecond

// prove answers a proof.
func (c *confirming) prove(ctx context.Context, nonce string) *wire.Confirmed {
	answer := &wire.Confirmed{Nonce: nonce, State: wire.StateUnknown}
	if c.Confirms == nil {
		return answer
	}
	if err := c.decide(ctx, confirm.ID(nonce), answer); err != nil {
		answer.Error = oneLine(err)
	}
	return answer
}

func (c *confirming) decide(ctx context.Context, id string, answer *wire.Confirmed) error {
	files := c.Confirms.Files
	s, p, err := files.Pending()
	if err != nil {
		return err
	}
	if s != nil && s.ID == id && p == confirm.Armed {
		verdict := confirm.Confirmed
		if files.Left(s, c.Confirms.Clock) <= 0 { // the watchdog has died
			verdict = confirm.Reverting
		}
		if _, err := files.Verdict(id, verdict); err != nil {
			return err
		}
	}
	if p, err = files.Phase(id); err != nil {
		return err
	}
	switch p {
	case confirm.Confirmed:
		answer.State = wire.StateConfirmed
		if s != nil && s.Boot {
			return c.Confirms.Boot.Remove()
		}
	case confirm.Reverting:
		answer.State = wire.StateReverting
		return c.startWatchdog(ctx)
	default:
		if answer.Reverted, err = files.Of(id); answer.Reverted != nil {
			answer.State = wire.StateReverted
		}
	}
	return err
}

// tellReverted reports reverted changes.
func (s *serving) tellReverted(out *outbox) error {
	all, _ := s.Confirms.Files.Untold() // unreadable ones are not reported
	for _, r := range all {
		if err := out.put(&wire.Message{Reverted: r}); err != nil {
			return err
		}
	}
	return nil
}

// arm has the controller try a second login.
func (q *questions) arm(ctx context.Context, m *wire.Arm) (*wire.Armed, error) {
	answer, err := q.ask(ctx, question{arming, m.Index}, &wire.Message{Arm: m}, q.stopping)
	if err != nil {
		return nil, err
	}
	return cmp.Or(answer.Armed, &wire.Armed{Error: "no answer"}), nil
}
