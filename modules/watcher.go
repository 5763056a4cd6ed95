package modules

import (
	"context"
	"path"
	"strings"
)

// Watcher is a type that knows where on a host it may first be noticed that its resource is no
// longer as it was made. What it names is a hint and no more: the resource is checked then, and
// that decides. Resources of other types are checked when all are, every now and then.
type Watcher interface {
	// Watch names the places. It is called on the host behind a Check, changes nothing, and is
	// called again after each later one, since what a link leads to may have changed.
	Watch(ctx context.Context, h Host) (Sources, error)
}

// Sources are what may tell of a change. The zero Sources tell of nothing.
type Sources struct {
	// Paths are absolute. What is told is that one is created, written, replaced, removed, gets
	// another mode, owner or time, and the same of each directory and link on the way to it and
	// of where links lead. None of them need exist.
	Paths []string
	// Trees are directories, of which the same is told of all that is below.
	Trees []string
	// Units are those of systemd, with their suffix: that they start, stop, fail, are enabled,
	// disabled, masked or loaded anew.
	Units []string
	// Mounts is what is mounted.
	Mounts bool
	// Polled is, for people, what else the resource is about that nothing tells of: "the
	// newest version of the repositories". "" is nothing.
	Polled string
}

// AddOwner has it told, too, when an owner and a group may be others than before: their numbers and
// names are looked up in the accounts of the host. Both may be "".
func (s *Sources) AddOwner(owner, group string) {
	if owner != "" {
		s.Paths = append(s.Paths, "/etc/passwd")
	}
	if group != "" {
		s.Paths = append(s.Paths, "/etc/group")
	}
}

// AddProgram has it told, too, when a program comes or goes where programs are looked for.
func (s *Sources) AddProgram(name string) {
	for dir := range strings.SplitSeq(DefaultPath, ":") {
		s.Paths = append(s.Paths, path.Join(dir, name))
	}
}

// AddBelow has it told, too, of all that is in a directory, if one is at the path now: not where a
// link leads, nor what may once be there, which is told as a change of the path.
func (s *Sources) AddBelow(files FileReader, name string) {
	if at, err := files.Stat(name); err == nil && at.Kind == Directory {
		s.Trees = append(s.Trees, name)
	}
}
