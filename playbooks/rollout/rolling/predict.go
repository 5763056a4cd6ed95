package rolling

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
)

// Entering returns the hosts that enter the play and that no earlier run has finished, without any prediction.
func (o *Rollout) Entering() (hosts []rollout.Host) {
	for _, m := range o.Members {
		if m.Entered && !m.Done {
			hosts = append(hosts, rollout.Host{Name: m.Name, Group: m.Group})
		}
	}
	return hosts
}

// Preview reports the plan after a check run. entering has its predictions.
func (o *Rollout) Preview(entering []rollout.Host) {
	r := o.rolling()
	r.plan = rollout.NewPlan(r.rules.Rules, r.withOthers(entering), rollout.Options{Canary: o.Options.Canary})
	r.tellPlan()
}

// predict finds out what would change on the entering hosts, and whether they are healthy. Meanwhile persons may steer.
func (r *rolling) predict(ctx context.Context) []rollout.Host {
	hosts := r.Entering()
	names := make([]string, len(hosts))
	for i := range hosts {
		hosts[i].Changes = r.Play.Undo != nil || r.Past != nil && r.Past.Left[hosts[i].Name]
		names[i] = hosts[i].Name
	}
	if r.Play.Undo != nil { // an undo has no such phase
		return hosts
	}
	r.Events.Report(events.PlayStart{Play: r.Play.Name, Number: r.Number, Hosts: names})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Hosts.Predict(ctx, hosts)
	}()
	for {
		select {
		case request := <-r.Steer:
			r.answer(request)
		case <-ended:
			return hosts
		}
	}
}

// withOthers returns all hosts of the play. Shares are of all hosts, so hosts that an earlier run has finished count. Hosts that have
// failed in an earlier play count as broken.
func (r *rolling) withOthers(entering []rollout.Host) []rollout.Host {
	all := make([]rollout.Host, 0, len(r.Members))
	for _, m := range r.Members {
		switch {
		case !m.Entered && r.Play.Undo == nil:
			all = append(all, rollout.Host{Name: m.Name, Group: m.Group, Broken: true})
		case !m.Entered: // the undo runs on the other hosts
		case m.Done:
			all = append(all, rollout.Host{Name: m.Name, Group: m.Group, Done: true})
		default:
			all, entering = append(all, entering[0]), entering[1:]
		}
	}
	return all
}

// tellPlan reports what the rollout will do, and which resources restart.
func (r *rolling) tellPlan() {
	p := r.plan
	e := events.RolloutPlan{Play: r.Play.Name, Number: r.Number, Stable: p.Stable(), Rules: rulesOf(r.rules)}
	e.Unreachable, e.Failed, e.Broken = p.Trouble()
	if most := p.Rules.MaxUnavailable; most != nil {
		e.By, e.MaxUnavailable = p.Rules.By, most.String()
	}
	e.Harm, e.Reckoning = p.Harm(r.Options.Forks)
	for _, names := range p.Batches {
		b := events.RolloutBatch{Hosts: append([]string{}, names...), AtOnce: p.AtOnce(names, r.Options.Forks)}
		for _, r := range p.Restarting(names) {
			b.Restarts = append(b.Restarts, events.RolloutRestart{Resource: r.Ref, Hosts: r.Certain, Likely: r.Likely})
		}
		e.Batches = append(e.Batches, b)
	}
	r.Events.Report(e)
}

// Monitored reports whether resources of a play have health checks, as far as that is known.
func Monitored(play *manifest.Play) bool {
	some := play.JetFile != nil
	manifest.Walk(play.Resources, func(r *manifest.Resource, _ int) { some = some || r.Health != nil })
	return some
}

// lookAgain checks whether hosts that hold places are healthy now. Without health checks that is not known, and no host is
// checked.
func (r *rolling) lookAgain(ctx context.Context) {
	if !Monitored(r.Play) || r.rules.MaxUnavailable == nil {
		return
	}
	held := r.conductor.Held()
	healthy := make([]bool, len(held))
	var probes errgroup.Group
	probes.SetLimit(r.Options.Forks)
	for i, h := range held {
		probes.Go(func() error {
			healthy[i] = r.Probes.Healthy(ctx, h.Host)
			return nil
		})
	}
	_ = probes.Wait()
	for i, h := range held {
		if healthy[i] {
			r.conductor.Healthy(h.Host)
		}
	}
}
