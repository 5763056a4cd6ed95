package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/transport"
)

// deadlines is the value of --deadline: how long phases of working on a host may
// take. What is not given is 0.
type deadlines map[string]time.Duration

// deadlinePhases are what a deadline can be given for, in their order.
var deadlinePhases = []string{"dial", "handshake", "auth", "start", "facts", "resource", "host"}

// Set implements [pflag.Value]. The last one given for a phase counts.
func (d *deadlines) Set(text string) error {
	phase, limit, found := strings.Cut(text, "=")
	switch {
	case !found:
		return fmt.Errorf("write PHASE=DURATION, such as resource=10m")
	case !slices.Contains(deadlinePhases, phase):
		return fmt.Errorf("unknown phase %q; use one of %s", phase, strings.Join(deadlinePhases, ", "))
	}
	if *d == nil {
		*d = deadlines{}
	}
	if limit == "off" || limit == "0" {
		(*d)[phase] = playbooks.NoDeadline
		return nil
	}
	var value time.Duration
	if err := (seconds{&value}).Set(limit); err != nil {
		return fmt.Errorf("%w, or off", err)
	}
	if value == 0 {
		value = playbooks.NoDeadline
	}
	(*d)[phase] = value
	return nil
}

// String implements [pflag.Value]. Nothing is the default.
func (d *deadlines) String() string {
	var all []string
	for _, phase := range deadlinePhases {
		switch limit, given := (*d)[phase]; {
		case limit == playbooks.NoDeadline:
			all = append(all, phase+"=off")
		case given:
			all = append(all, phase+"="+limit.String())
		}
	}
	return strings.Join(all, ",")
}

// Type implements [pflag.Value].
func (*deadlines) Type() string { return "phase=duration" }

// limits are those of getting into a host.
func (d deadlines) limits() transport.Limits {
	return transport.Limits{Dial: d["dial"], Handshake: d["handshake"], Auth: d["auth"]}
}

// working are those of what follows.
func (d deadlines) working() playbooks.Deadlines {
	return playbooks.Deadlines{Start: d["start"], Facts: d["facts"], Resource: d["resource"], Host: d["host"]}
}
