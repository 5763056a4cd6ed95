package playbooks

import (
	"context"
	"errors"
	"fmt"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/share"
	"github.com/ccm-push/ccm-push/templates"
)

// Workers take hosts through plays in place of a [Runner], which decides who begins when, and tells
// what has come of it.
type Workers interface {
	// Take has a host taken through a play, and waits for that. What happens meanwhile is reported to
	// the stream of the run before it returns. The first signal on stop and the end of ctx end it as
	// they end [Runner.Run]. What the worker asks meanwhile is answered by answer, which may wait for other hosts
	// until Take has returned.
	Take(ctx context.Context, stop <-chan struct{}, t Turn, answer func(Question) Answer) TurnEnd
	// Enter finds out, before the run is begun, whether any of its hosts lets workers in; turns are a [LoginTurn]
	// for each. The error is that none does which was asked. It ends without one where the run is to end.
	Enter(ctx context.Context, stop <-chan struct{}, turns []Turn) error
}

// enter finds out whether workers get into the hosts of the plays.
func (r *Runner) enter(ctx context.Context, stop <-chan struct{}, plays [][]*inventory.Host) error {
	if r.Workers == nil {
		return nil
	}
	var turns []Turn
	known := map[*inventory.Host]bool{}
	for number, hosts := range plays {
		for _, h := range hosts {
			if !known[h] {
				turns = append(turns, Turn{Kind: LoginTurn, Host: h.Name, Play: number})
			}
			known[h] = true
		}
	}
	return r.Workers.Enter(ctx, stop, turns)
}

// HostNames are the names of all hosts of groups and plays, for a runner whose inventory has only
// some of the hosts: expressions ask for them.
type HostNames struct {
	Groups map[string][]string `json:"groups,omitempty"`
	Plays  [][]string          `json:"plays,omitempty"` // of each
}

func (n *HostNames) groupValues() map[string]any {
	groups := make(map[string]any, len(n.Groups))
	for name, hosts := range n.Groups {
		groups[name] = plainTexts(hosts)
	}
	return groups
}

// Needs are what workers are given of a run besides its plays and the hosts that they work on: what
// its expressions ask for.
type Needs struct {
	Names   HostNames
	Environ bool // the environment of the controller
}

// forWorkers finds out what workers need, and refuses what they cannot do.
func (r *Runner) forWorkers(compilers []*catalog.Compiler, parts []*parts, hosts [][]string) error {
	if r.Workers == nil {
		return nil
	}
	var errs yamlpos.Errors
	for i, c := range compilers {
		play := r.Plays[i]
		errs.Add(r.partForWorkers(play, c, hosts))
		if p := parts[i]; p != nil {
			errs.Add(r.partForWorkers(play.Rollout.Before, p.before, hosts))
			errs.Add(r.partForWorkers(play.Rollout.After, p.after, hosts))
			for g, gate := range p.gates {
				errs.Add(r.partForWorkers(play.Rollout.Gates[g].Check, gate, hosts))
			}
		}
	}
	o := r.Options
	var others error
	switch {
	case o.CompileFirst:
		others = errors.New("--compile-first cannot be used with --workers: each of them compiles for its own hosts")
	case o.Watch != nil:
		others = errors.New("hosts are not watched by workers: watch without --workers")
	case r.Step != nil:
		others = errors.New("--step cannot be used with --workers: nobody can be asked there")
	}
	return errors.Join(manifest.Distinct(errs), others)
}

// partForWorkers does so of a play, or a part of its rollout; nil is none.
func (r *Runner) partForWorkers(play *manifest.Play, c *catalog.Compiler, hosts [][]string) error {
	if play == nil || c == nil {
		return nil
	}
	var errs yamlpos.Errors
	for _, why := range notForWorkers(play, c) {
		at := why.at
		if at == nil {
			at = &yamlpos.Node{File: play.File}
		}
		errs.Add(at.Errorf("run this play without --workers", "play %q: %s", play.Name, why.text))
	}
	r.Needs.Environ = r.Needs.Environ || c.Reads(templates.EnvironRoot)
	if c.Reads(templates.GroupsRoot) && r.Needs.Names.Groups == nil {
		r.Needs.Names.Groups = map[string][]string{}
		for _, g := range r.Inventory.Groups() {
			r.Needs.Names.Groups[g.Name] = names(g.Hosts())
		}
	}
	if c.Reads(templates.PlayRoot) {
		r.Needs.Names.Plays = hosts
	}
	return errs.Err()
}

// A whyNot is why workers cannot carry out a play.
type whyNot struct {
	at   *yamlpos.Node // nil is not known
	text string
}

// notForWorkers are what a play does that takes several hosts at one place.
func notForWorkers(play *manifest.Play, c *catalog.Compiler) (list []whyNot) {
	add := func(at *yamlpos.Node, text string) { list = append(list, whyNot{at, text}) }
	for _, pattern := range play.HostFacts {
		add(pattern, "it asks for facts of other hosts (hostfacts), which workers do not have")
	}
	if c.Reads(templates.HostsRoot) {
		add(nil, "it reads variables of other hosts (Hosts), which workers do not have")
	}
	return list
}

// errKilled is why a host was not worked on to its end: the run was ended by force.
var errKilled = fmt.Errorf("the run was ended: %w", context.Canceled)

// A toldFailure is the failure of a host that a worker has told.
type toldFailure struct{ event events.Event }

func (f *toldFailure) Error() string { return reason(f.event) }

// err is how the turn has ended, as if the host had been worked on here.
func (e TurnEnd) err() error {
	switch {
	case e.Failure != nil && e.Killed:
		return errors.Join(&toldFailure{e.Failure.Event}, errKilled)
	case e.Failure != nil:
		return &toldFailure{e.Failure.Event}
	case e.Killed:
		return errKilled
	case e.Stopped:
		return &stoppedError{rest: e.Rest, phase: e.Phase}
	}
	return nil
}

// goesAway reports whether a host is worked on by workers: the controller itself is not.
func (f *fleet) goesAway(state *hostState) bool { return f.runner.Workers != nil && !state.controller }

// away has a worker do with a host what a turn says, and a play.
func (f *fleet) away(ctx context.Context, s *selection, state *hostState, t Turn) (Found, error) {
	if f.interrupted(ctx) {
		return Found{}, &stoppedError{}
	}
	defer state.activity.Pin("at a worker")()
	t.Host, t.Play, t.Predicted, t.Follow = state.host.Name, s.number, len(state.predicted) > 0, f.followed[state.host.Name]
	for i, later := range state.plays {
		if i > 0 && state.plays[0].number == s.number { // else it is done with the play, or has none
			t.Later = append(t.Later, later.number)
		}
	}
	began := f.runner.Now()
	answers, closed := f.answering(ctx, s, state.host.Name)
	end := f.runner.Workers.Take(ctx, f.stop, t, answers.answer)
	closed()
	state.queued = max(0, f.runner.Now().Sub(began)-end.Took)
	state.begun, state.failed = state.begun || end.Begun, state.failed || end.Failed
	if end.Predicted {
		state.predicted = append(state.predicted, &hostProgram{})
	}
	state.phases.Connect += end.Phases.Connect
	state.phases.Start += end.Phases.Start
	state.phases.Compile += end.Phases.Compile
	state.phases.Apply += end.Phases.Apply
	state.steps = append(state.steps, end.Steps...)
	return end.Found, end.err()
}

// fan has the hosts of a queue begin: workers bound how many they are at.
func (r *Runner) fan(q *share.Queue, hosts int) {
	if r.Workers == nil {
		r.fly(q)
		return
	}
	q.Run(hosts, hosts)
}
