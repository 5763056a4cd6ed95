package playbooks

import (
	"slices"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// nestedNotes tells the messages of nested manifests between the results of a
// host: one before the first resource of its manifest that is not skipped, the
// other after the last one if none has failed.
type nestedNotes struct {
	next    []catalog.Note // of manifests that have not begun, in order
	current []openNote     // of those that have, the outermost first
	report  func(kind events.MessageKind, text string)
}

type openNote struct {
	catalog.Note
	begun bool
}

// before is called ahead of a result being told.
func (n *nestedNotes) before(r *modules.Result) {
	for len(n.next) > 0 && n.next[0].First <= r.Index {
		n.current = append(n.current, openNote{Note: n.next[0]})
		n.next = n.next[1:]
	}
	n.current = slices.DeleteFunc(n.current, func(one openNote) bool { return one.Last < r.Index })
	if r.Status == modules.Skipped {
		return
	}
	for i := range n.current {
		if one := &n.current[i]; !one.begun {
			one.begun = true
			n.tell(events.Pre, one.Pre)
		}
	}
}

// after is called when a result has been told.
func (n *nestedNotes) after(r *modules.Result) {
	for _, one := range n.current {
		if one.Last == r.Index && (r.Status == modules.Stable || r.Status == modules.Changed) {
			n.tell(events.Post, one.Post)
		}
	}
}

func (n *nestedNotes) tell(kind events.MessageKind, text string) {
	if text != "" {
		n.report(kind, text)
	}
}
