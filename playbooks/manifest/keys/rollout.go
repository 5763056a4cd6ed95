package keys

// Rollout is the keys of rollout: how a play comes over its hosts, and when that stops.
type Rollout struct {
	Batches          any     `json:"batches" doc:"batch sizes: a number of hosts, a percentage of those that will change, rounded up and at least 1, or a list of them, of which the last one repeats; rest, as the last one, is all that are left. Default: one batch of all"`
	By               string  `json:"by" doc:"a variable of the inventory: hosts with the same value stand in for one another, so max_unavailable is for each value"`
	MaxUnavailable   any     `json:"max_unavailable" doc:"how many hosts may be out at once, of each value of by or of all: a number, or a percentage of the hosts of the play, rounded down and at least 1. Default: no limit but --forks"`
	Soak             Seconds `json:"soak" doc:"how long the health checks of a host hold without a break before it counts as done, such as 30s; a bare number is seconds"`
	HostDeadline     Seconds `json:"host_deadline" doc:"how long a host may take, from its drain to the end of its soak; then it has failed. Default: no limit"`
	ProgressDeadline Seconds `json:"progress_deadline" doc:"when no host has got done for that long, the rollout stops; it stands still while the rollout is held. Default: no limit"`
	Gate             any     `json:"gate" doc:"what is asked when all hosts of a batch are done, before the next batch begins: a map, or a list of them"`
	Drain            Drain   `json:"drain" doc:"resources on other hosts that take a host out of service, and put it back"`
	Stop             Stop    `json:"stop" doc:"the numbers at which the rollout stops, counted over all of it: each a number, or a percentage of its hosts (of gate: of its batches), rounded down and at least 1"`
	OnStop           string  `json:"on_stop" enum:"hold,end,undo_batch,undo_all" default:"hold" doc:"what is done when it has stopped: hold waits for a person, end ends the run, undo_batch and undo_all take back what was changed on the hosts of the batch, or on all"`
	Pause            any     `json:"pause" doc:"ask a person between batches: true, or for how long it is waited for an answer, such as 2h; default: false"`
}

// Gate is the keys of a gate.
type Gate struct {
	Name         string  `json:"name" doc:"what it is called in reports; default: the name of its check"`
	Check        any     `json:"check" required:"true" doc:"a health check, as resources have them in health_checks"`
	On           string  `json:"on" doc:"the host that is asked; controller is where ccm-push runs. Default: each host of the batch"`
	Interval     Seconds `json:"interval" default:"10s" doc:"the time between two questions; a bare number is seconds"`
	Count        *int    `json:"count" default:"1" doc:"how many questions are asked, 1-1000"`
	FailureLimit int     `json:"failure_limit" doc:"more bad answers than that, and the gate is not passed; default: 0"`
	ErrorLimit   *int    `json:"error_limit" default:"3" doc:"more questions in a row without an answer than that, and the gate is inconclusive, 0-1000"`
	Inconclusive string  `json:"inconclusive" enum:"hold,stop" default:"hold" doc:"what an inconclusive gate does: hold waits for a person, stop counts it as not passed"`
	Compare      string  `json:"compare" enum:"untouched" doc:"untouched asks as many hosts that the rollout has not touched yet, too: bad answers of both are inconclusive"`
}

// MaxQuestions bounds the numbers of a gate.
const MaxQuestions = 1000

// Drain is the keys of drain.
type Drain struct {
	Before any `json:"before" doc:"resources, each with on, that take the host out of service before it is worked on"`
	After  any `json:"after" doc:"resources, each with on, that put the host back when it is done"`
}

// Stop is the keys of stop: those for the whole rollout, and those for each batch.
type Stop struct {
	Limits
	PerBatch Limits `json:"per_batch" doc:"the same for each batch by itself, percentages of its hosts; besides those of the whole rollout"`
}

// Limits are numbers at which a rollout stops.
type Limits struct {
	Failed      any `json:"failed" doc:"hosts that have failed; those that cannot be reached too, unless unreachable has a limit of its own. Default, of the whole rollout: 1"`
	Unreachable any `json:"unreachable" doc:"hosts that cannot be reached, or were lost"`
	Gate        any `json:"gate" doc:"gates that were not passed. Default, of the whole rollout: 1"`
	Restarts    any `json:"restarts" doc:"hosts on which something was restarted, or run, since another resource had changed"`
}
