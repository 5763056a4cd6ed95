package wire

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Reversals name resources that the host will undo: resources that have left the manifest, or that an earlier run
// changed (see [Undo]). They count as entries after the entries of the catalog, and each has a result.
type Reversals struct {
	Entries []Reversal `json:"entries"` // at least one, at most [MaxUndone]
}

// A Reversal is a resource that is undone.
type Reversal struct {
	Type      string `json:"type"`
	Name      string `json:"name"`
	Sensitive bool   `json:"sensitive,omitempty"`
}

// Valid reports whether a resource of that type and name can be remembered.
func (r Reversal) Valid() bool {
	return CheckReversalName(r.Type) == nil && !strings.Contains(r.Type, "#") && CheckReversalName(r.Name) == nil
}

// Limits of the records of a host.
const (
	MaxReversals    = 1000   // resources, of all plays together
	MaxUndone       = 10_000 // changes of one run
	MaxReversalName = 1024   // bytes of a name
)

// validate checks bounds, and that no name holds what a terminal obeys.
func (r *Reversals) validate() error {
	if r == nil {
		return nil
	}
	if len(r.Entries) == 0 || len(r.Entries) > MaxUndone {
		return fmt.Errorf("%d resources are undone, and 1 to %d are possible", len(r.Entries), MaxUndone)
	}
	for _, e := range r.Entries {
		if !e.Valid() {
			return fmt.Errorf("a resource that is undone is named %.64q, %.64q", e.Type, e.Name)
		}
	}
	return nil
}

// CheckReversalName refuses names that are not recorded: too long names, and names that a line of a report cannot show.
func CheckReversalName(name string) error {
	switch {
	case len(name) > MaxReversalName:
		return fmt.Errorf("its name has %d bytes, and at most %d are remembered", len(name), MaxReversalName)
	case !nameable(name):
		return fmt.Errorf("its name %.64q is empty or has characters that cannot be printed", name)
	}
	return nil
}

func nameable(name string) bool {
	return name != "" && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) })
}
