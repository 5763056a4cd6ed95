package activity

import (
	"slices"
	"strings"
	"time"
)

// A Snapshot is the state of all hosts at one moment.
type Snapshot struct {
	Begun   bool // else the rest is zero
	Check   bool
	Elapsed time.Duration // since the run began
	// Hosts is the number of hosts of the run; Done of them are done, and Working are in progress.
	Hosts, Done, Working int
	// Changed is the number of hosts with a change, real or predicted; they may also have failed.
	Changed, Failed, Unreachable int
	Watch                        *Watch // nil before hosts are watched
	// Longest are the hosts with the longest current steps, the longest first.
	Longest []Working
	// Ended are the hosts that are done, in the order of their ends. The caller must not change it.
	Ended []Ended
}

// An Ended is a host that is done.
type Ended struct {
	Host    string
	State   EndState
	Changed bool
}

// EndState is the outcome of a host, as a word for people.
type EndState string

// The states.
const (
	EndedWell        EndState = "done"
	EndedFailed      EndState = "failed"
	EndedUnreachable EndState = "unreachable"
)

// MaxLongest bounds the named hosts of a snapshot.
const MaxLongest = 3

// A Working is a host in progress.
type Working struct {
	Host       string
	What       string // current step: a phase or, before a resource, its type
	Resource   string // "" in a phase
	For        time.Duration
	Sent, Size int64 // bytes of the host program, if it is on its way
	Waits      bool  // waits for other hosts
}

// Snapshot returns the current state. For a nil Tracker nothing has begun.
func (t *Tracker) Snapshot() Snapshot {
	if t == nil {
		return Snapshot{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.began.IsZero() {
		return Snapshot{}
	}
	now := time.Now()
	s := Snapshot{
		Begun: true, Check: t.check, Elapsed: now.Sub(t.began),
		Hosts: t.hosts, Done: len(t.ended), Working: len(t.working), Changed: t.changed, Failed: t.failed, Unreachable: t.unreachable, Watch: t.watch,
		Ended: t.ended,
	}
	for _, h := range t.longest() {
		w := Working{Host: h.name, What: h.what, Resource: h.resource, For: now.Sub(h.since), Sent: h.sent, Size: h.size}
		w.Waits = h.resource != "" && h.waits != nil && h.waits()
		s.Longest = append(s.Longest, w)
	}
	return s
}

// longest returns the hosts with the longest current steps; equal ones by name.
func (t *Tracker) longest() []*Host {
	var list []*Host
	for h := range t.working {
		i, _ := slices.BinarySearchFunc(list, h, func(a, b *Host) int {
			if c := a.since.Compare(b.since); c != 0 {
				return c
			}
			return strings.Compare(a.name, b.name)
		})
		if i < MaxLongest {
			list = slices.Insert(list, i, h)
			list = list[:min(len(list), MaxLongest)]
		}
	}
	return list
}
