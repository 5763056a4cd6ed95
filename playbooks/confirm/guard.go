package confirm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/activity"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/session"
	"github.com/ccm-push/ccm-push/transport"
)

// A Host is the host that a guard guards.
type Host interface {
	// Login logs in like the play, and starts a host program. It shares no connection, not even to jump hosts. A nil function
	// only logs in; any other one uses the session.
	Login(ctx context.Context, target transport.Target, then func(*session.Session) error) error
	// Moved notes where the host is reached from now on.
	Moved(to transport.Target)
	// Connected reports whether the play has a connection to the host. Close closes it.
	Connected() bool
	Close()
}

// Progress tracks the catalog of the host.
type Progress interface {
	// Entry returns an entry of the catalog.
	Entry(index int) *wire.Entry
	// Unfinished names a resource that depends on a change, from the entry first on, and was not applied; "" means none.
	Unfinished(first int) string
	// Rest returns the entries without a result.
	Rest() events.Rest
}

// A Guard makes sure that one play does not lock anyone out of one host. Before the first change that concerns how the host is
// reached, the guard proves that a second login works. The host reverts everything from there on by itself, unless the guard
// logs in over a new connection after the play. A nil Guard guards nothing.
type Guard struct {
	Host     Host
	Progress Progress
	Events   *events.Stream
	Activity *activity.Host
	Stop     <-chan struct{}  // closed by the first signal
	Now      func() time.Time // clock of events
	// Reason returns the text of an event for an error of the host, and a hint.
	Reason func(err error) (text, hint string)

	Play, Name  string // names of the play and of the host
	Run, Holder string // id of the run, and its operator
	Confirm     manifest.Confirm
	Login       string            // login user
	Become      string            // user of the host program; "" means Login
	Nonce       string            // secret that the host knows the guard by
	Was         *transport.Target // address that the play dials; nil means the address in the inventory
	Before      transport.Target  // the same, resolved
	Via         []manifest.Via    // ways to log in after the play; none means Before

	mu    sync.Mutex
	first int       // entry with the first such change
	armed bool      // the host reverts unconfirmed changes
	gone  time.Time // when its connection was last lost
	loss  error     // why
}

// ErrReverted ends a play on a host that has reverted its changes, after its report.
var ErrReverted = errors.New("the host has reverted its changes because they were not confirmed")

// An Unknown is why it is not known whether a host keeps its changes.
type Unknown struct{ text string }

func (u *Unknown) Error() string { return u.text }

const (
	// settling is the time before the login to a changed host: a reloading sshd accepts connections with its old
	// configuration for a moment.
	settling = 2 * time.Second
	// firstProof and longestProof bound the wait between logins that confirm a change. The wait doubles each time.
	firstProof   = 250 * time.Millisecond
	longestProof = 2 * time.Second
	// MaxRefused limits refused logins: after more of them the host could ban the controller, for which it reverts no change.
	MaxRefused = 2
	// reverting limits the wait for a host that reverts its changes.
	reverting = 45 * time.Second
)

// within returns how long the host waits before it reverts.
func (g *Guard) within() time.Duration {
	return cmp.Or(g.Confirm.Within, manifest.DefaultConfirmWithin)
}

// Request returns the part of a catalog about changes that must be confirmed; nil means none.
func (g *Guard) Request(c *wire.Catalog) *wire.Confirm {
	if g == nil || c.Lock == nil && !c.Check {
		return nil
	}
	asked := &wire.Confirm{
		Mode: cmp.Or(g.Confirm.Mode, wire.ConfirmAuto), Within: g.within(), Boot: g.Confirm.Boot, Nonce: g.Nonce,
		Login: g.Login, Become: g.Become,
	}
	if g.Before.ProxyCommand == "" {
		asked.Port = g.Before.TCPPort()
	}
	return asked
}

// Arm proves that a second login works, before the first change that it could keep from working.
func (g *Guard) Arm(ctx context.Context, index int, why string) error {
	defer g.Activity.Pin("proving a second login")()
	_, err := g.ways()
	if err == nil {
		err = g.Host.Login(ctx, g.Before, nil)
	}
	if err != nil {
		text, hint := g.Reason(err)
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

// ReportArmed reports that the host has armed itself.
func (g *Guard) ReportArmed(index int, why string) {
	entry := g.Progress.Entry(index)
	g.Events.Report(events.Armed{
		Play: g.Play, Host: g.Name, Type: entry.Type, Name: entry.Name, Alias: entry.Alias, Why: why, Within: g.within(),
	})
}

// Watchdog returns a function that reports that the watchdog of a host has ended. The session keeps the function,
// so it must not keep the guard and its catalog.
func Watchdog(stream *events.Stream, play, host string) func(*wire.Watchdog) {
	return func(w *wire.Watchdog) {
		stream.Report(events.Watchdog{Play: play, Host: host, Error: w.Error})
	}
}

// Awaits notes how long the host waits from the end of a catalog on; 0 means that it waits for no confirmation, because it could not
// arm itself, for example.
func (g *Guard) Awaits(within time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.armed = within > 0
}

// RevertedEvent returns the event for changes that a host has reverted. run is the id of the run that reports it; "" means
// the run that made the changes.
func RevertedEvent(play, host string, r *wire.Reverted, run string) events.Reverted {
	e := events.Reverted{Play: play, Host: host, Holder: r.Holder, At: r.At, Why: r.Why, More: r.More, Error: r.Error}
	if run != "" && r.Run != run {
		e.Earlier = r.Run
	}
	for _, one := range r.Results {
		e.Results = append(e.Results, events.UntoldResult{Type: one.Type, Name: one.Name, Status: events.Status(one.Status), Message: one.Message, Error: one.Error})
	}
	return e
}

// Settle confirms the changes of the host after its play, also after a failed one: err is its error. If changes cannot be
// confirmed, Settle waits until the host has reverted them, reports that, and returns ErrReverted.
func (g *Guard) Settle(ctx context.Context, err error) error {
	if g == nil {
		return err
	}
	g.mu.Lock()
	armed, gone, loss := g.armed, g.gone, g.loss
	g.mu.Unlock()
	if !armed {
		return err
	}
	ended := time.Now()
	late := ended.Add(g.within() + settling)
	why := g.Progress.Unfinished(g.first)
	refused, isRefused := errors.AsType[session.Refused](err)
	switch {
	case isRefused && refused.Phase == Phase: // it has given up waiting
		why, late = cmp.Or(loss, err).Error(), ended
	case loss != nil && !g.Host.Connected(): // it was dialled again, and has not come back
		why, late = loss.Error(), gone.Add(g.within()+settling)
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

// lose waits until a host has reverted unconfirmed changes, and reports that. It contacts the host only after late: the host would
// take an earlier login for a confirmation. was is the error of the play.
func (g *Guard) lose(ctx context.Context, late time.Time, why string, was error) error {
	g.Host.Close() // so that nothing holds the lock of the host
	defer g.Activity.Pin("waiting until changes are taken back")()
	end := late.Add(reverting)
	last := errors.New("the host was not contacted yet")
	for wait := time.Until(late); time.Now().Before(end); wait = time.Second {
		select {
		case <-time.After(wait):
		case <-g.Stop:
			return g.given("the run was interrupted: " + why)
		case <-ctx.Done():
			return g.given(interruption(ctx) + ": " + why)
		}
		timed, cancel := context.WithDeadline(ctx, end)
		state, err := g.query(timed, why)
		cancel()
		switch {
		case err != nil:
			last = err
		case state == wire.StateReverting:
			last = errors.New("it is still at it")
		case state == wire.StateReverted:
			return ErrReverted
		case state == wire.StateConfirmed: // it has counted later than we have
			return was
		default:
			return g.failed(why + "; the host knows of no change that waits to be confirmed")
		}
	}
	text, _ := g.Reason(last)
	return g.given(why + "; how that has ended is not known: " + text)
}

// query logs in to a host over its old way, gets the state of its changes, and reports reverted ones.
func (g *Guard) query(ctx context.Context, why string) (state wire.ConfirmState, err error) {
	began := time.Now()
	err = g.Host.Login(ctx, g.Before, func(s *session.Session) error {
		answer, err := s.Prove(ctx, g.Nonce)
		if err != nil {
			return err
		}
		switch state = answer.State; state {
		case wire.StateConfirmed:
			g.Events.Report(events.Confirmed{Play: g.Play, Host: g.Name, Over: []string{g.Before.Addr()}, Duration: time.Since(began)})
		case wire.StateReverted:
			told := answer.Reverted
			if told == nil {
				told = &wire.Reverted{Run: g.Run, Holder: g.Holder, At: g.Now(), Why: "it was not confirmed in time"}
			}
			e := RevertedEvent(g.Play, g.Name, told, "")
			e.Because, e.Rest = why, g.Progress.Rest()
			g.Events.Report(e)
			if answer.Reverted != nil && g.Events.Sync() {
				s.Forget(answer.Reverted)
			}
		}
		return nil
	})
	return state, err
}

// Phase is the phase of a host if it is unknown whether the host keeps its changes.
const Phase = "confirm"

// given returns the error of a host that decides by itself.
func (g *Guard) given(why string) error {
	return g.failed(fmt.Sprintf("%s; the host reverts its changes by itself %s after the last progress, and reports that to the next run", why, g.within()))
}

func (g *Guard) failed(text string) error { return &Unknown{text} }

// interruption returns the reason for the end of a context.
func interruption(ctx context.Context) string {
	if late := session.Overdue(ctx); late != nil {
		return late.Error()
	}
	return "killed"
}
