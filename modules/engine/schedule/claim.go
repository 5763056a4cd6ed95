package schedule

import "slices"

// claims are the things that entries are about to change, by keys. Two entries without a dependency may still concern
// one thing, such as two lines of a file. They may run in parallel up to their Checks, but a Check must not be older
// than the change of the other entry.
type claims struct {
	held    map[string]bool // things that are being changed
	changes int             // how many claims have ended
	changed map[string]int  // thing → entry that changed it last
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
