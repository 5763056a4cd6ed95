package events

import "time"

// WatchStart reports that the plays are finished, and that their hosts are watched from now on.
type WatchStart struct {
	Stamp
	Hosts int `json:"hosts" doc:"how many hosts the run will watch"`
}

// WatchTotals has the counts of watched hosts at the end of watching.
type WatchTotals struct {
	Hosts     int `json:"hosts" doc:"how many hosts the run had to watch"`
	Unwatched int `json:"unwatched" doc:"hosts that were not watched at that time"`
	Drifted   int `json:"drifted" doc:"resources that had drifted"`
	Fighting  int `json:"fighting" doc:"drifted resources that are not repaired because something else keeps changing them"`
	// Failed has the parts of the exit status for those hosts that count as a failure.
	Failed int `json:"-"`
}

// Watched reports that a host is watched from now on, or again.
type Watched struct {
	Stamp
	Host      string   `json:"host" doc:"which"`
	Resources int      `json:"resources" doc:"how many of its resources are watched"`
	Polled    int      `json:"polled" doc:"watched resources whose changes cause no event: the host checks them at intervals"`
	Unsettled []string `json:"unsettled" doc:"resources that never reach their desired state, such as a command that always runs; they do not count as drift"`
}

// Drifted reports that a watched resource has drifted from the desired state, or is back in it.
type Drifted struct {
	Stamp
	Play    string    `json:"play" doc:"name of the play"`
	Host    string    `json:"host" doc:"where"`
	Type    string    `json:"type" doc:"of the resource"`
	Name    string    `json:"name" doc:"of the resource"`
	Alias   string    `json:"alias" doc:"of the resource; empty if it has none"`
	Settled bool      `json:"settled" doc:"it has its desired state again, without a repair by this run"`
	Status  Status    `json:"status" doc:"the status in a check run; failed: the check failed" enum:"stable,changed,failed"`
	Cause   Cause     `json:"cause" doc:"drift: it changed after it had its desired state; run: another run changed it; intent: it never had its desired state; empty: a resource that it depends on"`
	Certain bool      `json:"certain" doc:"the planned action depends on nothing else"`
	Message string    `json:"message" doc:"the planned action"`
	Changes []Change  `json:"changes" doc:"properties that differ"`
	Error   string    `json:"error,omitempty" doc:"set when failed"`
	Since   time.Time `json:"since" doc:"when the drift was first seen"`
	Writer  *Writer   `json:"writer,omitempty" doc:"the process or run that changed it, if the host knows"`
	Mode    string    `json:"mode" doc:"the reaction" enum:"report,repair"`
}

// A Writer identifies the run or program that changed a resource, as far as the host knows it.
type Writer struct {
	By      string `json:"by_run,omitempty" doc:"id of the run that did"`
	Holder  string `json:"holder,omitempty" doc:"user and machine of that run"`
	PID     int    `json:"pid,omitempty" doc:"of the process that did"`
	Program string `json:"program,omitempty" doc:"that the process ran"`
	User    string `json:"user,omitempty" doc:"of the process"`
	Package string `json:"package,omitempty" doc:"that the program belongs to"`
}

// Repaired reports the outcome of the repair of a resource.
type Repaired struct {
	Stamp
	Play  string     `json:"play" doc:"name of the play"`
	Host  string     `json:"host" doc:"where"`
	Type  string     `json:"type" doc:"of the resource"`
	Name  string     `json:"name" doc:"of the resource"`
	Alias string     `json:"alias" doc:"of the resource; empty if it has none"`
	By    string     `json:"by_run,omitempty" doc:"id of the run that did"`
	Since time.Time  `json:"since" doc:"when the drift was first seen"`
	Error string     `json:"error,omitempty" doc:"why the repair failed; empty: it has its desired state"`
	Next  *time.Time `json:"next,omitempty" doc:"when it is tried again, if it failed"`
}

// Fighting reports that a resource is no longer repaired: another program keeps changing it, or the maximum number of
// repairs is reached.
type Fighting struct {
	Stamp
	Play     string     `json:"play" doc:"name of the play"`
	Host     string     `json:"host" doc:"where"`
	Type     string     `json:"type" doc:"of the resource"`
	Name     string     `json:"name" doc:"of the resource"`
	Alias    string     `json:"alias" doc:"of the resource; empty if it has none"`
	Values   []string   `json:"values" doc:"the two states that it alternates between, each as the action that would repair it; empty: the desired state. No values if the repair budget is spent"`
	Times    int        `json:"times" doc:"how often it drifted, or was repaired"`
	WithinMS int64      `json:"within_ms" doc:"in what time"`
	Writer   *Writer    `json:"writer,omitempty" doc:"the process or run that changed it, if the host knows"`
	Next     *time.Time `json:"next,omitempty" doc:"when it is repaired again; absent: after a new catalog or ccm-push watch release"`
}

// RepairWaits reports that a resource is not repaired now, since the fleet's budget of repaired hosts is used up.
type RepairWaits struct {
	Stamp
	Play     string    `json:"play" doc:"name of the play"`
	Host     string    `json:"host" doc:"where"`
	Type     string    `json:"type" doc:"of the resource"`
	Name     string    `json:"name" doc:"of the resource"`
	Alias    string    `json:"alias" doc:"of the resource; empty if it has none"`
	Using    []string  `json:"using" doc:"the hosts that use the budget of the fleet"`
	Limit    int       `json:"limit" doc:"how many hosts the budget allows"`
	Hosts    int       `json:"hosts" doc:"how many hosts are watched"`
	WithinMS int64     `json:"within_ms" doc:"in what time"`
	Next     time.Time `json:"next" doc:"when the budget allows another host"`
}

// Unwatched reports that a host is not watched for now.
type Unwatched struct {
	Stamp
	Host  string     `json:"host" doc:"which"`
	Since time.Time  `json:"since" doc:"when it was lost"`
	Error string     `json:"error" doc:"why"`
	Hint  string     `json:"hint" doc:"the next step for the operator; may be empty"`
	Next  *time.Time `json:"next,omitempty" doc:"when it is tried again; none: when a worker has it"`
}

func (WatchStart) name() string  { return "watch_start" }
func (Watched) name() string     { return "watched" }
func (Drifted) name() string     { return "drift" }
func (Repaired) name() string    { return "repaired" }
func (Fighting) name() string    { return "fighting" }
func (RepairWaits) name() string { return "repair_waits" }
func (Unwatched) name() string   { return "unwatched" }

func (e WatchStart) stamped(s Stamp) Event  { e.Stamp = s; return e }
func (e Watched) stamped(s Stamp) Event     { e.Stamp = s; return e }
func (e Drifted) stamped(s Stamp) Event     { e.Stamp = s; return e }
func (e Repaired) stamped(s Stamp) Event    { e.Stamp = s; return e }
func (e Fighting) stamped(s Stamp) Event    { e.Stamp = s; return e }
func (e RepairWaits) stamped(s Stamp) Event { e.Stamp = s; return e }
func (e Unwatched) stamped(s Stamp) Event   { e.Stamp = s; return e }

// watchEvents are one of each.
func watchEvents() []Event {
	return []Event{WatchStart{}, Watched{}, Drifted{}, Repaired{}, Fighting{}, RepairWaits{}, Unwatched{}}
}

// decodeWatch reads the line of an event of a watch; nil if name is not one of them.
func decodeWatch(name string, line []byte) (Event, error) {
	switch name {
	case "watch_start":
		return decode[WatchStart](line)
	case "watched":
		return decode[Watched](line)
	case "drift":
		return decode[Drifted](line)
	case "repaired":
		return decode[Repaired](line)
	case "fighting":
		return decode[Fighting](line)
	case "repair_waits":
		return decode[RepairWaits](line)
	case "unwatched":
		return decode[Unwatched](line)
	}
	return nil, nil
}
