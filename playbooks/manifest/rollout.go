package manifest

import (
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
	"github.com/ccm-push/ccm-push/playbooks/rollout"
)

// A Rollout is how a play comes over its hosts, and when that stops.
type Rollout struct {
	At *yamlpos.Node // the block
	rollout.Rules
	Gates []*Gate
	// Before and After are plays of the resources that take a host out of service before it is
	// worked on, and put it back when it is done; nil is none. Every one of them is for the
	// host, and runs on another one.
	Before, After *Play
}

// A Gate is asked when all hosts of a batch are done, before the next one begins.
type Gate struct {
	Name string // for people
	// Check is a play of one resource with one health check, which is asked and nothing else.
	Check *Play
	// On is the host that is asked, or "controller"; nil is each host of the batch.
	On           *yamlpos.Node
	Interval     time.Duration // between two questions
	Count        int           // of questions; at least 1
	FailureLimit int           // more bad answers than that fail the gate
	ErrorLimit   int           // more questions in a row without an answer make it inconclusive
	// Inconclusive is what is done then: to hold, or to count it as failed.
	Inconclusive Inconclusive
	// Untouched asks as many hosts that the rollout has not touched yet, at the same moment: bad
	// answers of both are inconclusive.
	Untouched bool
}

// Inconclusive is what becomes of a gate that could not be decided.
type Inconclusive string

const (
	InconclusiveHold Inconclusive = "hold"
	InconclusiveStop Inconclusive = "stop"
)

// Plays are those of the block: of its drain, and of its gates.
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

// Inherit has the plays of the play's rollout be as it is in all but their resources: which hosts
// they are for, as whom they run, with which data and files.
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
