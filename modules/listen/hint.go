package listen

import (
	"maps"
	"slices"
)

// A Hint says what may have changed since the one before.
type Hint struct {
	// Sources are indexes into what was last given to Listen, in their order.
	Sources []int
	// All says why everything may have changed: events were lost, the host was asleep. "" it
	// has not.
	All string
	// Writers are who wrote, as far as that is known, by the index of the source.
	Writers map[int]Writer
}

// A Writer is a process that wrote, for people. What is not known is left out.
type Writer struct {
	PID     int
	Program string // the path of its executable, or its name
	User    string
}

func (h Hint) empty() bool { return len(h.Sources) == 0 && h.All == "" }

// merge is one hint in place of two, of which h came first.
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
