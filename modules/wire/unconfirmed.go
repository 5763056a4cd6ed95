package wire

import (
	"fmt"
	"strings"
	"time"
)

// Unconfirmed describes an armed change on a host that is not confirmed. footprint prints its JSON.
type Unconfirmed struct {
	Run       string        `json:"run"`
	Holder    string        `json:"holder"`            // operator and machine of the run
	At        time.Time     `json:"armed_at,omitzero"` // on the clock of the host
	Left      time.Duration `json:"-"`                 // until the deadline; at most 0 after it and after a restart of the host
	LeftMS    int64         `json:"left_ms"`           // Left for JSON; 0 after the deadline
	Watchdog  WatchdogState `json:"watchdog"`          // whether the watchdog runs
	Reverting bool          `json:"reverting"`         // the change is being taken back
	Resources []string      `json:"resources"`         // type#name of the changed ones
	More      bool          `json:"more,omitempty"`    // there are other resources, or some whose names are secret
	Outlook   string        `json:"outlook"`           // when the change is taken back, as text
	Hint      string        `json:"hint,omitempty"`    // command that takes it back
}

// WatchdogState reports whether the watchdog of a host runs.
type WatchdogState string

// States. WatchdogUnknown belongs to a host without flock(1) and without a running host program.
const (
	WatchdogRuns    WatchdogState = "yes"
	WatchdogEnded   WatchdogState = "no"
	WatchdogUnknown WatchdogState = "unknown"
)

// NextRun reports whether the next run that applies takes the change back, and nothing before it.
func (u *Unconfirmed) NextRun() bool { return u.Watchdog == WatchdogEnded && u.Left <= 0 }

// Ends returns when the change is taken back.
func (u *Unconfirmed) Ends() string {
	left := u.Left.Round(time.Second)
	switch {
	case u.Watchdog == WatchdogRuns && (u.Reverting || u.Left <= 0):
		return "the host takes them back now"
	case u.Reverting || u.NextRun():
		return "the next run that applies takes them back first"
	case u.Watchdog == WatchdogEnded:
		return fmt.Sprintf("no watchdog runs: unless that run confirms them within %v, the next run that applies takes them back first", left)
	case u.Watchdog == WatchdogUnknown && left > 0:
		return fmt.Sprintf("unless that run confirms them within %v, the host or the next run that applies takes them back", left)
	case left > 0:
		return fmt.Sprintf("the host takes them back unless that run confirms them within %v", left)
	}
	return "the host or the next run that applies takes them back"
}

// String describes the change in one sentence.
func (u *Unconfirmed) String() string {
	return fmt.Sprintf("changes of run %s (%s) are armed and not confirmed: %s", u.Run, u.Holder, u.Ends())
}

// Names returns the resources, as text.
func (u *Unconfirmed) Names() string {
	text := strings.Join(u.Resources, ", ")
	switch {
	case u.More && text == "":
		return "resources that cannot be named here"
	case u.More:
		return text + ", and more"
	}
	return text
}
