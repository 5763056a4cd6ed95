package rollout

import "time"

// A Verb is an operator's command to a rollout in progress.
type Verb string

const (
	Ask         Verb = "status"
	Go          Verb = "go"      // continue after a stop or a pause
	HoldNow     Verb = "hold"    // begin no more hosts until a go
	EndNow      Verb = "end"     // begin no more hosts, and end the run
	UndoNow     Verb = "undo"    // end the run, and undo its changes
	ReleaseHost Verb = "release" // free the place of a host among the unavailable ones
)

// A Command is an operator's message to a rollout, from any terminal.
type Command struct {
	Verb Verb   `json:"verb"`
	Host string `json:"host,omitempty"` // to be released
	// Resource is the resource of a watched host that may be repaired again, as type#name; empty means all resources
	// there that are not repaired any more.
	Resource string `json:"resource,omitempty"`
	By       string `json:"by,omitempty"` // sender: user@machine
}

// A Reply answers a command.
type Reply struct {
	Error  string  `json:"error,omitempty"` // why it was not obeyed
	Status *Status `json:"status,omitempty"`
}

// A Request is a command that awaits its reply.
type Request struct {
	Command
	Answer func(Reply) // called once
}

// A Status is the progress of a rollout.
type Status struct {
	Run     string    `json:"run"`
	Play    string    `json:"play"`
	State   State     `json:"state"`
	Since   time.Time `json:"since"` // start of that state
	Batch   int       `json:"batch"` // from 1; 0 before the first
	Batches int       `json:"batches"`
	Hosts   int       `json:"hosts"` // number of hosts of the play
	// Numbers or names of hosts: stable before, to be changed, done, in progress, holding a place although not in
	// progress, failed, and unreachable or lost.
	Stable      int      `json:"stable"`
	ToChange    int      `json:"to_change"`
	Done        int      `json:"done"`
	Waiting     int      `json:"waiting"` // have not begun
	AtWork      []string `json:"at_work"`
	Held        []Held   `json:"held"`
	Failed      []string `json:"failed"`
	Unreachable []string `json:"unreachable"`
	Restarted   int      `json:"restarted"`
	Stop        *Stop    `json:"stop,omitempty"` // reason for the stop
}

// State is the phase of a rollout.
type State string

const (
	Predicting State = "predicting" // hosts are checked for the coming changes
	Working    State = "working"
	Stopping   State = "stopping" // it has stopped, and hosts in progress are finishing
	HeldState  State = "held"     // the operator has to decide how to continue
	Paused     State = "paused"   // the operator is prompted between batches
	Gating     State = "gating"   // a gate runs
	Ended      State = "ended"    // no program runs it any more, according to its record
)

// Status returns the progress of the rollout. The caller that runs it fills in the rest.
func (c *Conductor) Status() Status {
	s := Status{
		Batch: c.Batch(), Batches: len(c.plan.Batches), Hosts: len(c.plan.Hosts), Stable: len(c.plan.Stable()), ToChange: c.plan.size(),
		AtWork: c.AtWork(), Held: c.Held(), Failed: c.counts.failed, Unreachable: c.counts.unreachable, Restarted: len(c.counts.restarted),
		Stop: c.stop, Done: c.done, Waiting: c.Left(),
	}
	return s
}
