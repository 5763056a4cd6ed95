package session

import "github.com/ccm-push/ccm-push/modules"

// leave adds to a catalog what the host says has left the manifest. It may say so once,
// of a play that it was to remember, when it has told of all that the play has now; and
// nothing that it names can be taken for that.
func (a *answers) leave(left *modules.Left) error {
	c := &a.Catalog
	m := c.Remember
	switch {
	case m == nil, !m.Whole, c.Monitor, a.left:
		return breach("the host undoes what nobody has asked it to")
	case a.missing() > 0:
		return breach("the host undoes something before it has reported %d of its %d resources", a.missing(), len(a.seen))
	}
	here := map[string]bool{}
	for _, ref := range m.Kept {
		here[ref] = true
	}
	for i := range c.Entries {
		here[c.Entries[i].Type+"#"+c.Entries[i].Name] = true
	}
	for _, e := range left.Entries {
		if ref := e.Type + "#" + e.Name; here[ref] {
			return breach("the host undoes %.64q, which the play has", ref)
		}
	}
	a.left = true
	for _, e := range left.Entries {
		c.Entries = append(c.Entries, modules.Entry{Type: e.Type, Name: e.Name, Sensitive: e.Sensitive, Left: true})
	}
	a.seen = append(a.seen, make([]bool, len(left.Entries))...)
	return nil
}
