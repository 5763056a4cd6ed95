package playbooks

import (
	"fmt"
	"slices"
)

// A hostPhase is the progress of a host in a run. It is the only place for that: it decides the next actions on a host.
type hostPhase int

const (
	// hostQueued: no play has begun on the host, and the run keeps no connection to it.
	hostQueued hostPhase = iota
	// hostReady: no play has begun on the host. It was checked or compiled, and its connection is kept.
	hostReady
	// hostStarting: a play connects, starts the host program, compiles or checks. Nothing has begun on the host.
	hostStarting
	// hostWorking: a play works on the host, and something has begun there, or may have.
	hostWorking
	// hostWaiting: between two plays, without a connection.
	hostWaiting
	// hostKept: between two plays, with a connection that is kept.
	hostKept
	// hostInterrupted: the run was stopped in the middle of a play, and an event reports that.
	hostInterrupted
	// hostDone: the host has ended its last play.
	hostDone
	// hostFailed: a resource has failed. The host enters no further play.
	hostFailed
	// hostLost: the host has failed as a whole. It enters no further play.
	hostLost
	// hostUnreachable: the host has failed as a whole, since it could not be reached.
	hostUnreachable
)

var phaseNames = [...]string{"queued", "ready", "starting", "working", "waiting", "kept", "interrupted", "done", "failed", "lost", "unreachable"}

func (p hostPhase) String() string { return phaseNames[p] }

// phaseOrder lists the phases that may follow each phase.
var phaseOrder = [...][]hostPhase{
	hostQueued:      {hostStarting, hostWorking, hostDone}, // working and done: by a run that only watches
	hostReady:       {hostStarting, hostWorking},
	hostStarting:    {hostQueued, hostReady, hostWorking, hostDone, hostFailed, hostLost, hostUnreachable},
	hostWorking:     {hostWaiting, hostKept, hostInterrupted, hostDone, hostFailed, hostLost, hostUnreachable},
	hostWaiting:     {hostWorking, hostDone},
	hostKept:        {hostWorking, hostDone},
	hostInterrupted: {hostDone},
	hostFailed:      {hostLost, hostUnreachable},
	hostUnreachable: nil,
}

// begun reports whether something has begun on the host, or may have.
func (p hostPhase) begun() bool { return p >= hostWorking }

// over reports whether the host enters no further play, and its host_done event is due or reported.
func (p hostPhase) over() bool { return p >= hostDone }

// hasFailed reports whether the host has failed, by a resource or as a whole.
func (p hostPhase) hasFailed() bool { return p >= hostFailed }

// wasLost reports whether the host has failed as a whole.
func (p hostPhase) wasLost() bool { return p >= hostLost }

// keeps reports whether the host has a place among the kept connections.
func (p hostPhase) keeps() bool { return p == hostReady || p == hostKept }

// phase returns the phase of the host.
func (s *hostState) phase() hostPhase { return hostPhase(s.now.Load()) }

// to takes the host to another phase. A phase that may not follow is refused and reported as a bug.
func (s *hostState) to(next hostPhase) {
	s.toUnless(next, func(hostPhase) bool { return false })
}

// toUnless is to, except in phases in which the host stays. A run that watches calls it from two goroutines.
func (s *hostState) toUnless(next hostPhase, stays func(hostPhase) bool) {
	for {
		was := s.phase()
		switch {
		case stays(was):
			return
		case !slices.Contains(phaseOrder[was], next):
			text := fmt.Sprintf("bug: host %s cannot go from %s to %s; please report this", s.host.Name, was, next)
			if s.bugs == nil {
				panic(text)
			}
			s.bugs(text)
			return
		case s.now.CompareAndSwap(int32(was), int32(next)):
			return
		}
	}
}

// begin notes that something begins on the host.
func (s *hostState) begin() { s.toUnless(hostWorking, hostPhase.begun) }

// enter notes that a play or a check of the run takes the host.
func (s *hostState) enter() {
	if s.phase().begun() {
		s.to(hostWorking)
	} else {
		s.to(hostStarting)
	}
}

// rest notes that the host waits for its next play. keeps is set if its connection is kept.
func (s *hostState) rest(keeps bool) {
	switch {
	case s.phase() == hostInterrupted:
	case s.phase().begun() && keeps:
		s.to(hostKept)
	case s.phase().begun():
		s.to(hostWaiting)
	case keeps:
		s.to(hostReady)
	default:
		s.to(hostQueued)
	}
}

// fail notes that a resource has failed. Only a host that a play works on can fail.
func (s *hostState) fail() {
	if s.phase() == hostStarting || s.phase() == hostWorking {
		s.to(hostFailed)
	}
}

// end notes that the host has ended its last play. A failed host stays failed.
func (s *hostState) end() { s.toUnless(hostDone, hostPhase.over) }
