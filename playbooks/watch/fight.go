package watch

import (
	"fmt"
	"strings"
	"time"
)

// A sight is the value of a resource, from a time on; an empty value is the desired state.
type sight struct {
	at    time.Time
	value string
}

// maxSights bounds the kept history of a resource.
const maxSights = 16

// see notes what the resource is now.
func (i *item) see(now time.Time, value string) {
	if n := len(i.seen); n > 0 && i.seen[n-1].value == value {
		return
	}
	if len(i.seen) == maxSights {
		i.seen = append(i.seen[:0], i.seen[1:]...)
	}
	i.seen = append(i.seen, sight{now, value})
}

// flaps limits how often a resource that is not repaired may return to the same value within Per. After that it is no
// longer reported. It does not count as a fight, since ccm-push does not change it.
const flaps = 4

// fought reports whether the resource has just returned to an earlier value, with the desired state or another value
// between the two and before the first: A, B, A, B. Before its first drift, it was in the desired state.
func (i *item) fought(now time.Time) bool {
	n := len(i.seen)
	if n < 3 || i.seen[n-1].value != i.seen[n-3].value || now.Sub(i.seen[n-3].at) > i.rules.Per {
		return false
	}
	if n > 3 && i.seen[n-4].value != i.seen[n-2].value {
		return false
	}
	if i.rules.Mode == Repair {
		return true
	}
	return i.timesWithin(now) >= flaps
}

// timesWithin returns how often the resource has reached its value within Per.
func (i *item) timesWithin(now time.Time) (n int) {
	for _, s := range i.seen {
		if s.value == i.seen[len(i.seen)-1].value && now.Sub(s.at) <= i.rules.Per {
			n++
		}
	}
	return n
}

// values are the two that are fought about.
func (i *item) values() [2]string {
	n := len(i.seen)
	return [2]string{readable(i.seen[n-2].value), readable(i.seen[n-1].value)}
}

// readable returns the text of [Verdict.value] for people.
func readable(value string) string {
	parts := strings.Split(value, "\x00")
	text := strings.TrimSpace(parts[0])
	for i := 1; i+2 < len(parts); i += 3 {
		text += fmt.Sprintf("; %s: %s -> %s", parts[i], parts[i+1], parts[i+2])
	}
	return text
}

// times returns how often the resource has reached its value.
func (i *item) times() (n int) {
	for _, s := range i.seen {
		if s.value == i.seen[len(i.seen)-1].value {
			n++
		}
	}
	return n
}

// forgettable reports whether nothing of the past of the resource counts any more.
func (i *item) forgettable(now time.Time) bool {
	if i.busy || i.fights {
		return false
	}
	for _, s := range i.seen {
		if s.value != "" && now.Sub(s.at) <= i.rules.Per {
			return false
		}
	}
	return len(i.recent(now)) == 0
}
