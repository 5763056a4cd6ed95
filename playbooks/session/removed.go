package session

import "github.com/ccm-push/ccm-push/modules/wire"

// remove adds to the catalog what the host says has left the manifest and is undone. The
// host may say so once, of a play that it was to remember, when it has reported all that
// the play has now; and it may name nothing of that.
func (c *catalogRun) remove(left *wire.Reversals) error {
	m := c.catalog.Remember
	switch {
	case m == nil, !m.Whole, c.catalog.Monitor, c.removed:
		return breach("the host undoes what nobody has asked it to")
	case c.missing() > 0:
		return breach("the host undoes something before it has reported %d of its %d resources", c.missing(), len(c.reported))
	}
	here := map[string]bool{}
	for _, ref := range m.Kept {
		here[ref] = true
	}
	for i := range c.catalog.Entries {
		here[c.catalog.Entries[i].Type+"#"+c.catalog.Entries[i].Name] = true
	}
	for _, e := range left.Entries {
		if ref := e.Type + "#" + e.Name; here[ref] {
			return breach("the host undoes %.64q, which the play has", ref)
		}
	}
	c.removed = true
	for _, e := range left.Entries {
		c.catalog.Entries = append(c.catalog.Entries, wire.Entry{Type: e.Type, Name: e.Name, Sensitive: e.Sensitive, Reversal: true})
	}
	c.reported = append(c.reported, make([]bool, len(left.Entries))...)
	return nil
}
