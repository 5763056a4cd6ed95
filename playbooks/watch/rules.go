package watch

import (
	"slices"
	"time"
)

// Mode is what is done about a resource that has drifted.
type Mode string

// The modes.
const (
	Report Mode = "report" // it is told
	Repair Mode = "repair" // and mended
	Off    Mode = "off"    // nothing
)

// Rules are what a manifest says of a resource, or of all of a play.
type Rules struct {
	Mode Mode
	// Settle is for how long nothing may be heard of a resource before it is checked, and
	// Longest how long that is put off at most.
	Settle, Longest time.Duration
	// Poll is in what time every resource is checked, whatever is heard of it; 0 is never.
	Poll time.Duration
	// Budget is how often a resource of a host is mended within Per; more only after that.
	Budget int
	Per    time.Duration
	// Backoff are the waits behind a first, second, … repair in a row that did not help; the
	// last one stays.
	Backoff []time.Duration
	// Fleet is the share of the hosts that are repaired within Per, in percent, rounded down; Fewest is how many hosts it allows at
	// least.
	Fleet  float64
	Fewest int
	// OnlyCertain mends nothing of which it is not certain what that would do.
	OnlyCertain bool
	// Ignore are properties: what differs in these alone counts as it shall be.
	Ignore []string
	Quiet  []Window
	// Files are paths on the host: while one is there, nothing is told of the host.
	Files []string
}

// Defaults are the rules of a play that says nothing.
func Defaults() Rules {
	return Rules{
		Mode: Report, Settle: 2 * time.Second, Longest: 30 * time.Second, Poll: 10 * time.Minute,
		Budget: 3, Per: 10 * time.Minute, Backoff: []time.Duration{5 * time.Second, 30 * time.Second, 5 * time.Minute}, Fleet: 2, Fewest: 3, OnlyCertain: true,
	}
}

// wait is how long to wait after so many repairs in a row that did not help.
func (r *Rules) wait(failures int) time.Duration {
	if failures == 0 || len(r.Backoff) == 0 {
		return 0
	}
	return r.Backoff[min(failures, len(r.Backoff))-1]
}

// hosts is how many of the fleet are repaired within Per.
func (r *Rules) hosts(fleet int) int { return max(1, r.Fewest, int(float64(fleet)*r.Fleet/100)) }

// ignores reports whether changes are of properties that do not matter.
func (r *Rules) ignores(changes []Change) bool {
	return len(changes) > 0 && !slices.ContainsFunc(changes, func(c Change) bool { return !slices.Contains(r.Ignore, c.Property) })
}
