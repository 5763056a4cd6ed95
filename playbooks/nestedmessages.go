package playbooks

import (
	"slices"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// nestedMessages reports the messages of nested manifests between the results of a host. One message comes before the
// first resource of the manifest that is not skipped. The other message comes after the last resource, if no resource
// failed.
type nestedMessages struct {
	all     []catalog.Note // in the order in which the manifests begin
	met     int            // so many of them may have begun
	current []openNote     // manifests that have begun, the outermost first
	report  func(kind events.MessageKind, text string)
}

// newNestedMessages returns the messages of a catalog's manifests, in the order in which they begin.
func newNestedMessages(all []catalog.Note, report func(kind events.MessageKind, text string)) *nestedMessages {
	return &nestedMessages{all: all, report: report}
}

type openNote struct {
	catalog.Note
	number int // among all
	begun  bool
}

// Before is called before a result is reported.
func (n *nestedMessages) Before(r *wire.Result) {
	for n.met < len(n.all) && n.all[n.met].First <= r.Index {
		n.current = append(n.current, openNote{Note: n.all[n.met], number: n.met})
		n.met++
	}
	n.current = slices.DeleteFunc(n.current, func(one openNote) bool { return one.Last < r.Index })
	if r.Status == wire.Skipped {
		return
	}
	for i := range n.current {
		if one := &n.current[i]; !one.begun {
			one.begun = true
			n.tell(events.Pre, one.Pre)
		}
	}
}

// stage takes the messages of the next stage of a play: the earlier ones are the first of these, and may end at another
// entry now.
func (n *nestedMessages) stage(all []catalog.Note) {
	n.all = all
	for i := range n.current {
		if one := &n.current[i]; one.number < len(all) {
			one.Note = all[one.number]
		}
	}
}

// After is called after a result was reported.
func (n *nestedMessages) After(r *wire.Result) {
	for _, one := range n.current {
		if one.Last == r.Index && (r.Status == wire.Stable || r.Status == wire.Changed) {
			n.tell(events.Post, one.Post)
		}
	}
}

func (n *nestedMessages) tell(kind events.MessageKind, text string) {
	if text != "" {
		n.report(kind, text)
	}
}
