package events

import "time"

// WatchStart says that the plays are over, and that their hosts are watched from now on.
type WatchStart struct {
	Stamp
	Hosts int `json:"hosts" doc:"how many are to be watched"`
}

// WatchTotals are what watched hosts had come to when watching ended.
type WatchTotals struct {
	Hosts     int `json:"hosts" doc:"that were to be watched"`
	Unwatched int `json:"unwatched" doc:"hosts of them that were not watched then"`
	Drifted   int `json:"drifted" doc:"resources that were not as they shall be"`
	Fighting  int `json:"fighting" doc:"resources of them that are left alone: somebody else wants them otherwise"`
	// Failed are the parts of the exit status for those of these that count as a failure.
	Failed int `json:"-"`
}

// Watched says that a host is watched from now on, or again.
type Watched struct {
	Stamp
	Host      string   `json:"host" doc:"which"`
	Resources int      `json:"resources" doc:"how many of its resources are watched"`
	Polled    int      `json:"polled" doc:"those of them of which the host hears nothing: they are checked every now and then"`
	Unsettled []string `json:"unsettled" doc:"resources that never are as they shall be, such as a command that always runs: they are no drift"`
}

// Drifted says that a watched resource is not as it shall be, or is again.
type Drifted struct {
	Stamp
	Play    string    `json:"play" doc:"name of the play"`
	Host    string    `json:"host" doc:"where"`
	Type    string    `json:"type" doc:"of the resource"`
	Name    string    `json:"name" doc:"of the resource"`
	Alias   string    `json:"alias" doc:"of the resource; empty if it has none"`
	Settled bool      `json:"settled" doc:"it is as it shall be again, and this run has not mended it"`
	Status  Status    `json:"status" doc:"what a check run says of it; failed: it could not be found out" enum:"stable,changed,failed"`
	Cause   Cause     `json:"cause" doc:"drift: it has changed since it was left as it shall be; run: another run has left it otherwise; intent: it never was so; empty: what it depends on"`
	Certain bool      `json:"certain" doc:"nothing else decides what would be done"`
	Message string    `json:"message" doc:"what would be done"`
	Changes []Change  `json:"changes" doc:"properties that differ"`
	Error   string    `json:"error,omitempty" doc:"set when failed"`
	Since   time.Time `json:"since" doc:"when it was first seen otherwise"`
	Writer  *Writer   `json:"writer,omitempty" doc:"who has changed it, as far as the host knows"`
	Mode    string    `json:"mode" doc:"what is done about it" enum:"report,repair"`
}

// A Writer is who has changed a resource, as far as its host knows.
type Writer struct {
	By      string `json:"by_run,omitempty" doc:"id of the run that did"`
	Holder  string `json:"holder,omitempty" doc:"who ran that, and where"`
	PID     int    `json:"pid,omitempty" doc:"of the process that did"`
	Program string `json:"program,omitempty" doc:"that the process ran"`
	User    string `json:"user,omitempty" doc:"of the process"`
	Package string `json:"package,omitempty" doc:"that the program belongs to"`
}

// Repaired says what came of the repair of a resource.
type Repaired struct {
	Stamp
	Play  string     `json:"play" doc:"name of the play"`
	Host  string     `json:"host" doc:"where"`
	Type  string     `json:"type" doc:"of the resource"`
	Name  string     `json:"name" doc:"of the resource"`
	Alias string     `json:"alias" doc:"of the resource; empty if it has none"`
	By    string     `json:"by_run,omitempty" doc:"id of the run that did"`
	Since time.Time  `json:"since" doc:"when it was first seen otherwise"`
	Error string     `json:"error,omitempty" doc:"why it is not as it shall be; empty: it is"`
	Next  *time.Time `json:"next,omitempty" doc:"when it is tried again, if it failed"`
}

// Fighting says that a resource is left alone: somebody else wants it otherwise, or it has been mended
// as often as it may be.
type Fighting struct {
	Stamp
	Play     string     `json:"play" doc:"name of the play"`
	Host     string     `json:"host" doc:"where"`
	Type     string     `json:"type" doc:"of the resource"`
	Name     string     `json:"name" doc:"of the resource"`
	Alias    string     `json:"alias" doc:"of the resource; empty if it has none"`
	Values   []string   `json:"values" doc:"the two that it goes to and fro between, as what would be done about each; empty: as it shall be. None if it is left alone for its budget"`
	Times    int        `json:"times" doc:"how often it was otherwise, or was mended"`
	WithinMS int64      `json:"within_ms" doc:"in what time"`
	Writer   *Writer    `json:"writer,omitempty" doc:"who has changed it, as far as the host knows"`
	Next     *time.Time `json:"next,omitempty" doc:"when it is mended again; none: when there is another catalog, or a person says so"`
}

// RepairWaits says that a resource is not repaired now, since as many hosts have been repaired lately as the budget of the fleet allows.
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

// Unwatched says that a host is not watched for now.
type Unwatched struct {
	Stamp
	Host  string     `json:"host" doc:"which"`
	Since time.Time  `json:"since" doc:"when it was lost"`
	Error string     `json:"error" doc:"why"`
	Hint  string     `json:"hint" doc:"what to do next; may be empty"`
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

// decodeWatch reads the line of an event of a watch; nil if it is none.
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
