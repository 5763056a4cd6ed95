package modules

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
)

// firstGroup is the first group that a distribution does not manage itself: Debian's
// staff, which may write to /usr/local, is 50 (Debian Policy, 9.2.2).
const firstGroup = 100

// OthersMayChange says who, besides root and uid, could put something else at a path:
// by what is there, by a directory above it or by a link on the way. nil is nobody. What
// others could change is nothing for root to run.
func OthersMayChange(files FileReader, name string, uid int) error {
	at, passed, err := Resolve(files, name)
	if err != nil {
		return err
	}
	for _, p := range append(passed, at) {
		if err := othersMayChange(files, p, uid); err != nil {
			return err
		}
	}
	return nil
}

func othersMayChange(files FileReader, name string, uid int) error {
	for at := name; ; at = path.Dir(at) {
		info, err := files.Stat(at)
		if err != nil {
			return err
		}
		// In a directory like /tmp everybody owns what is theirs.
		sticky := at != name && info.Kind == Directory && info.Mode&fs.ModeSticky != 0
		switch {
		case !slices.Contains([]int{0, uid}, info.UID):
			return fmt.Errorf("user %d can change %s", info.UID, at)
		case info.Kind == Symlink || sticky:
		case info.Mode&0o002 != 0:
			return fmt.Errorf("everybody can change %s", at)
		case info.Mode&0o020 != 0 && info.GID >= firstGroup:
			return fmt.Errorf("group %d can change %s", info.GID, at)
		}
		if at == "/" {
			return nil
		}
	}
}
