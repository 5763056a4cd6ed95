package keys

// Rollout has the keys of rollout: how a play proceeds through its hosts, and when it stops.
type Rollout struct {
	Batches          any     `json:"batches" doc:"batch sizes: a number of hosts, a percentage of the hosts that will change (rounded up, at least 1), or a list of these; the last size repeats; rest at the end means all remaining hosts. Default: one batch of all"`
	By               string  `json:"by" doc:"an inventory variable: hosts with the same value can replace each other, so max_unavailable applies to each value"`
	MaxUnavailable   any     `json:"max_unavailable" doc:"how many hosts can be out of service at once, for each value of by or in total: a number, or a percentage of the hosts of the play (rounded down, at least 1). Default: no limit but --forks"`
	Soak             Seconds `json:"soak" doc:"how long the health checks of a host must pass without a failure before the host counts as done, such as 30s; a bare number is seconds"`
	HostDeadline     Seconds `json:"host_deadline" doc:"the time limit of a host from the start of its drain to the end of its soak; a host that exceeds it has failed. Default: no limit"`
	ProgressDeadline Seconds `json:"progress_deadline" doc:"the rollout stops if no host is done within this time; the time does not count while the rollout is held. Default: no limit"`
	Gate             any     `json:"gate" doc:"checks after each batch, before the next batch starts: a map, or a list of maps"`
	Drain            Drain   `json:"drain" doc:"resources on other hosts that take a host out of service, and put it back"`
	Stop             Stop    `json:"stop" doc:"limits at which the rollout stops, counted over the whole rollout: a number, or a percentage of its hosts (for gate: of its batches), rounded down, at least 1"`
	OnStop           string  `json:"on_stop" enum:"hold,end,undo_batch,undo_all" default:"hold" doc:"action when the rollout stops: hold waits for a person, end ends the run, undo_batch and undo_all revert the changes on the hosts of the batch or on all hosts"`
	Pause            any     `json:"pause" doc:"wait for a person between batches: true, or the longest wait, such as 2h; default: false"`
}

// Gate is the keys of a gate.
type Gate struct {
	Name         string  `json:"name" doc:"its name in reports; default: the name of its check"`
	Check        any     `json:"check" required:"true" doc:"a health check, as resources have them in health_checks"`
	On           string  `json:"on" doc:"the host where the check runs; controller is the machine where ccm-push runs. Default: each host of the batch"`
	Interval     Seconds `json:"interval" default:"10s" doc:"the time between two checks; a bare number is seconds"`
	Count        *int    `json:"count" default:"1" doc:"the number of checks, 1-1000"`
	FailureLimit int     `json:"failure_limit" doc:"the number of failed checks with which the gate still passes; default: 0"`
	ErrorLimit   *int    `json:"error_limit" default:"3" doc:"the gate is inconclusive after more consecutive checks without an answer than this, 0-1000"`
	Inconclusive string  `json:"inconclusive" enum:"hold,stop" default:"hold" doc:"how an inconclusive gate is handled: hold waits for a person, stop counts it as not passed"`
	Compare      string  `json:"compare" enum:"untouched" doc:"untouched also checks the same number of hosts that the rollout has not changed yet: if both fail, the gate is inconclusive"`
}

// MaxQuestions bounds the numbers of a gate.
const MaxQuestions = 1000

// Drain is the keys of drain.
type Drain struct {
	Before any `json:"before" doc:"resources, each with on, that take the host out of service before it is changed"`
	After  any `json:"after" doc:"resources, each with on, that put the host back when it is done"`
}

// Stop is the keys of stop: those for the whole rollout, and those for each batch.
type Stop struct {
	Limits
	PerBatch Limits `json:"per_batch" doc:"more limits for each single batch; percentages are of its hosts"`
}

// Limits are numbers at which a rollout stops.
type Limits struct {
	Failed      any `json:"failed" doc:"failed hosts; unreachable hosts count too, unless unreachable has its own limit. Default, of the whole rollout: 1"`
	Unreachable any `json:"unreachable" doc:"hosts that cannot be reached, or were lost"`
	Gate        any `json:"gate" doc:"gates that were not passed. Default, of the whole rollout: 1"`
	Restarts    any `json:"restarts" doc:"hosts on which a change of another resource restarted a service or ran a command"`
}
