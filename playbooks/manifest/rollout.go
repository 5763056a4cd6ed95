package manifest

import (
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
)

// A Rollout defines how a play proceeds through its hosts, and when it stops.
type Rollout struct {
	At *yamlpos.Node // the block
	rollout.Rules
	Gates []*Gate
	// Before and After are plays with the resources that take a host out of service before it is changed, and put it
	// back afterwards; nil means none. Every one of them is for the host, and runs on another host.
	Before, After *Play
}

// A Gate is a check that runs when all hosts of a batch are finished, before the next batch begins.
type Gate struct {
	Name string // for people
	// Check is a play of one resource with one health check, which is the only thing that runs.
	Check *Play
	// On is the host that runs the check, or "controller"; nil means each host of the batch.
	On           *yamlpos.Node
	Interval     time.Duration // between two questions
	Count        int           // number of checks; at least 1
	FailureLimit int           // more bad answers than that fail the gate
	ErrorLimit   int           // more questions in a row without an answer make it inconclusive
	// Inconclusive is the reaction to an inconclusive gate: hold, or count it as failed.
	Inconclusive Inconclusive
	// Untouched also checks as many hosts that the rollout has not changed yet, at the same moment: bad results of both
	// are inconclusive.
	Untouched bool
}

// Inconclusive is the reaction to a gate without a decision.
type Inconclusive string

const (
	InconclusiveHold Inconclusive = "hold"
	InconclusiveStop Inconclusive = "stop"
)

// Plays returns the plays of the block: of its drain, and of its gates.
func (r *Rollout) Plays() []*Play {
	if r == nil {
		return nil
	}
	var all []*Play
	for _, p := range []*Play{r.Before, r.After} {
		if p != nil {
			all = append(all, p)
		}
	}
	for _, g := range r.Gates {
		all = append(all, g.Check)
	}
	return all
}

// Inherit copies the play's settings to the plays of its rollout, except its resources: the hosts, the user, the data
// and the files.
func (p *Play) Inherit() {
	for _, one := range p.Rollout.Plays() {
		*one = p.aside(one.Resources)
	}
}

// aside is the play with other resources, which run in the order written, are always selected,
// and leave nothing to remember.
func (p *Play) aside(resources []*Resource) Play {
	one := *p
	one.Resources, one.JetFile, one.Configuration, one.Undo = resources, nil, nil, nil
	one.Serial, one.MaxFail, one.AnyFatal, one.Rollout = nil, nil, false, nil
	one.Strategy, one.Parallel = Linear, 0
	one.Pre, one.Post, one.RememberedAs, one.Watch = nil, nil, nil, nil
	one.Tags, one.selection, one.Warnings = nil, nil, nil
	return one
}
