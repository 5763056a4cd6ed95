package watch

import (
	"slices"
	"time"
)

// Mode is the handling of a drifted resource.
type Mode string

// The modes.
const (
	Report Mode = "report" // the difference is reported
	Repair Mode = "repair" // and mended
	Off    Mode = "off"    // nothing
)

// Rules are a manifest's settings for a resource, or for all of a play.
type Rules struct {
	Mode Mode
	// Settle is for how long nothing may be heard of a resource before it is checked, and
	// Longest how long that is put off at most.
	Settle, Longest time.Duration
	// Poll is in what time every resource is checked, whatever is heard of it; 0 is never.
	Poll time.Duration
	// Budget is how often a resource of a host is repaired within Per; further repairs wait.
	Budget int
	Per    time.Duration
	// Backoff has the waits after the first, second, … repair in a row that did not help; the last one repeats.
	Backoff []time.Duration
	// Fleet is the share of the hosts that are repaired within Per, in percent, rounded down; Fewest is the minimum
	// number of hosts.
	Fleet  float64
	Fewest int
	// OnlyCertain skips repairs with an uncertain effect.
	OnlyCertain bool
	// Ignore has properties: a difference only in these is not drift.
	Ignore []string
	Quiet  []Window
	// Files are paths on the host: while one exists, nothing is reported about the host.
	Files []string
}

// Defaults returns the rules of a play without settings.
func Defaults() Rules {
	return Rules{
		Mode: Report, Settle: 2 * time.Second, Longest: 30 * time.Second, Poll: 10 * time.Minute,
		Budget: 3, Per: 10 * time.Minute, Backoff: []time.Duration{5 * time.Second, 30 * time.Second, 5 * time.Minute}, Fleet: 2, Fewest: 3, OnlyCertain: true,
	}
}

// wait returns the wait after that many repairs in a row that did not help.
func (r *Rules) wait(failures int) time.Duration {
	if failures == 0 || len(r.Backoff) == 0 {
		return 0
	}
	return r.Backoff[min(failures, len(r.Backoff))-1]
}

// hosts returns how many hosts of the fleet are repaired within Per.
func (r *Rules) hosts(fleet int) int { return max(1, r.Fewest, int(float64(fleet)*r.Fleet/100)) }

// ignores reports whether changes are of properties that do not matter.
func (r *Rules) ignores(changes []Change) bool {
	return len(changes) > 0 && !slices.ContainsFunc(changes, func(c Change) bool { return !slices.Contains(r.Ignore, c.Property) })
}
