package record

import (
	"os"
	"slices"
	"time"
)

// maxAlike bounds the runs that are searched for a similar one: each costs two files.
const maxAlike = 50

// Took returns the duration of the last run similar to h: with the same plays, the same arguments, and that many hosts.
// It returns 0 if the last completed runs contain no similar run.
func (s Store) Took(h Header, hosts int) time.Duration {
	entries, err := os.ReadDir(s.Folder)
	if err != nil {
		return 0
	}
	looked := 0
	for _, e := range slices.Backward(entries) {
		if !IsID(e.Name()) || e.Name() == h.Run {
			continue
		}
		if looked++; looked > maxAlike {
			break
		}
		r, err := s.open(e.Name())
		if err == nil && r.whole(hosts) && r.alike(h) {
			return r.End.Ended.Sub(r.Started)
		}
	}
	return 0
}

// wordsOf are the values that a flag was given.
func wordsOf(flags []Flag, name string) []string {
	for _, f := range flags {
		if f.Name == name {
			return f.Words
		}
	}
	return nil
}

// whole reports whether a run of that many hosts was completed.
func (r *Run) whole(hosts int) bool {
	if r.End == nil || r.End.Outcome() == Interrupted || r.End.Outcome() == Incomplete {
		return false
	}
	of := r.End.Totals.Hosts
	return of.OK+of.Failed+of.Unreachable == hosts
}

// pace lists the flags that decide how much is done, and how much of it at once.
var pace = []string{"limit", "tags", "skip-tags", "start-at", "forks"}

func (r *Run) alike(h Header) bool {
	for _, name := range pace {
		if !slices.Equal(wordsOf(r.Flags, name), wordsOf(h.Flags, name)) {
			return false
		}
	}
	return r.Command == h.Command && r.What == h.What && r.Directory == h.Directory && r.Check == h.Check && r.Undoes == h.Undoes
}
