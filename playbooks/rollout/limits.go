package rollout

import (
	"fmt"
	"slices"
)

// judge stops the rollout if something has become more that has reached its limit.
func (c *Conductor) judge(more counted) {
	stop := c.plan.Rules.Stop
	one := stop.failed()
	stop.Failed = &one
	c.judgeCounts("stop", &stop, &c.counts, more, len(c.plan.Hosts), "hosts")
	if c.batch >= 0 {
		c.judgeCounts("stop.per_batch", &c.plan.Rules.PerBatch, &c.ofBatch, more, len(c.plan.whole[c.batch]), "hosts of the batch")
	}
}

func (c *Conductor) judgeCounts(rule string, limits *Limits, of *counts, more counted, all int, hosts string) {
	bad, what := of.failed, "have failed"
	if limits.Unreachable == nil && c.plan.Rules.Stop.Unreachable == nil {
		bad, what = slices.Clone(of.failed), "have failed or cannot be reached"
		for _, name := range of.unreachable { // it may have failed in the run before
			add(&bad, name)
		}
		more.failed = more.failed || more.unreachable
	}
	judge := func(key string, more bool, limit *Amount, names []string, what string) {
		if !more || limit == nil || c.stop != nil || len(names) < limit.Down(all) {
			return
		}
		text := fmt.Sprintf("%d of %d %s %s (%s); limit: %s", len(names), all, hosts, what, List(names), c.reckoned(*limit, all))
		c.stopBy(rule+key, text, names, nil)
	}
	judge(".failed", more.failed, limits.Failed, bad, what)
	judge(".unreachable", more.unreachable, limits.Unreachable, of.unreachable, "cannot be reached")
	judge(".restarts", more.restarted, limits.Restarts, of.restarted, "have restarted something")
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
		text := fmt.Sprintf("gates not passed: %d; limit: %s; last gate: %s: %s", len(one.names), c.reckoned(one.limit, len(c.plan.Batches)), one.names[len(one.names)-1], why)
		c.stopBy(one.rule, text, nil, one.names)
	}
}

// reckoned returns a limit with its calculation: "3", or "2 (1.5% of 170, rounded down)".
func (c *Conductor) reckoned(a Amount, of int) string {
	if a.Count > 0 {
		return a.String()
	}
	return fmt.Sprintf("%d (%s of %d, rounded down, at least 1)", a.Down(of), a, of)
}

func (c *Conductor) stopBy(rule, text string, hosts, gates []string) {
	c.stop = &Stop{Rule: rule, Text: text, Hosts: slices.Clone(hosts), Gates: slices.Clone(gates), Batch: c.Batch()}
}
