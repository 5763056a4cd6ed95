package playbooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/playbooks/session"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/start"
)

// A hostProgram is one that runs and has greeted.
type hostProgram struct {
	session *session.Session
	facts   map[string]any // facts that it has reported
	full    bool           // set for the full host program
}

// errNoFull is the failure of a host that needs the full host program where the folder of
// host programs lacks it.
var errNoFull = errors.New("a resource needs the full host program, but this ccm-push has only lean programs: build ccm-push with make, or pass --module-dir FOLDER")

// start starts the host program for the user that the play runs as, or takes the kept one.
func (p *hostPlay) start(ctx context.Context) error {
	p.program = nil
	return p.startedAgain(ctx, p.startLike(ctx))
}

// startLike is start with a replacement for the current program, which was lost: the new one has its facts. Without a
// current program it is start.
func (p *hostPlay) startLike(ctx context.Context) error {
	state, lost := p.state, p.program
	if state.dead() { // it had nothing to do when it died, so nothing is lost
		state.close()
	}
	become, user := p.runsAs()
	if kept := state.programs[user]; kept != nil {
		p.program = kept
		return nil
	}
	earlier := state.client != nil
	if !earlier {
		if err := p.connect(ctx); err != nil {
			return err
		}
	}
	defer p.phase("start", &state.times.phases.Start)()
	state.activity.At(startingProgram)
	facts, full := collectors(state.plays), p.needsFull(user)
	if lost != nil {
		facts, full = nil, lost.full
	}
	var started *hostProgram
	start := func(ctx context.Context) (err error) {
		started, err = p.runner.start(ctx, state.client, programStart{host: state.host.Name, become: become, facts: facts, full: full, state: state})
		return err
	}
	var err error
	if len(state.programs) == 0 { // else ending it would end those on the same connection
		err = p.unlessStopped(ctx, start)
	} else {
		err = start(ctx)
	}
	if errors.Is(err, transport.ErrNoSession) && earlier && !p.of.mode.watched() { // sshd's MaxSessions
		if err := state.finishPrograms(ctx); err != nil {
			return err
		}
		// When sshd counts the session as ended is not known; a new connection has none.
		state.close()
		return p.startLike(ctx)
	}
	if err != nil {
		return err
	}
	if lost != nil {
		started.facts = lost.facts
	}
	if state.programs == nil {
		state.programs = map[string]*hostProgram{}
	}
	state.programs[user], p.program = started, started
	return nil
}

// startingProgram is the step of a host that is shown during the start.
const startingProgram = "starting the host program"

// runsAs returns the user that the host program runs as in the play, and how it becomes that user.
func (p *hostPlay) runsAs() (become *start.Become, user string) {
	play, state := p.of.play, p.state
	if state.conn == nil {
		conn := state.host.Connection()
		state.conn = &conn
	}
	if state.controller {
		return nil, p.runner.Connect.LocalUser
	}
	if become = p.runner.Connect.Escalate(reach.Escalation{Become: play.Become, User: play.BecomeUser, Method: play.BecomeMethod}, *state.conn); become != nil {
		return become, become.User
	}
	if state.login == "" {
		state.login = p.runner.Connect.Login(*state.conn)
	}
	return nil, state.login
}

// needsFull reports whether it is known that a play still to come, for which the
// host program runs as that user, needs the full one. The others are found out
// when they are compiled.
func (p *hostPlay) needsFull(user string) bool {
	return p.runner.Options.Watch != nil || slices.ContainsFunc(p.state.plays, func(s *selection) bool {
		if !s.compiler.NeedsFull() {
			return false
		}
		_, of := p.playOn(s.whole(), p.state).runsAs()
		return of == user
	})
}

// upgrade ends the lean host program, so that it holds no lock, and starts the full one on the same connection. The
// facts remain the facts with which the play was compiled.
func (p *hostPlay) upgrade(ctx context.Context) error {
	state, facts := p.state, p.program.facts
	defer p.phase("start", &state.times.phases.Start)()
	if err := p.program.session.Finish(ctx); err != nil {
		return err
	}
	become, user := p.runsAs()
	delete(state.programs, user)
	state.activity.At("starting the full host program")
	full, err := p.runner.start(ctx, state.client, programStart{host: state.host.Name, become: become, full: true, state: state})
	if err != nil {
		p.program = &hostProgram{facts: facts, full: true}
		return p.startedAgain(ctx, err)
	}
	full.facts = facts
	state.programs[user], p.program = full, full
	return nil
}

// connect dials the host.
func (p *hostPlay) connect(ctx context.Context) error {
	state := p.state
	defer p.phase("connect", &state.times.phases.Connect)()
	state.activity.At("connecting")
	var login atomic.Pointer[time.Time] // start of the login; nil before that
	err := p.unlessStopped(ctx, func(ctx context.Context) (err error) {
		state.client, err = p.runner.dialOver(ctx, state.host, state.over, func(op string) {
			state.activity.At(connecting(op))
			switch op {
			case transport.OpHandshake:
				state.in.Connected()
			case dial.Greeted:
				state.in.Answered()
			case transport.OpAuthenticate:
				now := p.runner.Now()
				login.Store(&now)
			}
		})
		return err
	})
	if began := login.Load(); began != nil {
		state.step("login", *began, p.runner.Now())
	}
	return err
}

// unlessStopped runs do, which makes a host ready for requests. The first signal also ends do, since no resource is in
// progress.
func (f *fleet) unlessStopped(ctx context.Context, do func(ctx context.Context) error) error {
	ended, cancel := f.untilStopped(ctx)
	defer cancel()
	err := do(ended)
	if errors.Is(err, context.Canceled) && f.interrupted(ctx) {
		return &stoppedError{}
	}
	return err
}

// connecting describes a step of [Runner.dial] for the display, also a step of a jump host.
func connecting(op string) string {
	if op == transport.OpAuthenticate {
		return "logging in"
	}
	return "connecting"
}

// dial connects to a host. told is called at the start of each step; it may be nil.
func (r *Runner) dial(ctx context.Context, h *inventory.Host, told func(op string)) (*transport.Client, error) {
	return r.dialOver(ctx, h, nil, told)
}

// dialOver is dial with another target than that in the inventory; nil means the target in the inventory.
func (r *Runner) dialOver(ctx context.Context, h *inventory.Host, over *transport.Target, told func(op string)) (*transport.Client, error) {
	if over != nil {
		return r.Dialer.DialTold(ctx, *over, told)
	}
	target, err := r.target(h)
	if err != nil {
		return nil, err
	}
	return r.Dialer.DialTold(ctx, target, told)
}

// A programStart is which host program is started, and how.
type programStart struct {
	host   string // host name in messages
	become *start.Become
	facts  []string // collectors whose facts it reports; nil means none
	full   bool
	state  *hostState // receiver of the upload progress; may be nil
}

// start starts a host program and takes its greeting apart.
func (r *Runner) start(ctx context.Context, client *transport.Client, s programStart) (*hostProgram, error) {
	builds := r.Builds
	if s.full {
		if builds = r.FullBuilds; len(builds) == 0 {
			return nil, &phaseError{phase: "install", err: errNoFull}
		}
	}
	nonce := r.NewNonce()
	wanted := r.Options.wanted(s.facts)
	near, judge := r.near(ctx, s.host, client, s.state)
	process, err := start.Program(ctx, client, start.Request{
		Nonce: nonce, Greeting: wire.Greeting(nonce), Facts: wanted, Builds: builds, Become: r.Options.Deadlines.escalated(s.become),
		Timeout: r.Options.Deadlines.start(), Sent: s.state.sent, Near: near,
	})
	if err != nil {
		return nil, err
	}
	judge(process)
	hello, err := wire.ParseHello(process.Hello())
	if err != nil {
		process.Close()
		return nil, &phaseError{phase: "protocol", err: err}
	}
	if hello.Build != r.BuildID {
		process.Close()
		return nil, &phaseError{phase: "start", err: fmt.Errorf("the host runs build %.64q, this is %q", hello.Build, r.BuildID)}
	}
	facts, partial, err := decodeFacts(hello.Facts)
	if err != nil {
		process.Close()
		return nil, &phaseError{phase: "facts", err: err}
	}
	for _, p := range partial {
		r.warn(fmt.Sprintf("%s: facts are incomplete: %.200q", s.host, p))
	}
	return &hostProgram{session.New(ctx, process, r.Now, r.Options.IdleTimeout), facts, s.full}, nil
}
