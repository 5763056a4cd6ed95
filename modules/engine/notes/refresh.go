package notes

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// maxRefreshes bounds the notes of refreshes that are due.
const maxRefreshes = 10_000

// A Refresh is the record that a resource is due for a refresh.
type Refresh struct {
	Resource string `json:"resource"`         // as [resourceName] has it
	Action   string `json:"action,omitempty"` // [wire.Entry].Action of the subscriber
	Nth      int    `json:"nth,omitempty"`    // among the subscribers of a catalog that are called so and have the action, from 0
	// Changed is the resource that it follows from; "" if that is not known any more.
	Changed string `json:"changed,omitempty"`
	Run     string `json:"run,omitempty"` // run of the change
	// Play is the [wire.Catalog.Play] in which that has changed. Only that play can find that the resource has left it.
	Play string `json:"play,omitempty"`
	// Failed reports that the change failed, perhaps halfway: no subscriber is refreshed because of it as long as it
	// fails.
	Failed bool      `json:"failed,omitempty"`
	Time   time.Time `json:"time,omitzero"`
}

// refreshText is the document of the refreshes that are due.
type refreshText struct {
	Refresh []Refresh `json:"refresh"`
}

func (all *refreshText) valid() error {
	if len(all.Refresh) > maxRefreshes {
		return fmt.Errorf("it has more than %d notes", maxRefreshes)
	}
	seen := map[subscriber]bool{}
	for i, n := range all.Refresh {
		switch {
		case !strings.Contains(n.Resource, "#"), n.Nth < 0, seen[n.subscriber()],
			len(n.Resource) > maxName, len(n.Action) > maxName, len(n.Changed) > maxName, len(n.Run) > maxName, len(n.Play) > maxName:
			return fmt.Errorf("note %d is not valid", i+1)
		}
		seen[n.subscriber()] = true
	}
	return nil
}

// A subscriber is a resource that subscribes to others, as notes name it.
type subscriber struct {
	resource string
	action   string // action of an event; empty if it has only one
	nth      int
}

func (n Refresh) subscriber() subscriber { return subscriber{n.Resource, n.Action, n.Nth} }

// first returns the first subscriber that is called so and has the action.
func (s subscriber) first() subscriber { return subscriber{resource: s.resource, action: s.action} }

// served returns the actions of the entries that may serve the note, best first.
func (n Refresh) served() []string { return append([]string{n.Action}, servers[n.Action]...) }

// nameOf returns the name of an entry as the first subscriber of that name.
func nameOf(e *wire.Entry) subscriber { return subscriber{resource: resourceName(e), action: e.Action} }

// shown returns the name of the subscriber in messages.
func (s subscriber) shown() string {
	if s.action == "" {
		return s.resource
	}
	return s.resource + " (" + s.action + ")"
}

// Why is the end of a message about a refresh that an earlier run owes.
func (n Refresh) Why() string {
	switch {
	case n.Changed == "":
		return "it may be due: the journal of refreshes was damaged"
	case n.Run == "":
		return n.Changed + " had changed in an earlier run, which did not get to it"
	case n.Failed:
		return n.Changed + " had failed in run " + n.Run + ", and may have changed something"
	}
	return n.Changed + " had changed in run " + n.Run + ", which did not get to it"
}

// resourceName is type#name, made short if it is long: a name can be a whole script.
func resourceName(e *wire.Entry) string {
	name := strings.ToValidUTF8(e.Type+"#"+e.Name, "\uFFFD")
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(e.Name))
	return Clip(name, 100) + "… sha256:" + hex.EncodeToString(sum[:])
}
