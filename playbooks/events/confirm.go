package events

import "time"

// Armed reports that a host will change its login path next, and that a second login worked before. From now on the
// host reverts its changes unless they are confirmed.
type Armed struct {
	Stamp
	Play   string        `json:"play" doc:"name of the play"`
	Host   string        `json:"host" doc:"where"`
	Type   string        `json:"type" doc:"of the resource whose change is the first"`
	Name   string        `json:"name" doc:"of the resource"`
	Alias  string        `json:"alias" doc:"of the resource; empty if it has none"`
	Why    string        `json:"why" doc:"why it has to be confirmed: the part of the login that it may affect"`
	Within time.Duration `json:"-"` // without progress and without a confirmation
}

// Watchdog reports that the watchdog of a host ended before the changes that it takes back were confirmed. The host
// program starts another one.
type Watchdog struct {
	Stamp
	Play  string `json:"play" doc:"name of the play"`
	Host  string `json:"host" doc:"where"`
	Error string `json:"error" doc:"why no other watchdog could be started; empty if one runs"`
}

// Confirmed reports that a host was reached over new connections after its change, and keeps its changes.
type Confirmed struct {
	Stamp
	Play     string        `json:"play" doc:"name of the play"`
	Host     string        `json:"host" doc:"which"`
	Over     []string      `json:"over" doc:"the addresses and ports where it was reached"`
	Duration time.Duration `json:"-"` // since the end of its last resource
}

// Reverted reports that a host has reverted changes that were not confirmed.
type Reverted struct {
	Stamp
	Play    string         `json:"play" doc:"of this run"`
	Host    string         `json:"host" doc:"which"`
	Earlier string         `json:"earlier,omitempty" doc:"the id of the run that made these changes; absent if it is this run"`
	Holder  string         `json:"holder" doc:"user and machine of that run"`
	At      time.Time      `json:"at" doc:"when the changes were reverted"`
	Why     string         `json:"why" doc:"the reason, as the host reports it"`
	Because string         `json:"because,omitempty" doc:"why this run did not confirm the changes"`
	Results []UntoldResult `json:"results" doc:"one per resource; changed: reverted; skipped: kept; failed: could not be reverted"`
	More    int            `json:"more,omitempty" doc:"how many more results there are"`
	Error   string         `json:"error,omitempty" doc:"another error on the host"`
	Rest
}

// OfThisRun reports whether the changes were made by the run that reports the event.
func (e Reverted) OfThisRun() bool { return e.Earlier == "" }

func (Armed) name() string     { return "armed" }
func (Watchdog) name() string  { return "watchdog" }
func (Confirmed) name() string { return "confirmed" }
func (Reverted) name() string  { return "reverted" }

func (e Armed) stamped(s Stamp) Event     { e.Stamp = s; return e }
func (e Watchdog) stamped(s Stamp) Event  { e.Stamp = s; return e }
func (e Confirmed) stamped(s Stamp) Event { e.Stamp = s; return e }
func (e Reverted) stamped(s Stamp) Event  { e.Stamp = s; return e }

// The lines of these events.
type (
	armedFields struct {
		Armed
		WithinMS milliseconds `json:"within_ms" doc:"how long the host waits without progress and without a confirmation"`
	}
	confirmedFields struct {
		Confirmed
		DurationMS milliseconds `json:"duration_ms" doc:"since the end of its last resource"`
	}
)
