package wire

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Reversals name resources that have left the manifest, and that the host is going to undo:
// they are counted as entries behind those of the catalog, and have a result each.
type Reversals struct {
	Entries []Reversal `json:"entries"` // at least one, at most [MaxReversals]
}

// A Reversal is a resource that has left the manifest.
type Reversal struct {
	Type      string `json:"type"`
	Name      string `json:"name"`
	Sensitive bool   `json:"sensitive,omitempty"`
}

// Valid reports whether a resource of that type and name can be remembered.
func (r Reversal) Valid() bool {
	return CheckReversalName(r.Type) == nil && !strings.Contains(r.Type, "#") && CheckReversalName(r.Name) == nil
}

// Bounds of what a host remembers.
const (
	MaxReversals    = 1000 // resources, of all plays together
	MaxReversalName = 1024 // bytes of a name
)

// validate checks bounds, and that no name holds what a terminal obeys.
func (r *Reversals) validate() error {
	if r == nil {
		return nil
	}
	if len(r.Entries) == 0 || len(r.Entries) > MaxReversals {
		return fmt.Errorf("%d resources have left the manifest, and 1 to %d are possible", len(r.Entries), MaxReversals)
	}
	seen := map[Reversal]bool{}
	for _, e := range r.Entries {
		e.Sensitive = false
		if !e.Valid() || seen[e] {
			return fmt.Errorf("a resource that has left the manifest is named %.64q, %.64q", e.Type, e.Name)
		}
		seen[e] = true
	}
	return nil
}

// CheckReversalName refuses names that are not remembered: too long ones, and those that no
// line of a report could show.
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
