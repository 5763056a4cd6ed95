package rolling

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
)

// between runs the gates between two batches, and prompts a person. It returns false when the run must end.
func (r *rolling) between(ctx context.Context) bool {
	batch := r.conductor.Batch()
	if len(r.plan.Batches[batch-1]) == 0 { // an earlier run has finished it
		return true
	}
	for i, gate := range r.rules.Gates {
		r.at(rollout.Gating)
		verdict, text := (&gating{r, gate, i}).pass(ctx)
		if r.interrupted(ctx) || r.over {
			return false
		}
		counts := verdict == rollout.NotPassed || verdict == rollout.Inconclusive && gate.Inconclusive == manifest.InconclusiveStop
		r.Events.Report(events.Gate{
			Play: r.Play.Name, Number: r.Number, Batch: batch, Name: gate.Name, Verdict: string(verdict), Counts: counts, Text: text,
		})
		r.conductor.Gate(gate.Name, verdict, counts, text)
		if r.conductor.Stopped() != nil && !r.wait(ctx) {
			return false
		}
	}
	if r.conductor.Stopped() != nil && !r.wait(ctx) { // a person has stopped it in between
		return false
	}
	if r.conductor.Left() == 0 || !r.rules.Pause && !(batch == 1 && r.plan.Canary) {
		return true
	}
	return r.pause(ctx)
}

// A gating runs a gate after a batch.
type gating struct {
	r      *rolling
	gate   *manifest.Gate
	number int // from 0
}

// pass checks the gate as often as its rules require, and returns its verdict.
func (g *gating) pass(ctx context.Context) (rollout.Verdict, string) {
	gate := g.gate
	good, bad, errs := 0, 0, 0
	last := ""
	for {
		verdict, text := g.once(ctx)
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
			return rollout.NotPassed, fmt.Sprintf(`%d bad of %d, "failure_limit" is %d: %s`, bad, good+bad, gate.FailureLimit, last)
		case errs > gate.ErrorLimit:
			return rollout.Inconclusive, fmt.Sprintf(`no answer %d times in a row, "error_limit" is %d: %s`, errs, gate.ErrorLimit, last)
		case good+bad >= gate.Count:
			return rollout.Passed, fmt.Sprintf("%d good of %d", good, good+bad)
		}
		if !g.r.sleep(ctx, gate.Interval) {
			return rollout.Inconclusive, "the run ends"
		}
	}
}

// sleep waits between two questions, and answers persons who steer. It returns false if the run ends.
func (r *rolling) sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return true
		case request := <-r.Steer:
			if r.answer(request); r.over {
				return false
			}
		case <-r.Stop:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// once checks all hosts of the gate once. One bad answer is enough. If the gate compares with untouched hosts, and one of them
// answers badly too, the verdict is inconclusive.
func (g *gating) once(ctx context.Context) (rollout.Verdict, string) {
	if g.gate.On != nil {
		good, text, err := g.r.Probes.Gate(ctx, g.number, g.gate.On.Text)
		return verdictOf(good, err), described(g.gate.On.Text, text, err)
	}
	plan, batch := g.r.plan, g.r.conductor.Batch()
	touched := plan.Batches[batch-1]
	verdict, text := g.checkAll(ctx, touched)
	if !g.gate.Untouched || verdict != rollout.NotPassed {
		return verdict, text
	}
	others := slices.DeleteFunc(slices.Concat(plan.Batches[batch:]...), func(name string) bool { return !plan.Host(name).Healthy() })
	others = others[:min(len(touched), len(others))]
	if len(others) == 0 {
		return verdict, text + "; no untouched host to compare with"
	}
	if control, why := g.checkAll(ctx, others); control != rollout.Passed {
		return rollout.Inconclusive, text + "; but so are untouched hosts: " + why
	}
	return verdict, text
}

// checkAll checks hosts at once. The worst answer counts.
func (g *gating) checkAll(ctx context.Context, hosts []string) (rollout.Verdict, string) {
	type answer struct {
		verdict rollout.Verdict
		text    string
	}
	answers := make([]answer, len(hosts))
	var probes errgroup.Group
	probes.SetLimit(g.r.Options.Forks)
	for i, name := range hosts {
		probes.Go(func() error {
			good, text, err := g.r.Probes.Gate(ctx, g.number, name)
			answers[i] = answer{verdictOf(good, err), described(name, text, err)}
			return nil
		})
	}
	_ = probes.Wait()
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
