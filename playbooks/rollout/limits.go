package rollout

import (
	"fmt"
	"slices"
)

// judge stops the rollout if a limit has been reached, or was before and has one more now.
func (c *Conductor) judge() {
	all, batch := len(c.plan.Hosts), 0
	if c.batch >= 0 {
		batch = len(c.plan.Batches[c.batch])
	}
	c.judgeCounts("stop", &c.plan.Rules.Stop, &c.counts, all, "hosts")
	c.judgeCounts("stop.per_batch", &c.plan.Rules.PerBatch, &c.ofBatch, batch, "hosts of the batch")
}

func (c *Conductor) judgeCounts(rule string, limits *Limits, of *counts, all int, hosts string) {
	failed := limits.Failed
	if rule == "stop" {
		one := limits.failed()
		failed = &one
	}
	bad, word := of.failed, "failed"
	if limits.Unreachable == nil && c.plan.Rules.Stop.Unreachable == nil {
		bad, word = slices.Concat(of.failed, of.unreachable), "failed or cannot be reached"
	}
	c.judgeOne(rule+".failed", failed, bad, "have "+word, all, hosts)
	c.judgeOne(rule+".unreachable", limits.Unreachable, of.unreachable, "cannot be reached", all, hosts)
	c.judgeOne(rule+".restarts", limits.Restarts, of.restarted, "have restarted a service", all, hosts)
}

func (c *Conductor) judgeOne(rule string, limit *Amount, names []string, what string, all int, hosts string) {
	if limit == nil || c.stop != nil || len(names) == 0 || len(names) < limit.Down(all) {
		return
	}
	c.stopBy(rule, fmt.Sprintf("%d of %d %s %s (%s), and it stops at %s", len(names), all, hosts, what, list(names), c.reckoned(*limit, all)), names, nil)
}

func (c *Conductor) judgeGates(why string) {
	for _, one := range []struct {
		rule  string
		limit Amount
		names []string
	}{
		{"stop.gate", or(c.plan.Rules.Stop.Gate, Amount{Count: 1}), c.counts.gates},
		{"stop.per_batch.gate", or(c.plan.Rules.PerBatch.Gate, Amount{}), c.ofBatch.gates},
	} {
		if c.stop != nil || one.limit == (Amount{}) || len(one.names) < one.limit.Down(len(c.plan.Batches)) {
			continue
		}
		text := fmt.Sprintf("%d not passed, and it stops at %s; the last one was %s: %s", len(one.names), c.reckoned(one.limit, len(c.plan.Batches)), one.names[len(one.names)-1], why)
		c.stopBy(one.rule, text, nil, one.names)
	}
}

// reckoned is a limit with its arithmetic: "3", or "2 (1.5% of 170, rounded down)".
func (c *Conductor) reckoned(a Amount, of int) string {
	if a.Count > 0 {
		return a.String()
	}
	return fmt.Sprintf("%d (%s of %d, rounded down, at least 1)", a.Down(of), a, of)
}

func (c *Conductor) stopBy(rule, text string, hosts, gates []string) {
	c.stop = &Stop{Rule: rule, Text: text, Hosts: slices.Clone(hosts), Gates: slices.Clone(gates), Batch: c.Batch()}
}
