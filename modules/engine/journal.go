package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// A Journal is where a host keeps which refreshes are due: it is written before
// the change that a refresh follows from, so that none is lost, whatever ends a
// run. *system.Journal is one.
type Journal interface {
	// Read gives what was last written; nil if there is nothing. An error means
	// that what is there cannot be trusted.
	Read() ([]byte, error)
	// MayWrite tells beforehand that Replace or SetAside cannot work.
	MayWrite() error
	// Replace puts text, or nothing if it is empty, in the place of what was there:
	// at once, and so that it outlives a crash.
	Replace(text []byte) error
	// SetAside moves what cannot be trusted away, and tells where it is now.
	SetAside() (path string, err error)
}

// Bounds of a journal.
const (
	maxDue     = 10_000 // notes
	maxDueText = 512    // bytes of a name or run id
)

// dueNote says that a resource is to be refreshed.
type dueNote struct {
	Resource string `json:"resource"`      // as [dueName] has it
	Nth      int    `json:"nth,omitempty"` // among the subscribers of a catalog that are called so, from 0
	// Changed is the resource that it follows from; "" if that is not known any more.
	Changed string `json:"changed,omitempty"`
	Run     string `json:"run,omitempty"` // in which that has changed
	// Failed says that the change did, halfway perhaps: nobody is refreshed for it
	// as long as it fails.
	Failed bool      `json:"failed,omitempty"`
	Time   time.Time `json:"time,omitzero"`
}

// dueText is what a journal holds.
type dueText struct {
	Refresh []dueNote `json:"refresh"`
}

// decodeKept reads one JSON object that the host has kept, with nothing behind it and no
// key that is not known.
func decodeKept(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the JSON object")
	}
	return nil
}

// parseDue reads a journal. Nothing is trusted because it is where it should be.
func parseDue(text []byte) ([]dueNote, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var all dueText
	if err := decodeKept(text, &all); err != nil {
		return nil, err
	}
	if len(all.Refresh) > maxDue {
		return nil, fmt.Errorf("it has more than %d notes", maxDue)
	}
	seen := map[dueKey]bool{}
	for i, n := range all.Refresh {
		switch {
		case !strings.Contains(n.Resource, "#"), n.Nth < 0, seen[n.key()],
			len(n.Resource) > maxDueText, len(n.Changed) > maxDueText, len(n.Run) > maxDueText:
			return nil, fmt.Errorf("note %d is not valid", i+1)
		}
		seen[n.key()] = true
	}
	return all.Refresh, nil
}

type dueKey struct {
	resource string
	nth      int
}

func (n dueNote) key() dueKey { return dueKey{n.Resource, n.Nth} }

// why is the end of a message about a refresh that an earlier run owes.
func (n dueNote) why() string {
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

// dueName is type#name, made short if it is long: a name can be a whole script.
func dueName(e *modules.Entry) string {
	name := strings.ToValidUTF8(e.Type+"#"+e.Name, "\uFFFD")
	if len(name) <= maxDueText {
		return name
	}
	sum := sha256.Sum256([]byte(e.Name))
	return clip(name, 100) + "… sha256:" + hex.EncodeToString(sum[:])
}
