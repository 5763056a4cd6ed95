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
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/playbooks/session"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/start"
)

// A hostProgram is one that runs and has greeted.
type hostProgram struct {
	session *session.Session
	facts   map[string]any // that it has reported
	full    bool           // it is the full one
}

// errNoFull is the failure of a host that needs the full host program where the folder of
// host programs lacks it.
var errNoFull = errors.New("a resource needs the full host program, and this ccm-push has only lean ones: build it with make, or give a complete folder with --module-dir")

// program gives the host program for the user that the play runs as: the one
// that is kept, or a new one.
func (f *fleet) program(ctx context.Context, play *manifest.Play, state *hostState) (*hostProgram, error) {
	program, err := f.programLike(ctx, play, state, nil)
	return f.startedAgain(ctx, play, state, nil, program, err)
}

// programLike is program in the place of one that was lost, whose facts it has; nil is none.
func (f *fleet) programLike(ctx context.Context, play *manifest.Play, state *hostState, lost *hostProgram) (*hostProgram, error) {
	if state.dead() { // it had nothing to do when it died, so nothing is lost
		state.close()
	}
	become, user := f.worker(play, state)
	if kept := state.programs[user]; kept != nil {
		return kept, nil
	}
	earlier := state.client != nil
	if !earlier {
		client, err := f.connect(ctx, state)
		if err != nil {
			return nil, err
		}
		state.client = client
	}
	defer f.phase(state, "start", &state.phases.Start)()
	state.activity.At(startingProgram)
	facts, full := collectors(state.plays), f.needsFull(state, user)
	if lost != nil {
		facts, full = nil, lost.full
	}
	var started *hostProgram
	start := func(ctx context.Context) (err error) {
		started, err = f.runner.start(ctx, state.host.Name, state.client, become, facts, full, state)
		return err
	}
	var err error
	if len(state.programs) == 0 { // else ending it would end those on the same connection
		err = f.unlessStopped(ctx, start)
	} else {
		err = start(ctx)
	}
	if errors.Is(err, transport.ErrNoSession) && earlier && !state.watched { // sshd's MaxSessions
		if err := state.finishPrograms(ctx); err != nil {
			return nil, err
		}
		// When sshd counts the session as ended is not known; a new connection has none.
		state.close()
		return f.programLike(ctx, play, state, lost)
	}
	if err != nil {
		return nil, err
	}
	if lost != nil {
		started.facts = lost.facts
	}
	if state.programs == nil {
		state.programs = map[string]*hostProgram{}
	}
	state.programs[user] = started
	return started, nil
}

// startingProgram is what a host is at, for those who look on.
const startingProgram = "starting the host program"

// worker gives the user that the host program runs as in a play, and how it becomes that.
func (f *fleet) worker(play *manifest.Play, state *hostState) (become *start.Become, user string) {
	if state.conn == nil {
		conn := state.host.Connection()
		state.conn = &conn
	}
	if state.controller {
		return nil, f.runner.Connect.LocalUser
	}
	if become = f.runner.Connect.Escalate(reach.Escalation{Become: play.Become, User: play.BecomeUser, Method: play.BecomeMethod}, *state.conn); become != nil {
		return become, become.User
	}
	if state.login == "" {
		state.login = f.runner.Connect.Login(*state.conn)
	}
	return nil, state.login
}

// needsFull reports whether it is known that a play still to come, for which the
// host program runs as that user, needs the full one. The others are found out
// when they are compiled.
func (f *fleet) needsFull(state *hostState, user string) bool {
	return f.runner.Options.Watch != nil || slices.ContainsFunc(state.plays, func(s *selection) bool {
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
func (f *fleet) upgrade(ctx context.Context, play *manifest.Play, state *hostState, lean *hostProgram) (*hostProgram, error) {
	defer f.phase(state, "start", &state.phases.Start)()
	if err := lean.session.Finish(ctx); err != nil {
		return nil, err
	}
	become, user := f.worker(play, state)
	delete(state.programs, user)
	state.activity.At("starting the full host program")
	full, err := f.runner.start(ctx, state.host.Name, state.client, become, nil, true, state)
	if err != nil {
		return f.startedAgain(ctx, play, state, &hostProgram{facts: lean.facts, full: true}, nil, err)
	}
	full.facts = lean.facts
	state.programs[user] = full
	return full, nil
}

// connect dials a host.
func (f *fleet) connect(ctx context.Context, state *hostState) (*transport.Client, error) {
	defer f.phase(state, "connect", &state.phases.Connect)()
	state.activity.At("connecting")
	var login atomic.Pointer[time.Time] // when it began; nil if it has not come to that
	var client *transport.Client
	err := f.unlessStopped(ctx, func(ctx context.Context) (err error) {
		client, err = f.runner.dialOver(ctx, state.host, state.over, func(op string) {
			state.activity.At(connecting(op))
			if op == transport.OpHandshake {
				state.in.Answered()
			}
			if op == transport.OpAuthenticate {
				now := f.runner.Now()
				login.Store(&now)
			}
		})
		return err
	})
	if began := login.Load(); began != nil {
		state.step("login", *began, f.runner.Now())
	}
	return client, err
}

// unlessStopped does what brings a host to where it can be asked for something. The first signal ends that, too,
// since there is no resource yet to wait for.
func (f *fleet) unlessStopped(ctx context.Context, do func(ctx context.Context) error) error {
	ended, cancel := f.untilStopped(ctx)
	defer cancel()
	err := do(ended)
	if errors.Is(err, context.Canceled) && f.interrupted(ctx) {
		return &stoppedError{}
	}
	return err
}

// connecting says what a step of [Runner.dial] is, for those who look on; also one of a jump host.
func connecting(op string) string {
	if op == transport.OpAuthenticate {
		return "logging in"
	}
	return "connecting"
}

// dial connects to a host. told is told of each step when it begins; nil is not.
func (r *Runner) dial(ctx context.Context, h *inventory.Host, told func(op string)) (*transport.Client, error) {
	return r.dialOver(ctx, h, nil, told)
}

// dialOver is dial, at another place than the inventory says; nil is there.
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

// start starts the lean or the full host program and takes its greeting apart. state, which
// may be nil, is told how much of the program is on its way.
func (r *Runner) start(ctx context.Context, host string, client *transport.Client, become *start.Become, collectors []string, full bool, state *hostState) (*hostProgram, error) {
	builds := r.Builds
	if full {
		if builds = r.FullBuilds; len(builds) == 0 {
			return nil, &phaseError{phase: "install", err: errNoFull}
		}
	}
	nonce := r.NewNonce()
	wanted := r.Options.wanted(collectors)
	near, judge := r.near(ctx, host, client, state)
	process, err := start.Program(ctx, client, start.Request{
		Nonce: nonce, Greeting: wire.Greeting(nonce), Facts: wanted, Builds: builds, Become: r.Options.Deadlines.escalated(become),
		Timeout: r.Options.Deadlines.start(), Sent: state.sent, Near: near,
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
		r.warn(fmt.Sprintf("%s: facts are incomplete: %.200q", host, p))
	}
	return &hostProgram{session.New(ctx, process, r.Now, r.Options.IdleTimeout), facts, full}, nil
}
