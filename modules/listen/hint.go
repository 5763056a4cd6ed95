package listen

import (
	"maps"
	"slices"
)

// A Hint names the sources that may have changed since the previous hint.
type Hint struct {
	// Sources are indexes into the last argument of Listen, in their order.
	Sources []int
	// All is the reason why everything may have changed: events were lost, the host was asleep. "" if it has not.
	All string
	// Writers are the writing processes, as far as known, by the index of the source.
	Writers map[int]Writer
}

// A Writer is a process that wrote, described for people. Unknown fields are empty.
type Writer struct {
	PID     int
	Program string // the path of its executable, or its name
	User    string
}

func (h Hint) empty() bool { return len(h.Sources) == 0 && h.All == "" }

// merge joins two hints into one; h came first.
func (h Hint) merge(later Hint) Hint {
	if h.All == "" {
		h.All = later.All
	}
	h.Sources = slices.Concat(h.Sources, later.Sources)
	slices.Sort(h.Sources)
	h.Sources = slices.Compact(h.Sources)
	if len(later.Writers) > 0 {
		h.Writers = maps.Clone(h.Writers)
		if h.Writers == nil {
			h.Writers = map[int]Writer{}
		}
		maps.Copy(h.Writers, later.Writers)
	}
	return h
}
