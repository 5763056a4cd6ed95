package rollout

import "time"

// A Verb is what a person wants of a rollout that is under way.
type Verb string

const (
	Ask         Verb = "status"
	Go          Verb = "go"      // go on, after a stop or a pause
	HoldNow     Verb = "hold"    // begin no more hosts until somebody says go
	EndNow      Verb = "end"     // begin no more hosts, and end the run
	UndoNow     Verb = "undo"    // end the run, and take back what it has changed
	ReleaseHost Verb = "release" // the place of a host among those that may be out
)

// A Command is what a person says to a rollout, from wherever it is.
type Command struct {
	Verb Verb   `json:"verb"`
	Host string `json:"host,omitempty"` // to be released
	// Resource is what is to be mended again, of a host that is watched, as type#name; "" is all that is
	// left alone there.
	Resource string `json:"resource,omitempty"`
	By       string `json:"by,omitempty"` // who says so: user@machine
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

// A Status is how far a rollout is.
type Status struct {
	Run     string    `json:"run"`
	Play    string    `json:"play"`
	State   State     `json:"state"`
	Since   time.Time `json:"since"` // of that state
	Batch   int       `json:"batch"` // from 1; 0 before the first
	Batches int       `json:"batches"`
	Hosts   int       `json:"hosts"` // of the play
	// Names of hosts: stable before, to be changed, done, at work, that hold a place although they
	// are not at work, that failed, that could not be reached or were lost.
	Stable      int      `json:"stable"`
	ToChange    int      `json:"to_change"`
	Done        int      `json:"done"`
	Waiting     int      `json:"waiting"` // have not begun
	AtWork      []string `json:"at_work"`
	Held        []Held   `json:"held"`
	Failed      []string `json:"failed"`
	Unreachable []string `json:"unreachable"`
	Restarted   int      `json:"restarted"`
	Stop        *Stop    `json:"stop,omitempty"` // why it does not go on
}

// State is what a rollout is at.
type State string

const (
	Predicting State = "predicting" // hosts are asked what will change
	Working    State = "working"
	Stopping   State = "stopping" // it has stopped, and those at work are awaited
	HeldState  State = "held"     // a person has to say how it goes on
	Paused     State = "paused"   // a person is asked between batches
	Gating     State = "gating"   // a gate is asked
	Ended      State = "ended"    // no program runs it any more: so says its record
)

// Status says how far the rollout is. Who runs it fills in the rest.
func (c *Conductor) Status() Status {
	s := Status{
		Batch: c.Batch(), Batches: len(c.plan.Batches), Hosts: len(c.plan.Hosts), Stable: len(c.plan.Stable()), ToChange: c.plan.size(),
		AtWork: c.AtWork(), Held: c.Held(), Failed: c.counts.failed, Unreachable: c.counts.unreachable, Restarted: len(c.counts.restarted),
		Stop: c.stop, Done: c.done, Waiting: c.Left(),
	}
	return s
}
