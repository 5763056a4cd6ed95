package schedule

import "slices"

// Two entries of which neither depends on the other may still be about one thing, such
// as two lines of a file. They may be worked on at once up to their Checks, but what one
// has found must not be what was there before the change of the other. So who is about to
// change things claims them, by keys.
type claims struct {
	held    map[string]bool // things that are being changed
	changes int             // how many claims have ended
	changed map[string]int  // thing → which of those it was that changed it last
}

func newClaims() claims { return claims{held: map[string]bool{}, changed: map[string]int{}} }

func (c *claims) busy(key string) bool { return c.held[key] }

func (c *claims) take(keys []string, since int) bool {
	if slices.ContainsFunc(keys, func(key string) bool { return c.changed[key] > since }) {
		return false
	}
	for _, key := range keys {
		c.held[key] = true
	}
	return true
}

// Clock counts the claims that have ended.
func (s *Scheduler) Clock() int {
	if s == nil {
		return 0
	}
	return s.claims.changes
}

// Claim waits until the things of keys are not claimed by others. It reports false if one of
// them was changed since: then what was found out about them is out of date, and they are
// not claimed.
func (s *Scheduler) Claim(keys []string, since int) bool {
	if s == nil {
		return true
	}
	for slices.ContainsFunc(keys, s.claims.busy) {
		s.changed.Wait()
	}
	return s.claims.take(keys, since)
}

// TryClaim is Claim for things that can as well be left alone if others have claimed them.
func (s *Scheduler) TryClaim(keys []string, since int) bool {
	if s == nil {
		return true
	}
	return !slices.ContainsFunc(keys, s.claims.busy) && s.claims.take(keys, since)
}

// Unclaim ends a claim.
func (s *Scheduler) Unclaim(keys []string) {
	if s == nil {
		return
	}
	s.claims.changes++
	for _, key := range keys {
		delete(s.claims.held, key)
		s.claims.changed[key] = s.claims.changes
	}
	s.changed.Broadcast()
}
