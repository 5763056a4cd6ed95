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
