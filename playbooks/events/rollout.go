package events

// RolloutPlan describes how a play with a rollout will proceed through its hosts, before the first of them is changed.
// In a check run it follows the results.
type RolloutPlan struct {
	Stamp
	Play    string         `json:"play" doc:"name of the play"`
	Number  int            `json:"number" doc:"of the play in the run, from 1"`
	Batches []RolloutBatch `json:"batches" doc:"in their order"`
	Stable  []string       `json:"stable" doc:"hosts on which nothing will change; they are in no batch"`
	// Problems before the rollout began.
	Unreachable []string `json:"unreachable,omitempty" doc:"hosts that could not be reached"`
	Failed      []string `json:"failed,omitempty" doc:"hosts whose changes could not be determined"`
	Broken      []string `json:"broken,omitempty" doc:"hosts that were not healthy"`
	Harm        int      `json:"harm" doc:"worst case: hosts that can fail before the rollout stops by itself"`
	Reckoning   string   `json:"reckoning" doc:"how harm is calculated, for people"`
	Rules       []string `json:"rules" doc:"the limits of the rollout, for people, as key: value"`
	// Limits that an undo respects, too.
	By             string `json:"by,omitempty" doc:"the variable that groups hosts: hosts with the same value replace each other"`
	MaxUnavailable string `json:"max_unavailable,omitempty" doc:"how many hosts of a group may be unavailable at once: a number or a percentage"`
}

// A RolloutBatch is one batch of a [RolloutPlan].
type RolloutBatch struct {
	Hosts    []string         `json:"hosts" doc:"in the order of the inventory"`
	AtOnce   int              `json:"at_once" doc:"how many of them may run at once"`
	Restarts []RolloutRestart `json:"restarts,omitempty" doc:"resources that restart"`
}

// A RolloutRestart is a resource that will be restarted.
type RolloutRestart struct {
	Resource string `json:"resource" doc:"type#name"`
	Hosts    int    `json:"hosts" doc:"number of hosts of the batch on which it certainly restarts"`
	Likely   int    `json:"likely,omitempty" doc:"number of further hosts on which it likely restarts"`
}

// Gate is the result of a gate after a batch.
type Gate struct {
	Stamp
	Play    string `json:"play" doc:"name of the play"`
	Number  int    `json:"number" doc:"of the play in the run, from 1"`
	Batch   int    `json:"batch" doc:"from 1"`
	Name    string `json:"name" doc:"of the gate"`
	Verdict string `json:"verdict" doc:"inconclusive is never a yes" enum:"passed,failed,inconclusive"`
	Counts  bool   `json:"counts,omitempty" doc:"it counts as not passed"`
	Text    string `json:"text" doc:"the answer, for people"`
}

// HostRolling reports that a host of a rollout has begun: until [HostRolled] it may be out of service.
type HostRolling struct {
	Stamp
	Play   string `json:"play" doc:"name of the play"`
	Number int    `json:"number" doc:"of the play in the run, from 1"`
	Host   string `json:"host" doc:"which"`
}

// HostRolled is the outcome of a host of a rollout: it is finished, with drain and soak, or something failed.
type HostRolled struct {
	Stamp
	Play        string `json:"play" doc:"name of the play"`
	Number      int    `json:"number" doc:"of the play in the run, from 1"`
	Host        string `json:"host" doc:"which"`
	Failed      bool   `json:"failed,omitempty" doc:"something has failed on it"`
	Unreachable bool   `json:"unreachable,omitempty" doc:"it could not be reached, or was lost"`
	Touched     bool   `json:"touched,omitempty" doc:"it failed or was lost after it had changed"`
	Restarted   bool   `json:"restarted,omitempty" doc:"a resource on it restarted because another resource had changed"`
}

// RolloutStop reports that a rollout has stopped until someone continues it.
type RolloutStop struct {
	Stamp
	Play   string   `json:"play" doc:"name of the play"`
	Number int      `json:"number" doc:"of the play in the run, from 1"`
	Batch  int      `json:"batch" doc:"from 1; 0 before the first"`
	Rule   string   `json:"rule" doc:"the key of the limit, such as stop.failed; hold and end come from a person"`
	Text   string   `json:"text" doc:"the numbers that led to the decision"`
	Hosts  []string `json:"hosts" doc:"that are counted"`
	Then   string   `json:"then" doc:"the action that follows" enum:"hold,end,undo_batch,undo_all"`
	AtWork []string `json:"at_work,omitempty" doc:"hosts in progress: they finish first"`
	// Waiting counts the hosts of this batch and the later ones that have not begun.
	Waiting int `json:"waiting" doc:"hosts that have not started"`
}

// RolloutPause reports that the operator is prompted between two batches.
type RolloutPause struct {
	Stamp
	Play    string `json:"play" doc:"name of the play"`
	Number  int    `json:"number" doc:"of the play in the run, from 1"`
	Batch   int    `json:"batch" doc:"that is done, from 1"`
	Batches int    `json:"batches" doc:"how many there are"`
	Next    int    `json:"next" doc:"how many hosts come next"`
	WaitMS  int64  `json:"wait_ms,omitempty" doc:"how long the rollout waits for an answer, in milliseconds; absent: without limit"`
}

// RolloutSaid is an operator's command to a rollout that was carried out.
type RolloutSaid struct {
	Stamp
	Play   string `json:"play" doc:"name of the play"`
	Number int    `json:"number" doc:"of the play in the run, from 1"`
	Verb   string `json:"verb" doc:"what" enum:"go,hold,end,undo,release"`
	Host   string `json:"host,omitempty" doc:"whose place was released"`
	By     string `json:"by" doc:"who"`
}

func (RolloutPlan) name() string  { return "rollout_plan" }
func (Gate) name() string         { return "gate" }
func (HostRolling) name() string  { return "host_rolling" }
func (HostRolled) name() string   { return "host_rolled" }
func (RolloutStop) name() string  { return "rollout_stop" }
func (RolloutPause) name() string { return "rollout_pause" }
func (RolloutSaid) name() string  { return "rollout_said" }

func (e RolloutPlan) stamped(s Stamp) Event  { e.Stamp = s; return e }
func (e Gate) stamped(s Stamp) Event         { e.Stamp = s; return e }
func (e HostRolling) stamped(s Stamp) Event  { e.Stamp = s; return e }
func (e HostRolled) stamped(s Stamp) Event   { e.Stamp = s; return e }
func (e RolloutStop) stamped(s Stamp) Event  { e.Stamp = s; return e }
func (e RolloutPause) stamped(s Stamp) Event { e.Stamp = s; return e }
func (e RolloutSaid) stamped(s Stamp) Event  { e.Stamp = s; return e }

// rolloutEvents are an empty one of each event of this file.
func rolloutEvents() []Event {
	return []Event{RolloutPlan{}, Gate{}, HostRolling{}, HostRolled{}, RolloutStop{}, RolloutPause{}, RolloutSaid{}}
}

// decodeRollout reads an event of this file; nil if name is not one of them.
func decodeRollout(name string, line []byte) (Event, error) {
	switch name {
	case "rollout_plan":
		return decode[RolloutPlan](line)
	case "gate":
		return decode[Gate](line)
	case "host_rolling":
		return decode[HostRolling](line)
	case "host_rolled":
		return decode[HostRolled](line)
	case "rollout_stop":
		return decode[RolloutStop](line)
	case "rollout_pause":
		return decode[RolloutPause](line)
	case "rollout_said":
		return decode[RolloutSaid](line)
	}
	return nil, nil
}
