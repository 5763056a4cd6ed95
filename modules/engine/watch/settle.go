package watch

import (
	"time"
)

// everything is the index that means all entries.
const everything = -1

// A pace is the wait after a hint: until there was no further hint for settle, but at most longest.
type pace struct{ settle, longest time.Duration }

// A settling is something that was hinted at.
type settling struct{ first, last time.Time }

func (s settling) due(p pace) time.Time {
	due, latest := s.last.Add(p.settle), s.first.Add(max(p.settle, p.longest))
	if latest.Before(due) {
		return latest
	}
	return due
}

// hinted are the entries that were hinted at and have not been checked since.
type hinted map[int]settling

// hint notes a hint at an entry.
func (h hinted) hint(i int, now time.Time) {
	s, ok := h[i]
	if !ok {
		s.first = now
	}
	s.last = now
	h[i] = s
}

// take returns the settled entries, and removes their hints.
func (h hinted) take(now time.Time, paceOf func(i int) pace) (due []int) {
	for i, s := range h {
		if !s.due(paceOf(i)).After(now) {
			due = append(due, i)
			delete(h, i)
		}
	}
	return due
}

// next returns when the next entry settles, or zero.
func (h hinted) next(paceOf func(i int) pace) (next time.Time) {
	for i, s := range h {
		next = earlier(next, s.due(paceOf(i)))
	}
	return next
}

// earlier returns the earlier of two times; zero means none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// A poll is when an entry is checked whether or not something was heard of it.
type poll struct {
	every time.Duration // 0 is never
	next  time.Time
}

// A polling are the polls of all entries of a catalog.
type polling []poll

// newPolling spreads the entries over the interval in which each is checked once.
func newPolling(now time.Time, every []time.Duration) polling {
	all := make(polling, len(every))
	for i, d := range every {
		all[i] = poll{d, now.Add(time.Duration(float64(d) * float64(i+1) / float64(len(every))))}
	}
	return all
}

// together is into how many parts the entries of a catalog fall that are polled together: so the
// host is not woken for each.
const together = 50

// take returns the entries to check, including entries that are due soon.
func (p polling) take(now time.Time) (due []int) {
	for i := range p {
		if p[i].every <= 0 || p[i].next.After(now.Add(p[i].every/together)) {
			continue
		}
		due = append(due, i)
		for p[i].next = p[i].next.Add(p[i].every); !p[i].next.After(now); { // the host was busy, or asleep
			p[i].next = p[i].next.Add(p[i].every * (1 + now.Sub(p[i].next)/p[i].every))
		}
	}
	return due
}

// next returns when the next entry is due, or zero.
func (p polling) next() (next time.Time) {
	for _, of := range p {
		if of.every > 0 {
			next = earlier(next, of.next)
		}
	}
	return next
}
