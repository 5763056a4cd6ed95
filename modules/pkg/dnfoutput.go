package pkg

import (
	"strings"
)

// dnfOutput collects what dnf prints that matters.
type dnfOutput struct {
	done    []consequence
	reasons []string // what rpm stumbled over
	section string   // of the table: Installing, Installing dependencies, Removing, …
}

// line reads one line, be it of the table of a transaction:
//
//	Installing:
//	 demo      noarch      2:1.0-1      updates      6.4 k
//
// Lines that are not as expected are none of the table; a long name, which dnf
// writes on a line of its own, is left out.
func (o *dnfOutput) line(line string) {
	fields := strings.Fields(line)
	if strings.HasPrefix(line, "error: ") && len(o.reasons) < maxReasons {
		o.reasons = append(o.reasons, line)
	}
	if !strings.HasPrefix(line, " ") {
		o.section, _ = strings.CutSuffix(line, ":")
		return
	}
	if len(fields) < 5 || len(o.done) == maxConsequences {
		return
	}
	verb, _, _ := strings.Cut(o.section, " ")
	switch verb {
	case "Installing", "Upgrading", "Downgrading":
		o.done = append(o.done, consequence{fields[0], fields[2]})
	case "Removing":
		o.done = append(o.done, consequence{fields[0], ""})
	}
}

var (
	dnfLocked = lazily(`(?m)already locked by (\d+)`)
	dnfWho    = lazily(`(?m)^ *The application with PID (\d+) is: (.*)$`)
)

// dnfHolder says who holds the lock that dnf has not got.
func dnfHolder(stderr string) string {
	if m := dnfWho().FindStringSubmatch(stderr); m != nil {
		return "process " + m[1] + " (" + m[2] + ")"
	}
	if m := dnfLocked().FindStringSubmatch(stderr); m != nil {
		return "process " + m[1]
	}
	return "another process"
}
