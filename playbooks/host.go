package playbooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/transport"
)

// hostState is one host during a run. Between plays it may keep its connection
// and one host program per user that the program runs as.
type hostState struct {
	host   *inventory.Host
	plays  []*selection // still to come, the current one first
	begun  bool
	done   bool
	failed bool // it enters no further play
	// interrupted says that it is told to have been.
	interrupted bool
	held        bool // it has a place among the kept connections
	elapsed     time.Duration
	phases      events.Phases
	conn        *inventory.Connection // what the inventory says; nil until it is asked for
	login       string                // who logs in; "" until it is asked for
	client      *transport.Client
	sessions    map[string]*session // by the user the program runs as
	foretold    []*session          // in a check run: those that have foretold a change
	compiled    *catalog.Compiled   // for the play that follows, if that was made ahead
}

// close gives the host up. The connection goes first: only that ends a write to
// a host that takes nothing.
func (s *hostState) close() {
	if s.client != nil {
		s.client.Close()
	}
	for _, one := range s.sessions {
		one.end(io.EOF)
		one.work.Wait()
	}
	s.client, s.sessions, s.conn = nil, nil, nil
}

// dead reports whether what was kept from an earlier play has ended meanwhile.
func (s *hostState) dead() bool {
	if s.client == nil {
		return false
	}
	select {
	case <-s.client.Done():
		return true
	default:
	}
	for _, one := range s.sessions {
		select {
		case <-one.over:
			return true
		default:
		}
	}
	return false
}

// unknownTo says what a session does not know of that would have changed the
// host in a check run: what another one foretold. "" is nothing.
func (s *hostState) unknownTo(sess *session, check bool) string {
	if check && slices.ContainsFunc(s.foretold, func(other *session) bool { return other != sess }) {
		return "an earlier play"
	}
	return ""
}

// errNoFull is why a host cannot be given a play that an incomplete folder of host
// programs does not suffice for.
var errNoFull = errors.New("a resource needs the full host program, and this ccm-push has only lean ones: build it with make, or give a complete folder with --module-dir")

// errStopped is why a host is not worked on any more: the run was interrupted.
var errStopped = errors.New("the run was interrupted")

// A stoppedError is errStopped with what was not reached.
type stoppedError struct{ rest events.Rest }

func (*stoppedError) Error() string { return errStopped.Error() }
func (*stoppedError) Unwrap() error { return errStopped }

// work takes one host through one play. One on which an interrupted run has not
// begun counts as not started; one that was killed without an answer has failed,
// because nobody knows what it did.
func (f *fleet) work(ctx context.Context, s *selection, state *hostState) {
	start := f.Now()
	f.take(state)
	f.ended(ctx, s, state, start, f.playOn(ctx, s, state))
}

// take gives back the place of a host among the kept connections.
func (f *fleet) take(state *hostState) {
	if state.held {
		state.held = false
		f.unhold()
	}
}

// leave keeps the connection of a host that is not done, if there is a place.
func (f *fleet) leave(state *hostState) {
	if f.hold() {
		state.held = true
	} else {
		state.close()
	}
}

// ended tells how a host that was worked on since start has ended a play.
func (f *fleet) ended(ctx context.Context, s *selection, state *hostState, start time.Time, err error) {
	f.exchange.over(s, state.host.Name)
	state.plays = state.plays[1:]
	state.elapsed += f.Now().Sub(start)
	untouched := !state.begun && (errors.Is(err, errStopped) || f.interrupted(ctx) && errors.Is(err, context.Canceled))
	stopped, isStopped := errors.AsType[*stoppedError](err)
	switch {
	case err == nil, untouched:
	case isStopped:
		state.interrupted = true
		f.Events.Report(events.Interrupted{Play: s.play.Name, Host: state.host.Name, Rest: stopped.rest})
	default:
		state.failed, state.begun = true, true
		f.Events.Report(failure(s.play.Name, state.host.Name, err))
	}
	last := !untouched && (state.failed || len(state.plays) == 0)
	if !last {
		f.leave(state)
		return
	}
	state.close()
	f.hostDone(state)
}

// phase begins a phase; what it returns ends it and adds its time to spent.
func (f *fleet) phase(spent *time.Duration) (ends func()) {
	began := f.Now()
	return func() { *spent += f.Now().Sub(began) }
}

// playOn compiles and applies the play. An error means that the host failed as a
// whole; failed resources are only noted.
func (f *fleet) playOn(ctx context.Context, s *selection, state *hostState) error {
	sess, compiled, err := f.ready(ctx, s, state)
	if err != nil {
		return err
	}
	sess.semaphores, sess.trade = &f.semaphores, f.exchange.trade(s, state.host.Name, compiled)
	compiled.Catalog.Check = f.Options.Check
	compiled.Catalog.Monitor = f.Options.Monitor
	compiled.Catalog.Diff = f.Options.Diff
	compiled.Catalog.Lock = f.lock()
	tellOthers(&compiled.Catalog, state.plays)
	var pending []events.Event // of results that have come together
	flush := func() {
		f.Events.Report(pending...)
		pending = nil
	}
	tell := func(kind events.MessageKind, text string) {
		pending = append(pending, events.Message{Play: s.play.Name, Host: state.host.Name, Kind: kind, Text: text})
	}
	if compiled.Pre != "" {
		tell(events.Pre, compiled.Pre)
		flush()
	}
	if f.interrupted(ctx) {
		return &stoppedError{}
	}
	state.begun = true
	compiled.Catalog.Earlier = state.unknownTo(sess, f.Options.Check)
	notes := &nestedNotes{next: compiled.Notes, report: func(kind events.MessageKind, text string) {
		if kind == events.Pre || f.applies() {
			tell(kind, text)
		}
	}}
	progress := newProgress(&compiled.Catalog)
	defer f.phase(&state.phases.Apply)()
	whole, err := sess.apply(ctx, f.stop, compiled, func(r *modules.Result) {
		progress.note(r)
		notes.before(r)
		pending = append(pending, result(s.play.Name, state.host.Name, &compiled.Catalog, r))
		notes.after(r)
	}, flush)
	if err != nil {
		return lostOr(err, sess, progress.rest())
	}
	if state.failed = progress.failed; progress.would && f.Options.Check {
		state.foretold = append(state.foretold, sess)
	}
	if !whole {
		return &stoppedError{progress.rest()}
	}
	if f.applies() && !progress.failed && compiled.Post != "" {
		tell(events.Post, compiled.Post)
		flush()
	}
	return nil
}

// ready gives the host program that suffices for a play, and the catalog. What is left
// of the host's time for the play is noted in the session.
func (f *fleet) ready(ctx context.Context, s *selection, state *hostState) (*session, *catalog.Compiled, error) {
	timed, done := f.hostTime(ctx)
	defer done()
	sess, compiled, err := f.compiled(timed, s, state)
	if err == nil && compiled.NeedsFull && !sess.full {
		sess, err = f.upgrade(timed, s.play, state, sess)
	}
	if err != nil {
		return nil, nil, late(timed, err)
	}
	end, _ := timed.Deadline() // it has one
	sess.hostTime = hostTime{limit: cmp.Or(f.Options.Deadlines.Host, defaultHostTime), left: time.Until(end)}
	return sess, compiled, nil
}

func compile(ctx context.Context, c *catalog.Compiler, h *inventory.Host, facts map[string]any) (*catalog.Compiled, error) {
	ctx, cancel := context.WithTimeout(ctx, compileTime)
	defer cancel()
	return c.Compile(ctx, catalog.Host{Name: h.Name, Facts: facts, Vars: h.Vars()})
}

// session gives the host program for the user that the play runs as: the one
// that is kept, or a new one.
func (f *fleet) session(ctx context.Context, play *manifest.Play, state *hostState) (*session, error) {
	become, user := f.worker(play, state)
	if state.dead() { // it had nothing to do when it died, so nothing is lost
		state.close()
	}
	if kept := state.sessions[user]; kept != nil {
		return kept, nil
	}
	if state.client == nil {
		client, err := f.connect(ctx, state)
		if err != nil {
			return nil, err
		}
		state.client = client
	}
	defer f.phase(&state.phases.Start)()
	sess, err := f.start(ctx, state.host.Name, state.client, become, collectors(state.plays), f.needsFull(state, user))
	if err != nil {
		return nil, err
	}
	if state.sessions == nil {
		state.sessions = map[string]*session{}
	}
	state.sessions[user] = sess
	return sess, nil
}

// worker is who the host program runs as in a play, and how it gets there.
func (f *fleet) worker(play *manifest.Play, state *hostState) (become *transport.Become, user string) {
	if state.conn == nil {
		conn := state.host.Connection()
		state.conn = &conn
	}
	if become = f.Connect.become(play, *state.conn); become != nil {
		return become, become.User
	}
	if state.login == "" {
		state.login = f.Connect.login(*state.conn)
	}
	return nil, state.login
}

// needsFull reports whether it is known that a play still to come, for which the
// host program runs as that user, needs the full one. The others are found out
// when they are compiled.
func (f *fleet) needsFull(state *hostState, user string) bool {
	return slices.ContainsFunc(state.plays, func(s *selection) bool {
		if !s.compiler.NeedsFull() {
			return false
		}
		_, of := f.worker(s.play, state)
		return of == user
	})
}

// upgrade ends the lean host program, so that it holds no lock, and starts the
// full one on the same connection. The facts stay those that the play was
// compiled with.
func (f *fleet) upgrade(ctx context.Context, play *manifest.Play, state *hostState, lean *session) (*session, error) {
	defer f.phase(&state.phases.Start)()
	if err := lean.finish(ctx); err != nil {
		return nil, err
	}
	become, user := f.worker(play, state)
	delete(state.sessions, user)
	full, err := f.start(ctx, state.host.Name, state.client, become, nil, true)
	if err != nil {
		return nil, err
	}
	full.facts = lean.facts
	state.sessions[user] = full
	return full, nil
}

// connect dials a host unless the run shall end before that is done: there is no
// resource yet to wait for.
func (f *fleet) connect(ctx context.Context, state *hostState) (*transport.Client, error) {
	defer f.phase(&state.phases.Connect)()
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-f.stop:
			cancel()
		case <-ctx.Done():
		}
	})
	client, err := f.dial(ctx, state.host)
	stopped := errors.Is(err, context.Canceled) && f.interrupted(ctx)
	cancel()
	watching.Wait()
	if stopped {
		return nil, &stoppedError{}
	}
	return client, err
}

func (r *Runner) dial(ctx context.Context, h *inventory.Host) (*transport.Client, error) {
	target, err := r.target(h)
	if err != nil {
		return nil, err
	}
	return r.Dialer.Dial(ctx, target)
}

// start starts the lean or the full host program and takes its greeting apart.
func (r *Runner) start(ctx context.Context, host string, client *transport.Client, become *transport.Become, collectors []string, full bool) (*session, error) {
	builds := r.Builds
	if full {
		if builds = r.FullBuilds; len(builds) == 0 {
			return nil, &phaseError{phase: "install", err: errNoFull}
		}
	}
	nonce := r.NewNonce()
	wanted := r.Options.Deadlines.wanted(collectors)
	process, err := client.StartModule(ctx, transport.Start{
		Nonce: nonce, Greeting: modules.Greeting(nonce), Facts: wanted, Builds: builds, Become: r.Options.Deadlines.escalated(become),
		Timeout: r.Options.Deadlines.start(),
	})
	if err != nil {
		return nil, err
	}
	hello, err := modules.ParseHello(process.Hello())
	if err != nil {
		process.Close()
		return nil, &phaseError{phase: "protocol", err: err}
	}
	if hello.Build != r.BuildID {
		process.Close()
		return nil, &phaseError{phase: "start", err: breach("the host runs build %.64q, this is %q", hello.Build, r.BuildID)}
	}
	facts, partial, err := decodeFacts(hello.Facts)
	if err != nil {
		process.Close()
		return nil, &phaseError{phase: "facts", err: err}
	}
	for _, p := range partial {
		r.Connect.warn(fmt.Sprintf("%s: facts are incomplete: %.200q", host, p))
	}
	sess := newSession(ctx, process, r.Now)
	sess.facts, sess.full = facts, full
	sess.resourceTime = cmp.Or(r.Options.Deadlines.Resource, defaultResourceTime)
	return sess, nil
}

// A phaseError is the failure of a host as a whole, with the phase of its
// host_failed event and, once it had a catalog, what it has not told of that.
type phaseError struct {
	phase string
	err   error
	rest  events.Rest
}

func (e *phaseError) Error() string { return e.err.Error() }
func (e *phaseError) Unwrap() error { return e.err }

// unreported says which resource of a host that is lost was next, since nobody
// knows what became of it.
func unreported(r events.Rest) string {
	switch r.NotReached {
	case 0:
		return "every resource had been reported"
	case 1:
		return fmt.Sprintf("nothing is known of %s, the last resource", r.Next)
	}
	return fmt.Sprintf("nothing is known of %s and what follows it: %d resources", r.Next, r.NotReached)
}

// lostOr names the phase of an error that ended a session; rest is what is
// missing then.
func lostOr(err error, s *session, rest events.Rest) error {
	refused, isRefused := errors.AsType[refusedError](err)
	_, isBreach := errors.AsType[protocolError](err)
	late, isLate := errors.AsType[*deadlineError](err)
	switch {
	case isRefused:
		return &phaseError{refused.phase, err, rest}
	case isBreach:
		return &phaseError{"protocol", err, rest}
	case isLate && !late.answered:
		return &phaseError{"deadline", fmt.Errorf("%w; %s", err, unreported(rest)), rest}
	case isLate:
		return &phaseError{"deadline", err, rest}
	case errors.Is(err, context.Canceled):
		return &phaseError{"lost", errors.New("killed before it could say how it ended; " + unreported(rest)), rest}
	case errors.Is(err, io.EOF):
		err = s.ending()
	}
	return &phaseError{"lost", fmt.Errorf("%w; %s", err, unreported(rest)), rest}
}

// failure is the event for the error of a host.
func failure(play, host string, err error) events.Event {
	text, hint := err.Error(), ""
	var he *transport.HostError
	if errors.As(err, &he) {
		text, hint = he.Cause(), he.Hint
		if transport.Unreachable(err) {
			u := events.Unreachable{Play: play, Host: host, Error: text, Hint: hint, UnknownKey: errors.Is(err, transport.ErrHostKeyUnknown)}
			if he.Via != nil {
				u.Via = he.Via.Host
			}
			return u
		}
	}
	phase := "start"
	var rest events.Rest
	var pe *phaseError
	switch {
	case errors.As(err, &pe):
		phase, rest = pe.phase, pe.rest
		if refused, _ := errors.AsType[refusedError](err); refused.own {
			hint = "another host of this inventory is the same machine and user, and this run is at work there: keep one of the names, or leave one out with --limit"
		} else if refused.locked {
			hint = "--lock-timeout 10m waits for the other run to end"
		}
	case he != nil && (he.Op == "become" || he.Op == "install"):
		phase = he.Op
	}
	return events.HostFailed{Play: play, Host: host, Phase: phase, Error: text, Hint: hint, Rest: rest}
}
