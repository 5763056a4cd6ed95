package schedule

import "slices"

// claims are the things that entries are about to change, by keys. Two entries of which
// neither depends on the other may still be about one thing, such as two lines of a file.
// They may be worked on at once up to their Checks, but what one has found must not be what
// was there before the change of the other.
type claims struct {
	held    map[string]bool // things that are being changed
	changes int             // how many claims have ended
	changed map[string]int  // thing → which of those it was that changed it last
}

func newClaims() claims { return claims{held: map[string]bool{}, changed: map[string]int{}} }

// busy reports whether anything is claimed already.
func (c *claims) busy(keys []string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return c.held[key] })
}

// take claims things, unless one of them was changed since.
func (c *claims) take(keys []string, since int) bool {
	if slices.ContainsFunc(keys, func(key string) bool { return c.changed[key] > since }) {
		return false
	}
	for _, key := range keys {
		c.held[key] = true
	}
	return true
}

// end ends a claim.
func (c *claims) end(keys []string) {
	c.changes++
	for _, key := range keys {
		delete(c.held, key)
		c.changed[key] = c.changes
	}
}
