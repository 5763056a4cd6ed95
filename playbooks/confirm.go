package playbooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/session"
	"github.com/ccm-push/ccm-push/transport"
)

// A guard sees to it that one play does not lock anyone out of one host. The host asks it before its
// first change that touches how it is reached, and takes everything from there on back by itself
// unless the guard comes over a new connection when the play is through. nil guards nothing.
type guard struct {
	*stages
	full   bool // the host program is the full one
	nonce  string
	within time.Duration
	was    *transport.Target // where the host is dialled; nil is as the inventory says
	before transport.Target  // the same
	via    []manifest.Via

	mu    sync.Mutex
	first int       // the entry with the first such change
	armed bool      // the host takes back what is not confirmed, as far as is known
	gone  time.Time // when its connection was last lost
	loss  error     // of it
}

const (
	// settling is how long a changed host is left alone before it is logged in to: an sshd that was
	// told to reload takes connections with its old configuration for a moment.
	settling = 2 * time.Second
	// firstProof and longestProof are the waits between logins that are to confirm a change, each of
	// which is twice the one before, and mostRefused how many logins may be refused: more of them
	// could have the host ban the controller, for which nothing takes back a change.
	firstProof   = 250 * time.Millisecond
	longestProof = 2 * time.Second
	mostRefused  = 2
	// reverting is how long a host is waited for that takes its changes back.
	reverting = 45 * time.Second
)

// errTakenBack is why a host is done with a play: it has said that it has taken its changes back.
var errTakenBack = errors.New("the host has reverted its changes because they were not confirmed")

// newGuard gives that of a play on a host, whose first catalog is compiled.
func newGuard(g *stages) *guard {
	play, state := g.of.play, g.state
	if g.runner.lock(g.of.mode) == nil || play.NoHistory || state.controller || state.conn.Local {
		return nil
	}
	return &guard{
		stages: g, full: g.program.full, nonce: g.runner.NewNonce(), was: state.over, before: state.client.Target(), via: g.compiled.Via,
		within: cmp.Or(play.Confirm.Within, manifest.DefaultConfirmWithin),
	}
}

// asks is what a catalog says of changes that have to be confirmed; nil is nothing.
func (g *guard) asks(c *wire.Catalog) *wire.Confirm {
	if g == nil || c.Lock == nil {
		return nil
	}
	confirm := g.of.play.Confirm
	become, user := g.runsAs()
	asked := &wire.Confirm{
		Mode: cmp.Or(confirm.Mode, wire.ConfirmAuto), Within: g.within, Boot: confirm.Boot, Nonce: g.nonce,
		Login: g.runner.Connect.Login(*g.state.conn),
	}
	if become != nil {
		asked.Become = user
	}
	if g.before.ProxyCommand == "" {
		asked.Port = g.before.TCPPort()
	}
	return asked
}

// arm proves that a second login works, before the first change that it could keep from working.
func (g *guard) arm(ctx context.Context, index int, why string) error {
	defer g.state.activity.Pin("proving a second login")()
	_, err := g.ways()
	if err == nil {
		err = g.logIn(ctx, g.before, nil)
	}
	if err != nil {
		text, hint := g.reason(err)
		if hint != "" {
			text += "\n  hint: " + hint
		}
		return errors.New(text)
	}
	g.mu.Lock()
	g.first, g.armed = index, true
	g.mu.Unlock()
	return nil
}

// reportArmed reports that the host has armed itself.
func (g *guard) reportArmed(index int, why string) {
	entry := &g.progress.catalog.Entries[index]
	g.runner.Events.Report(events.Armed{
		Play: g.of.play.Name, Host: g.state.host.Name, Type: entry.Type, Name: entry.Name, Alias: entry.Alias, Why: why, Within: g.within,
	})
}

// reportWatchdog returns a function that reports that the watchdog of a host has ended. The session keeps the function,
// so it must not keep the guard and its catalog.
func (r *Runner) reportWatchdog(play, host string) func(*wire.Watchdog) {
	return func(w *wire.Watchdog) {
		r.Events.Report(events.Watchdog{Play: play, Host: host, Error: w.Error})
	}
}

// awaits is told how long the host waits, from the end of a catalog on; 0 if nothing awaits that it is
// confirmed, as when the host could not arm itself.
func (g *guard) awaits(within time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.armed = within > 0
}

// revertedEvent is the event for what a host has taken back. run is the id of the run that tells it; ""
// is the one whose changes these were.
func revertedEvent(play, host string, r *wire.Reverted, run string) events.Reverted {
	e := events.Reverted{Play: play, Host: host, Holder: r.Holder, At: r.At, Why: r.Why, More: r.More, Error: r.Error}
	if run != "" && r.Run != run {
		e.Earlier = r.Run
	}
	for _, one := range r.Results {
		e.Results = append(e.Results, events.UntoldResult{Type: one.Type, Name: one.Name, Status: events.Status(one.Status), Message: one.Message, Error: one.Error})
	}
	return e
}

// settle confirms what the host has changed, once its play has ended, however that was: err is the
// error of it. What cannot be confirmed it waits for until the host has taken it back: the error is then
// errTakenBack, which has been reported.
func (g *guard) settle(ctx context.Context, err error) error {
	if g == nil {
		return err
	}
	defer func() { g.state.guard = nil }()
	g.mu.Lock()
	armed, gone, loss := g.armed, g.gone, g.loss
	g.mu.Unlock()
	if !armed {
		return err
	}
	ended := time.Now()
	late := ended.Add(g.within + settling)
	why := g.unfinished()
	refused, isRefused := errors.AsType[session.Refused](err)
	switch {
	case isRefused && refused.Phase == phaseConfirm: // it has given up waiting
		why, late = cmp.Or(loss, err).Error(), ended
	case loss != nil && g.state.client == nil: // it was dialled again, and has not come back
		why, late = loss.Error(), gone.Add(g.within+settling)
	case err != nil && why == "":
		why = "the play did not finish: " + err.Error()
	}
	if why == "" {
		var verdict wire.ConfirmState
		switch verdict, why, err = g.confirm(ctx, ended); {
		case err != nil, verdict == wire.StateConfirmed:
			return err
		case verdict != "": // the host has given up waiting
			late = time.Now()
		}
	}
	return g.lose(ctx, late, why, err)
}

// unfinished names what a change that is to be confirmed is not in force without: what follows it, and
// was not brought about. That would come in a later run, when nothing is kept any more that could be
// taken back. It is "" if there is none.
func (g *guard) unfinished() string {
	p := g.progress
	p.grow()
	for i := g.first; i < len(p.catalog.Entries); i++ {
		e := &p.catalog.Entries[i]
		if e.Check || e.Excluded || e.Hidden || p.brought[i] {
			continue
		}
		for _, of := range e.Subscribe {
			if of >= g.first && p.hasChanged(of) {
				return e.Ref() + " depends on a change that has to be confirmed, and was not applied"
			}
		}
	}
	return ""
}

// lose waits until a host has taken back what could not be confirmed, and reports that. Before it is
// late enough the host is not asked: it would take that for a confirmation. was is the error that the
// play has ended with.
func (g *guard) lose(ctx context.Context, late time.Time, why string, was error) error {
	g.state.close() // so that nothing holds the lock of the host
	defer g.state.activity.Pin("waiting until changes are taken back")()
	end := late.Add(reverting)
	last := errors.New("the host was not contacted yet")
	for wait := time.Until(late); time.Now().Before(end); wait = time.Second {
		select {
		case <-time.After(wait):
		case <-g.stop:
			return g.given("the run was interrupted: " + why)
		case <-ctx.Done():
			return g.given(interruption(ctx) + ": " + why)
		}
		timed, cancel := context.WithDeadline(ctx, end)
		state, err := g.ask(timed, why)
		cancel()
		switch {
		case err != nil:
			last = err
		case state == wire.StateReverting:
			last = errors.New("it is still at it")
		case state == wire.StateReverted:
			return errTakenBack
		case state == wire.StateConfirmed: // it has counted later than we have
			return was
		default:
			return g.failed(why + "; the host knows of no change that waits to be confirmed")
		}
	}
	text, _ := g.reason(last)
	return g.given(why + "; how that has ended is not known: " + text)
}

// ask asks a host, by the way that it had before, what has become of its changes, and reports what it
// has taken back.
func (g *guard) ask(ctx context.Context, why string) (state wire.ConfirmState, err error) {
	r, name := g.runner, g.state.host.Name
	began := time.Now()
	err = g.logIn(ctx, g.before, func(s *session.Session) error {
		answer, err := s.Prove(ctx, g.nonce)
		if err != nil {
			return err
		}
		switch state = answer.State; state {
		case wire.StateConfirmed:
			r.Events.Report(events.Confirmed{Play: g.of.play.Name, Host: name, Over: []string{g.before.Addr()}, Duration: time.Since(began)})
		case wire.StateReverted:
			told := answer.Reverted
			if told == nil {
				told = &wire.Reverted{Run: r.Options.Run, Holder: r.Options.Holder, At: r.Now(), Why: "it was not confirmed in time"}
			}
			e := revertedEvent(g.of.play.Name, name, told, "")
			e.Because, e.Rest = why, g.progress.Rest()
			r.Events.Report(e)
			if answer.Reverted != nil && r.Events.Sync() {
				s.Forget(answer.Reverted)
			}
		}
		return nil
	})
	return state, err
}

// phaseConfirm is that of a host of which it is not known whether it keeps its changes.
const phaseConfirm = "confirm"

// given is the error of a host that is left to decide by itself.
func (g *guard) given(why string) error {
	return g.failed(fmt.Sprintf("%s; the host reverts its changes by itself %s after the last progress, and reports that to the next run", why, g.within))
}

func (g *guard) failed(text string) error {
	return &phaseError{phase: phaseConfirm, rest: g.progress.Rest(), err: errors.New(text)}
}

// interruption says what has ended a context.
func interruption(ctx context.Context) string {
	if late := session.Overdue(ctx); late != nil {
		return late.Error()
	}
	return "killed"
}
