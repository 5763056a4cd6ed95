package modules

import (
	"context"
	"time"
)

// Describer is a type that can say how its resource is on the host now, with more
// than whether something differs: what CCM calls its status. A type without it is
// known by name and provider only.
type Describer interface {
	// Describe looks and changes nothing. It is asked about the host as it is, never
	// about a forecast. An error says why the resource cannot be looked at.
	Describe(ctx context.Context, h Host) (Description, error)
}

// A Description is how a resource is on a host.
type Description struct {
	Ensure   string // in the words of the property, or the version of a package
	Provider string // who looks after it: "posix", "apt", "systemd"
	// State is a struct with json tags, or nil. CCM's names are used where it has
	// the same things.
	State any
	// Inline says that CCM has the fields of State beside Ensure, not below
	// "metadata".
	Inline bool
}

// FileTimes is a [FileReader] that also knows when something was last written to
// a path, links followed. That of the real host does; nothing is foreseen of times.
type FileTimes interface {
	ModTime(path string) (time.Time, error)
}
