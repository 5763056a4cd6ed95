package share

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/playbooks/catalog"
)

// A place is an entry of a host in the play at hand.
type place struct {
	host  string
	index int
}

// circle reports whether the entry that a host waits for can run only after the waiting one, and how. It assumes that
// the entries of a host run one after the other: with strategy graph some could run earlier, but their number at once
// is bounded.
func (p *Participant) circle(index int, imp catalog.Import, target int) string {
	names := []string{fmt.Sprintf("a resource of %s waits for %s of %s", p.host, imp.Ref, imp.Host)}
	been := map[place]bool{}
	var walk func(at place) bool
	walk = func(at place) bool {
		if been[at] {
			return false
		}
		been[at] = true
		its := p.x.hosts[at.host].plays[p.play]
		for _, i := range its.awaitedUpTo(at.index) {
			for _, next := range its.imports[i] {
				to, ok := p.x.pending(p.play, next)
				if !ok {
					continue
				}
				names = append(names, fmt.Sprintf("one of %s for %s of %s", at.host, next.Ref, next.Host))
				if to.host == p.host && to.index >= index || walk(to) {
					return true
				}
				names = names[:len(names)-1]
			}
		}
		return false
	}
	if !walk(place{imp.Host, target}) {
		return ""
	}
	return strings.Join(names, ", ")
}

// pending finds the entry of a play that a value will come from, if that is known and
// it has not ended.
func (x *Exchange) pending(play int, imp catalog.Import) (place, bool) {
	from := x.hosts[imp.Host]
	if from == nil || from.plays[play] == nil {
		return place{}, false
	}
	p := from.plays[play]
	if found := p.exports[imp.Ref]; len(found) == 1 && !p.entries[found[0]].done {
		return place{imp.Host, found[0]}, true
	}
	return place{}, false
}

// awaitedUpTo returns the entries up to one that still have to receive something, in order.
func (p *hostPlay) awaitedUpTo(last int) []int {
	var all []int
	for i := range p.imports {
		if i <= last && !p.answered[i] {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, cmp.Compare[int])
	return all
}
