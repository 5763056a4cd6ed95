package flags

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/transport"
)

// Deadlines is the value of --deadline: the limits of phases on a host. A phase without a limit is 0.
type Deadlines map[string]time.Duration

// deadlinePhases lists the phases that can have a deadline, in their order.
var deadlinePhases = []string{"dial", "handshake", "auth", "start", "facts", "resource", "host"}

// Set implements [pflag.Value]. The last one given for a phase counts.
func (d *Deadlines) Set(text string) error {
	phase, limit, found := strings.Cut(text, "=")
	switch {
	case !found:
		return fmt.Errorf("the duration is missing: write PHASE=DURATION, such as resource=10m")
	case !slices.Contains(deadlinePhases, phase):
		return fmt.Errorf("unknown phase %q; use one of %s", phase, strings.Join(deadlinePhases, ", "))
	}
	if *d == nil {
		*d = Deadlines{}
	}
	if limit == "off" || limit == "0" {
		(*d)[phase] = playbooks.NoDeadline
		return nil
	}
	var value time.Duration
	if err := (Seconds{&value}).Set(limit); err != nil {
		return fmt.Errorf("%w, or off", err)
	}
	if value == 0 {
		value = playbooks.NoDeadline
	}
	(*d)[phase] = value
	return nil
}

// String implements [pflag.Value]. Nothing is the default.
func (d *Deadlines) String() string {
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
func (*Deadlines) Type() string { return "phase=duration" }

// Limits returns the limits of a connection and its login.
func (d Deadlines) Limits() transport.Limits {
	return transport.Limits{Dial: d["dial"], Handshake: d["handshake"], Auth: d["auth"]}
}

// Working returns the limits of the phases after the login.
func (d Deadlines) Working() playbooks.Deadlines {
	return playbooks.Deadlines{Start: d["start"], Facts: d["facts"], Resource: d["resource"], Host: d["host"]}
}

// Seconds is the value of a flag that takes a duration such as 1m30s, or as
// Ansible does a number of seconds.
type Seconds struct{ *time.Duration }

// Set implements [pflag.Value].
func (s Seconds) Set(text string) error {
	d, err := time.ParseDuration(text)
	if n, notNumber := strconv.ParseUint(text, 10, 31); notNumber == nil {
		d, err = time.Duration(n)*time.Second, nil
	}
	if err != nil || d < 0 {
		return errors.New("write a number of seconds, or a duration such as 1m30s")
	}
	*s.Duration = d
	return nil
}

// String implements [pflag.Value]. [Seconds.Set] takes it: records keep it for resume. Help omits a default of 0.
func (s Seconds) String() string {
	if s.Duration == nil || *s.Duration == 0 {
		return "0"
	}
	return s.Duration.String()
}

// Type implements [pflag.Value].
func (Seconds) Type() string { return "duration" }
