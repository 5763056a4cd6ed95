package playbooks

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
)

// behind is what comes between two batches: gates, and a person. It returns false when the run must
// end.
func (r *rolling) behind(ctx context.Context) bool {
	batch := r.conductor.Batch()
	if len(r.plan.Batches[batch-1]) == 0 { // nothing was left of it
		return true
	}
	for i, gate := range r.rollout.Gates {
		r.at(rollout.Gating)
		verdict, text := r.pass(ctx, gate, i)
		if r.fleet.interrupted(ctx) || r.over {
			return false
		}
		counts := verdict == rollout.NotPassed || verdict == rollout.Inconclusive && gate.Inconclusive == manifest.InconclusiveStop
		r.fleet.runner.Events.Report(events.Gate{
			Play: r.of.play.Name, Number: r.number, Batch: batch, Name: gate.Name, Verdict: string(verdict), Counts: counts, Text: text,
		})
		r.conductor.Gate(gate.Name, verdict, counts, text)
		if r.conductor.Stopped() != nil && !r.wait(ctx) {
			return false
		}
	}
	if r.conductor.Stopped() != nil && !r.wait(ctx) { // a person has said so meanwhile
		return false
	}
	if r.conductor.Left() == 0 || !r.rollout.Pause && !(batch == 1 && r.plan.Canary) {
		return true
	}
	return r.pause(ctx)
}

// pass asks a gate as often as it says, and gives what it has come to.
func (r *rolling) pass(ctx context.Context, gate *manifest.Gate, number int) (rollout.Verdict, string) {
	good, bad, errs := 0, 0, 0
	last := ""
	for {
		verdict, text := r.once(ctx, gate, number)
		switch verdict {
		case rollout.Passed:
			good, errs = good+1, 0
		case rollout.NotPassed:
			bad, errs, last = bad+1, 0, text
		default:
			errs, last = errs+1, text
		}
		switch {
		case bad > gate.FailureLimit:
			return rollout.NotPassed, fmt.Sprintf("%d bad of %d, failure_limit is %d: %s", bad, good+bad, gate.FailureLimit, last)
		case errs > gate.ErrorLimit:
			return rollout.Inconclusive, fmt.Sprintf("no answer %d times in a row, error_limit is %d: %s", errs, gate.ErrorLimit, last)
		case good+bad >= gate.Count:
			return rollout.Passed, fmt.Sprintf("%d good of %d", good, good+bad)
		}
		if !r.sleep(ctx, gate.Interval) {
			return rollout.Inconclusive, "the run ends"
		}
	}
}

// sleep waits between two questions, while persons may say something. It returns false if the run
// is to end.
func (r *rolling) sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return true
		case request := <-r.fleet.runner.Steer:
			if r.answer(request); r.over {
				return false
			}
		case <-r.fleet.stop:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// once asks a gate once, of all hosts that it is about. One bad answer is one too many; where it is
// compared, a bad one of a host that nobody has touched leaves it open.
func (r *rolling) once(ctx context.Context, gate *manifest.Gate, number int) (rollout.Verdict, string) {
	if gate.On != nil {
		state, err := r.fleet.target(gate.On.Text)
		if err != nil {
			return rollout.Inconclusive, err.Error()
		}
		good, text, err := r.ask(ctx, number, state)
		return verdictOf(good, err), described(gate.On.Text, text, err)
	}
	touched := r.plan.Batches[r.conductor.Batch()-1]
	verdict, text := r.askAll(ctx, number, touched)
	if !gate.Untouched || verdict != rollout.NotPassed {
		return verdict, text
	}
	others := r.untouched(len(touched))
	if len(others) == 0 {
		return verdict, text + "; there is no untouched host to compare with"
	}
	if control, why := r.askAll(ctx, number, others); control != rollout.Passed {
		return rollout.Inconclusive, text + "; but so are untouched hosts: " + why
	}
	return verdict, text
}

// untouched are as many hosts, at most, that the rollout has not come to and will.
func (r *rolling) untouched(most int) []string {
	var list []string
	for _, batch := range r.plan.Batches[r.conductor.Batch():] {
		list = append(list, batch...)
	}
	list = slices.DeleteFunc(list, func(name string) bool { return !r.plan.Host(name).Healthy() })
	return list[:min(most, len(list))]
}

// askAll asks hosts at once. The worst answer counts.
func (r *rolling) askAll(ctx context.Context, gate int, hosts []string) (rollout.Verdict, string) {
	type answer struct {
		verdict rollout.Verdict
		text    string
	}
	answers := make([]answer, len(hosts))
	var asking sync.WaitGroup
	places := make(chan struct{}, r.fleet.runner.forks())
	for i, name := range hosts {
		asking.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			state := r.fleet.states[name]
			good, text, err := r.ask(ctx, gate, state)
			if !state.phase.keeps() {
				state.close()
			}
			answers[i] = answer{verdictOf(good, err), described(name, text, err)}
		})
	}
	asking.Wait()
	for _, worst := range []rollout.Verdict{rollout.NotPassed, rollout.Inconclusive} {
		if i := slices.IndexFunc(answers, func(a answer) bool { return a.verdict == worst }); i >= 0 {
			return worst, answers[i].text
		}
	}
	return rollout.Passed, ""
}

func verdictOf(good bool, err error) rollout.Verdict {
	switch {
	case err != nil:
		return rollout.Inconclusive
	case good:
		return rollout.Passed
	}
	return rollout.NotPassed
}

func described(host, text string, err error) string {
	if err != nil {
		if text != "" {
			text = ": " + text
		}
		return host + ": " + err.Error() + text
	}
	return host + ": " + text
}
