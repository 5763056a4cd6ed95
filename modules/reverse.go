package modules

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Reverser is a type whose resources can be undone: when one that says `reverse` has
// left the manifest, what was there before is put back.
type Reverser interface {
	// Reversal gives the properties, but for the name, of a resource of this type and
	// name that brings back what h has now. It is called after a Check that has found
	// something to do, and before the Apply; it changes nothing. An error says why that
	// could not be brought back, and keeps the resource from being applied.
	//
	// kept is nil, or what an earlier call came to, before another Apply: then what it
	// brings back is what has to come back. nil says that it does so after this Apply,
	// too. What is given in its place must do so before and after it, since nobody knows
	// whether the run gets that far.
	Reversal(ctx context.Context, h Host, kept Resource) (map[string]any, error)
	// Subject names what the resource is about, so that nothing is undone that another
	// one looks after: an absolute path, or a kind and a name: "user app". What is a part
	// of a thing is written behind it, after a line feed: a line of a file.
	Subject() string
}

// Undoer is a [Reverser] that tells what to write when something stands in its way, which
// is of no use where nobody writes it any more.
type Undoer interface {
	// Undo says that the resource has left the manifest and brings back what was there
	// before. It is called before all other calls.
	Undo()
}

// Keeper is a type that is no [Reverser], and whose resources look after things that
// others can have undone.
type Keeper interface {
	// Subjects name what the resource is about, like those of a [Reverser].
	Subjects() []string
}

// MaxKept bounds, in bytes, the text that a [Reverser] brings back: 64 KiB.
const MaxKept = 64 << 10

// Remember says what a host remembers of a play: what was there before the resources
// that say `reverse` were first applied.
type Remember struct {
	// As is the name of the play for its hosts, see [CheckRememberedAs].
	As string `json:"as"`
	// Whole says that Entries and Kept name every resource that the play has for the
	// host, so that what is missing among them has left the manifest.
	Whole bool `json:"whole,omitempty"`
	// Kept are resources of the play, as type#name, that are not in the catalog and
	// have not left the manifest either.
	Kept []string `json:"kept,omitempty"`
	// Others are resources, as type#name, of plays of the same run that come later on
	// this host. What they look after is not undone.
	Others []string `json:"others,omitempty"`
}

// Left names resources that have left the manifest, and that the host is going to undo:
// they are counted as entries behind those of the catalog, and have a result each.
type Left struct {
	Entries []LeftEntry `json:"entries"` // at least one, at most [MaxLeft]
}

// A LeftEntry is a resource that has left the manifest.
type LeftEntry struct {
	Type      string `json:"type"`
	Name      string `json:"name"`
	Sensitive bool   `json:"sensitive,omitempty"`
}

// Valid reports whether a resource of that type and name can be remembered.
func (e LeftEntry) Valid() bool {
	return CheckLeftName(e.Type) == nil && !strings.Contains(e.Type, "#") && CheckLeftName(e.Name) == nil
}

// Bounds of what a host remembers.
const (
	MaxLeft     = 1000 // resources, of all plays together
	MaxLeftName = 1024 // bytes of a name
)

// validate checks bounds. What a host is left with is nothing that a terminal obeys.
func (l *Left) validate() error {
	if l == nil {
		return nil
	}
	if len(l.Entries) == 0 || len(l.Entries) > MaxLeft {
		return fmt.Errorf("%d resources have left the manifest, and 1 to %d are possible", len(l.Entries), MaxLeft)
	}
	seen := map[LeftEntry]bool{}
	for _, e := range l.Entries {
		e.Sensitive = false
		if !e.Valid() || seen[e] {
			return fmt.Errorf("a resource that has left the manifest is named %.64q, %.64q", e.Type, e.Name)
		}
		seen[e] = true
	}
	return nil
}

// CheckLeftName refuses names that are not remembered: too long ones, and those that no
// line of a report could show.
func CheckLeftName(name string) error {
	switch {
	case len(name) > MaxLeftName:
		return fmt.Errorf("its name has %d bytes, and at most %d are remembered", len(name), MaxLeftName)
	case !nameable(name):
		return fmt.Errorf("its name %.64q is empty or has characters that cannot be printed", name)
	}
	return nil
}

func nameable(name string) bool {
	return name != "" && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) })
}

// MaxRememberedAs is how long the name of a play for its hosts may be, in bytes.
const MaxRememberedAs = 128

// CheckRememberedAs checks the name of a play for its hosts: words of letters, digits,
// ., _ and -, with / between them.
func CheckRememberedAs(name string) error {
	good := len(name) <= MaxRememberedAs
	for word := range strings.SplitSeq(name, "/") {
		good = good && word != "" && !strings.ContainsFunc(word, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
		})
	}
	if !good {
		return fmt.Errorf("%.140q names no play: words of letters, digits, ., _ and - with / between them, at most %d bytes", name, MaxRememberedAs)
	}
	return nil
}

// Reversers names the types of a registry that are [Reverser]s.
func (r Registry) Reversers() []string {
	var names []string
	for _, t := range r {
		if _, ok := t.New().(Reverser); ok {
			names = append(names, t.Name)
		}
	}
	return names
}
