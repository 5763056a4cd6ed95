package unpack

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// An entry is one entry of an archive.
type entry struct {
	name     string // clean, below the directory
	kind     kind
	mode     fs.FileMode // permissions to keep
	size     int64       // bytes, of files
	target   string      // target of a link; for a hard one, the name of an earlier entry
	modified time.Time
}

type kind int

const (
	file kind = iota + 1
	directory
	symlink
	hardlink
)

func (k kind) String() string {
	return [...]string{"nothing", "a file", "a directory", "a symbolic link", "a hard link"}[k]
}

// errNotKept is the error for an entry that needs no work: the directory to unpack into.
var errNotKept = errors.New("the directory itself")

// cleanName returns the name of an entry below the directory. It also refuses a name that leads up and down again.
func cleanName(name string) (string, error) {
	if slices.Contains(strings.Split(name, "/"), "..") {
		return "", fmt.Errorf("%q leads up by a .. element", name)
	}
	if path.IsAbs(name) {
		return "", fmt.Errorf("%q is an absolute path", name)
	}
	clean := path.Clean(name)
	if clean == "." && name != "" {
		return "", errNotKept
	}
	return clean, modules.ValidateTreePath(clean)
}

// Permissions of entries that have none.
const (
	defaultFileMode = 0o644
	defaultDirMode  = 0o755
)

// keptMode is the part of a mode that is kept: no write access for group and others, no setuid, setgid or sticky bits,
// and a directory whose owner can write to it.
func keptMode(k kind, mode fs.FileMode) fs.FileMode {
	mode = mode.Perm() &^ 0o022
	switch {
	case k == directory && mode == 0:
		return defaultDirMode
	case k == directory:
		return mode | 0o700
	case mode == 0:
		return defaultFileMode
	}
	return mode
}

// A listing contains the entries of an archive read so far.
type listing struct {
	kinds   map[string]kind // also of directories that are only implied
	bytes   int64           // total length of names
	entries int             // number of entries, including entries that replace an earlier one
}

// Limits of a listing: the memory that it uses, and how often a disk is written to.
const (
	maxEntries   = 500_000
	maxNameBytes = 64 << 20
)

// add notes an entry, or refuses it.
func (l *listing) add(e *entry) error {
	for dir := path.Dir(e.name); dir != "."; dir = path.Dir(dir) {
		switch l.kinds[dir] {
		case 0:
			l.note(dir, directory)
		case directory:
		default:
			return fmt.Errorf("%q is below %q, which is %s in the archive", e.name, dir, l.kinds[dir])
		}
	}
	before := l.kinds[e.name]
	switch {
	case before != 0 && (before != e.kind || e.kind != directory && e.kind != file):
		return fmt.Errorf("%q is there twice: as %s and as %s", e.name, before, e.kind)
	case e.kind == symlink:
		if err := modules.ValidateTreeLink(e.name, e.target); err != nil {
			return err
		}
	case e.kind == hardlink && l.kinds[e.target] != file:
		return fmt.Errorf("the archive contains the hard link %q to %q, but no earlier file with this name", e.name, e.target)
	}
	if before == 0 {
		l.note(e.name, e.kind)
	}
	l.entries++
	switch {
	case len(l.kinds) > maxEntries || l.entries > maxEntries:
		return fmt.Errorf("there are more than %d files and directories", maxEntries)
	case l.bytes > maxNameBytes:
		return fmt.Errorf("the names are longer than %d MiB together", maxNameBytes>>20)
	}
	return nil
}

// top returns the names for [Archive.Top].
func (l *listing) top() []string {
	var names []string
	for name, k := range l.kinds {
		switch {
		case name == ".", strings.Contains(name, "/"):
		case k == directory:
			names = append(names, name+"/")
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) > maxTop {
		names = append(names[:maxTop], "…")
	}
	return names
}

func (l *listing) note(name string, k kind) {
	l.kinds[name] = k
	l.bytes += int64(len(name))
}
