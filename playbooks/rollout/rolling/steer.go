package rolling

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
)

// stopping reports at once that the rollout has stopped, while hosts are in progress: they may take long. A person may continue it
// in between.
func (r *rolling) stopping() {
	if stop := r.conductor.Stopped(); stop != nil && !r.over {
		r.at(rollout.Stopping)
		r.tellStop(stop, r.then(stop))
	}
}

// wait reports that the rollout has stopped, if it was not reported, and waits for a person if it is held. It returns false when
// the run must end.
func (r *rolling) wait(ctx context.Context) bool {
	stop := r.conductor.Stopped()
	then := r.then(stop)
	r.tellStop(stop, then)
	if then != rollout.Hold {
		r.stopped(then)
		return false
	}
	question := "go on? [g]o, [e]nd, [u]ndo: "
	return r.person(ctx, rollout.HeldState, question, r.Options.Hold)
}

// then returns what happens after a stop, when no host is in progress.
func (r *rolling) then(stop *rollout.Stop) rollout.OnStop {
	then := r.rules.OnStop
	if stop.Rule == "gate" || stop.Rule == "hold" || stop.Rule == "canary" { // a person has to look
		then = rollout.Hold
	}
	undoes := then == rollout.UndoBatch || then == rollout.UndoAll
	if undoes && len(r.conductor.Touched(false)) == 0 && len(r.conductor.AtWork()) == 0 { // no host was touched
		then = rollout.End
	}
	if then == rollout.Hold && r.Ask == nil && r.Options.Hold == 0 { // no person can answer
		then = rollout.End
	}
	return then
}

// tellStop reports a stop once: its reason, and what happens then.
func (r *rolling) tellStop(stop *rollout.Stop, then rollout.OnStop) {
	if stop == r.told {
		return
	}
	r.told = stop
	r.Events.Report(events.RolloutStop{
		Play: r.Play.Name, Number: r.Number, Batch: stop.Batch, Rule: stop.Rule, Text: stop.Text, Hosts: stop.Hosts,
		Then: string(then), AtWork: r.conductor.AtWork(), Waiting: r.conductor.Left(),
	})
}

// stopped ends the run after the hosts in progress. Only then it is known what to undo.
func (r *rolling) stopped(then rollout.OnStop) {
	r.over, r.undo = true, then
}

// pause prompts a person between two batches.
func (r *rolling) pause(ctx context.Context) bool {
	if r.Options.Yes {
		return true
	}
	batch, next := r.conductor.Batch(), r.conductor.Batch()+1
	for len(r.plan.Batches[next-1]) == 0 { // of which a run before has left nothing
		next++
	}
	wait := r.rules.PauseDeadline
	if wait == 0 {
		wait = r.Options.Hold
	}
	if wait != 0 || r.Ask != nil {
		r.Events.Report(events.RolloutPause{
			Play: r.Play.Name, Number: r.Number, Batch: batch, Batches: len(r.plan.Batches), Next: len(r.plan.Batches[next-1]), WaitMS: max(0, wait.Milliseconds()),
		})
	}
	return r.person(ctx, rollout.Paused, fmt.Sprintf("continue with batch %d? [g]o, [e]nd, [u]ndo: ", next), wait)
}

// person waits for the answer of a person, on the terminal or elsewhere, for at most the duration most. A negative
// duration has no limit; 0 waits only for the terminal. It returns false when the run must end.
func (r *rolling) person(ctx context.Context, at rollout.State, question string, most time.Duration) bool {
	r.at(at)
	defer func() { r.last = r.Now() }()
	asked, answers := r.prompt(ctx, question)
	defer asked()
	if most == 0 && answers == nil {
		return r.unanswered(at, "no terminal for a prompt")
	}
	var late <-chan time.Time
	if most > 0 {
		timer := time.NewTimer(most)
		defer timer.Stop()
		late = timer.C
	}
	for {
		select {
		case verb := <-answers:
			r.said(rollout.Command{Verb: verb, By: "the terminal"})
		case request := <-r.Steer:
			r.answer(request)
		case <-late:
			return r.unanswered(at, fmt.Sprintf("no answer within %s", printable.Duration(most)))
		case <-r.Stop:
			return r.unanswered(at, "interrupted")
		case <-ctx.Done():
			return false
		}
		switch {
		case r.over:
			return false
		case r.state == rollout.Working:
			return true
		}
	}
}

// unanswered ends a run that no person continues: silence is never a yes.
func (r *rolling) unanswered(at rollout.State, why string) bool {
	if at == rollout.Paused {
		stop := &rollout.Stop{Rule: "pause", Text: why, Batch: r.conductor.Batch()}
		r.tellStop(stop, rollout.End)
	}
	r.stopped(rollout.End)
	return false
}

// prompt reads a command from the terminal, and repeats until it gets one. answers is nil without a terminal; the function ends the prompt.
func (r *rolling) prompt(ctx context.Context, question string) (asked func(), answers <-chan rollout.Verb) {
	ask := r.Ask
	if ask == nil {
		return func() {}, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	said, ended := make(chan rollout.Verb), make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			answer, err := ask(ctx, question)
			if err != nil {
				return // the terminal is closed; persons elsewhere may still answer
			}
			if verb := verbOf(answer); verb != "" {
				select {
				case said <- verb:
				case <-ctx.Done():
				}
				return // it is obeyed: the next question is another one
			}
			question = "  write one of go, end, undo: "
		}
	}()
	return func() { cancel(); <-ended }, said
}

// verbOf returns what an answer means: a word, or its first letter; "" if it means nothing.
func verbOf(answer string) rollout.Verb {
	answer = strings.ToLower(strings.TrimSpace(answer))
	for _, verb := range []rollout.Verb{rollout.Go, rollout.EndNow, rollout.UndoNow} {
		if answer == string(verb) || answer == string(verb[:1]) {
			return verb
		}
	}
	if answer == "yes" || answer == "y" {
		return rollout.Go
	}
	return ""
}

// answer carries out a command of a person, or replies with the reason against it.
func (r *rolling) answer(request rollout.Request) {
	var reply rollout.Reply
	if err := r.said(request.Command); err != nil {
		reply.Error = err.Error()
	}
	reply.Status = r.status()
	request.Answer(reply)
}

// said carries out a command.
func (r *rolling) said(c rollout.Command) error {
	waits := r.state == rollout.HeldState || r.state == rollout.Paused
	switch c.Verb {
	case rollout.Ask:
		return nil
	case rollout.Go:
		if !waits && (r.conductor == nil || r.conductor.Stopped() == nil) {
			return fmt.Errorf("it is not held: it is %s", r.state)
		}
		r.at(rollout.Working)
		r.last = r.Now() // the deadline starts again: it may have passed
		r.conductor.Go()
	case rollout.HoldNow:
		switch {
		case r.conductor == nil:
			return fmt.Errorf("it is %s, and no host has started", r.state)
		case r.conductor.Stopped() != nil:
			return fmt.Errorf("it has stopped already: %s", r.conductor.Stopped())
		case waits:
			return fmt.Errorf("it is %s already", r.state)
		}
		r.conductor.Hold(c.By)
	case rollout.EndNow:
		r.stopped(rollout.End)
	case rollout.UndoNow:
		r.stopped(rollout.UndoAll)
	case rollout.ReleaseHost:
		if r.conductor == nil {
			return fmt.Errorf("it is %s, and no host has started", r.state)
		}
		if err := r.conductor.Release(c.Host); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%q is not a command for a rollout", c.Verb)
	}
	r.Events.Report(events.RolloutSaid{Play: r.Play.Name, Number: r.Number, Verb: string(c.Verb), Host: c.Host, By: c.By})
	return nil
}

// status returns the progress of the rollout.
func (r *rolling) status() *rollout.Status {
	var s rollout.Status
	if r.conductor != nil {
		s = r.conductor.Status()
	}
	s.Run, s.Play, s.State, s.Since = r.Options.Run, r.Play.Name, r.state, r.since
	return &s
}
