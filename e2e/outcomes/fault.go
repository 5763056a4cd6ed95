package outcomes

import (
	"fmt"
	"time"

	"github.com/ccm-push/ccm-push/e2e/faultproxy"
)

// A FaultKind is the kind of a fault.
type FaultKind string

// The kinds of faults.
const (
	CutLink     FaultKind = "cut link"      // connections to the host end, and new ones are refused for Millis
	Packet      FaultKind = "packet"        // a fault of faultproxy in one of the next connections to the host
	KillProgram FaultKind = "kill program"  // Signal to the host program
	KillSession FaultKind = "kill session"  // Signal to the sshd of the connection
	KillControl FaultKind = "kill ccm-push" // Signal to ccm-push
	Interrupt   FaultKind = "interrupt"     // SIGINT to ccm-push, and Twice after a moment SIGTERM as well
	FullNotes   FaultKind = "full notes"    // no room where the host keeps its notes, for Millis
	FullTree    FaultKind = "full tree"     // no room where files go, for Millis
	Reboot      FaultKind = "reboot"        // all processes of the host are killed, and it boots after Millis
)

// A Fault strikes once in a call: Delay after the host wrote its line number Line in this call, or, if Line is 0, Delay
// after the call began.
type Fault struct {
	Kind   FaultKind `json:"kind"`
	Host   string    `json:"host"` // whose lines are counted, and whom it strikes
	Line   int       `json:"line,omitempty"`
	Delay  int       `json:"delay,omitempty"`  // milliseconds
	Millis int       `json:"millis,omitempty"` // how long it lasts
	Signal int       `json:"signal,omitempty"`
	Twice  bool      `json:"twice,omitempty"`
	// The fault of a connection, and how many connections pass before it.
	Connection int              `json:"connection,omitempty"`
	Link       faultproxy.Fault `json:"link,omitzero"`
}

func (f Fault) String() string {
	when := fmt.Sprintf("after %d ms", f.Delay)
	if f.Line > 0 {
		when = fmt.Sprintf("%d ms after line %d of %s", f.Delay, f.Line, f.Host)
	}
	switch f.Kind {
	case Packet:
		return fmt.Sprintf("connection %d to %s: %s", f.Connection+1, f.Host, f.Link)
	case KillProgram, KillSession, KillControl:
		return fmt.Sprintf("%s of %s with signal %d, %s", f.Kind, f.Host, f.Signal, when)
	}
	return fmt.Sprintf("%s of %s for %d ms, %s", f.Kind, f.Host, f.Millis, when)
}

// A Struck fault is one that came about.
type Struck struct {
	Fault
	Call int // from 0
	At   time.Time
}
