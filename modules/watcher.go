package modules

import (
	"context"
	"path"
	"strings"
)

// Watcher is a type that knows the places on a host where a drift of its resource may be noticed first. A place is only
// a hint: the resource is then checked, and the check decides. Resources of other types are checked at intervals,
// together with all others.
type Watcher interface {
	// Watch returns the places. It is called on the host after a Check, changes nothing, and is called again after each
	// later Check, since the target of a link may have changed.
	Watch(ctx context.Context, h Host) (Sources, error)
}

// Sources are the places that may report a change. The zero Sources report nothing.
type Sources struct {
	// Paths are absolute. A report comes if one is created, written, replaced, removed, or gets another mode, owner or
	// time; and the same for each directory and link on the way to it and for the targets of links. They need not
	// exist.
	Paths []string
	// Trees are directories with the same reports about everything below.
	Trees []string
	// Units are systemd units, with their suffix: they start, stop, fail, are enabled, disabled, masked or reloaded.
	Units []string
	// Mounts reports changes of the mounts.
	Mounts bool
	// Polled names, for people, the parts of the resource without a report of changes: "the newest version of the
	// repositories"; "" means none.
	Polled string
}

// AddOwner also reports changes of the accounts that affect an owner and a group: the host looks up their numbers and
// names. Both may be "".
func (s *Sources) AddOwner(owner, group string) {
	if owner != "" {
		s.Paths = append(s.Paths, "/etc/passwd")
	}
	if group != "" {
		s.Paths = append(s.Paths, "/etc/group")
	}
}

// AddProgram also reports that a program appears or disappears in a directory of the search path.
func (s *Sources) AddProgram(name string) {
	for dir := range strings.SplitSeq(DefaultPath, ":") {
		s.Paths = append(s.Paths, path.Join(dir, name))
	}
}

// AddBelow also reports changes in a directory, if the path is one now: it does not follow a link, and a directory that
// is created later is reported as a change of the path.
func (s *Sources) AddBelow(files FileReader, name string) {
	if at, err := files.Stat(name); err == nil && at.Kind == Directory {
		s.Trees = append(s.Trees, name)
	}
}
