package rooted

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"golang.org/x/sys/unix"

	"github.com/ccm-push/ccm-push/modules"
)

// unmapped is the owner of files whose user is not in this user namespace, such as
// root's directories in a container without privileges (user_namespaces(7)).
const unmapped = 65534

// MakePrivate makes the directory at an absolute path and its missing parents, and sets mode 0700. It changes nothing
// below a directory that a user other than root owns or can exchange, and follows links only as [modules.PassedLink]
// permits. The error wraps [modules.ErrPlanted] if another user controls a part of the path.
func MakePrivate(name string) error {
	w, err := from("/", name)
	if err != nil {
		return err
	}
	defer w.close()
	w.push(name)
	for len(w.rest) > 0 {
		e := w.next()
		err := w.step(e)
		if errors.Is(err, fs.ErrNotExist) && e.ends == nil && e.name != ".." {
			if err := w.mine(false); err != nil {
				return err
			}
			if err := unix.Mkdirat(w.at().fd, e.name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
				return w.failed("mkdir", path.Join(w.at().path, e.name), err)
			}
			err = w.step(e)
		}
		if err != nil {
			return err
		}
	}
	if err := w.mine(true); err != nil {
		return err
	}
	// The path must lead to the opened directory, since it is used from now on.
	root, err := w.root()
	if err != nil {
		return err
	}
	defer root.Close()
	self, err := root.Open(".")
	if err != nil {
		return err
	}
	defer self.Close()
	return self.Chmod(0o700)
}

// mine refuses a directory on the way that another user owns or can exchange. end means that the walk has ended, at a
// directory that this user must own.
func (w *walk) mine(end bool) error {
	for i, d := range w.dirs {
		var st unix.Stat_t
		if err := unix.Fstat(d.fd, &st); err != nil {
			return w.failed("stat", d.path, err)
		}
		is, last := Describe(&st), i == len(w.dirs)-1
		switch {
		case is.UID == w.uid, is.UID == 0 && !(end && last), is.UID == unmapped && !last:
		default:
			return fmt.Errorf("%w: %s belongs to the user with the id %d, and this is %d", modules.ErrPlanted, d.path, is.UID, w.uid)
		}
		if is.Mode&0o002 != 0 && is.Mode&fs.ModeSticky == 0 && !(end && last) {
			return fmt.Errorf("%w: every user can write to %s (mode %s)", modules.ErrPlanted, d.path, modules.FormatMode(is.Mode))
		}
	}
	return nil
}
