package playbooks

import (
	"context"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/confirm"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/session"
	"github.com/ccm-push/ccm-push/transport"
)

// A guarded is a play on a host that a [confirm.Guard] guards. It is both the host and its progress.
type guarded struct {
	g    *stages
	full bool // the play runs the full host program
}

// newGuard returns the guard of a play on a host, whose first catalog is compiled; nil if nothing has to be confirmed. A check run gets a
// guard that is never armed: the host predicts which changes it would refuse.
func newGuard(g *stages) *confirm.Guard {
	play, state, r := g.of.play, g.state, g.runner
	check, _, _ := g.of.mode.flags(&r.Options)
	if r.lock(g.of.mode) == nil && !check || play.NoHistory || state.controller || state.conn.Local {
		return nil
	}
	on := guarded{g, g.program.full}
	guard := &confirm.Guard{
		Host: on, Progress: on, Events: r.Events, Activity: state.activity, Stop: g.stop, Now: r.Now,
		Play: play.Name, Name: state.host.Name, Run: r.Options.Run, Holder: r.Options.Holder, Confirm: play.Confirm,
		Login: r.Connect.Login(*state.conn), Nonce: r.NewNonce(), Was: state.over, Before: state.client.Target(), Via: g.compiled.Via,
		Reason: func(err error) (text, hint string) { return textOf(play.Name, state.host.Name, err) },
	}
	if become, user := g.runsAs(); become != nil {
		guard.Become = user
	}
	return guard
}

// Login implements [confirm.Host].
func (p guarded) Login(ctx context.Context, target transport.Target, then func(*session.Session) error) error {
	r := p.g.runner
	dialer := r.Dialer.Apart()
	defer dialer.Close()
	client, err := dialer.Dial(ctx, target)
	if err != nil {
		return err
	}
	become, _ := p.g.runsAs()
	program, err := r.start(ctx, client, programStart{host: p.g.state.host.Name, become: become, full: p.full})
	if err != nil {
		client.Close()
		return err
	}
	defer program.session.Close()
	defer client.Close()
	if then == nil {
		return nil
	}
	return then(program.session)
}

// Moved implements [confirm.Host].
func (p guarded) Moved(to transport.Target) { p.g.state.over = &to }

// Connected implements [confirm.Host].
func (p guarded) Connected() bool { return p.g.state.client != nil }

// Close implements [confirm.Host].
func (p guarded) Close() { p.g.state.close() }

// Entry implements [confirm.Progress].
func (p guarded) Entry(index int) *wire.Entry { return &p.g.progress.catalog.Entries[index] }

// Unfinished implements [confirm.Progress]. An unfinished resource would run in a later run, when the host can no
// longer revert its changes.
func (p guarded) Unfinished(first int) string { return p.g.progress.unfinished(first) }

// Rest implements [confirm.Progress].
func (p guarded) Rest() events.Rest { return p.g.progress.Rest() }
