package modules

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"syscall"
)

// A PassedLink is a symbolic link on the way to a path.
type PassedLink struct {
	Path   string // without links above its last element
	Target string // as stored
	UID    int
	Dir    FileInfo // the directory that it is in
}

// OthersWrite reports whether users other than root and uid may write a directory, by its owner and mode. The sticky
// bit does not matter: names can be added all the same.
func OthersWrite(dir FileInfo, uid int) bool {
	return dir.UID != 0 && dir.UID != uid || dir.Mode&0o022 != 0
}

// CheckFollow decides for a user whether to follow the link. Any user with write access to the directory may have
// planted the link. With owned, its target must belong to the link's own owner (see CheckOwner). The error is an
// [ErrPlanted].
//
// Links of root are not followed in such a directory, because a user with write access can have renamed them. A user
// other than root follows links of its own.
func (l PassedLink) CheckFollow(uid int) (owned bool, err error) {
	switch {
	case !OthersWrite(l.Dir, uid), l.UID == uid && uid != 0:
		return false, nil
	case l.UID == 0:
		return false, l.planted("links of root are not followed there", uid)
	}
	return true, nil
}

// CheckOwner refuses to follow the link to what does not belong to its owner.
func (l PassedLink) CheckOwner(owner, uid int) error {
	if owner == l.UID {
		return nil
	}
	return l.planted(fmt.Sprintf("its target belongs to user %d", owner), uid)
}

func (l PassedLink) planted(why string, uid int) error {
	return planted{fmt.Sprintf("%q is a link of user %d to %q, in a directory where %s may write (owner %d, mode %s): %s; "+
		"write the path that it leads to, or put a directory in the place of the link",
		l.Path, l.UID, l.Target, others(uid), l.Dir.UID, FormatMode(l.Dir.Mode), why)}
}

// Relabel refuses to change owner and mode of a file that has other names, in a
// directory where another user may have given it this one.
func Relabel(name string, file, dir FileInfo, uid int) error {
	if file.Kind == Directory || file.Links < 2 || !OthersWrite(dir, uid) {
		return nil
	}
	return planted{fmt.Sprintf("%q has %d names (hard links), and is in a directory where %s may write (owner %d, mode %s): "+
		"owner and mode are not changed, because the file may belong to another directory; remove the file, or its other names",
		name, file.Links, others(uid), dir.UID, FormatMode(dir.Mode))}
}

func others(uid int) string {
	if uid == 0 {
		return "others than root"
	}
	return "others than root and user " + strconv.Itoa(uid)
}

// ErrPlanted reports a refusal because another user may have planted the path to redirect a change. It is an
// fs.ErrPermission as well.
var ErrPlanted error = planted{"planted by another user"}

type planted struct{ text string }

func (p planted) Error() string { return p.text }

// Redacted implements [Redactor].
func (p planted) Redacted() string { return p.text }

// Is makes all of them [ErrPlanted].
func (planted) Is(target error) bool { return target == ErrPlanted || target == fs.ErrPermission }

// MayFollow checks every link on the way to name, its last element included. stat describes single paths without links.
// It predicts the decisions that the host itself makes on opened directories. A path that leads nowhere is checked as
// far as it exists.
func MayFollow(stat func(path string) (FileInfo, error), name string, uid int) error {
	type element struct {
		name string
		owns *PassedLink // the target must belong to the owner of this link
	}
	var rest []element
	push := func(names []string, then ...element) {
		var all []element
		for _, n := range names {
			all = append(all, element{name: n})
		}
		rest = append(append(all, then...), rest...)
	}
	push(elements(name))
	at, info, links := "/", FileInfo{}, 0
	info, err := stat(at)
	for len(rest) > 0 && err == nil {
		e := rest[0]
		rest = rest[1:]
		if e.owns != nil {
			if err := e.owns.CheckOwner(info.UID, uid); err != nil {
				return err
			}
			continue
		}
		dir := info
		next := path.Join(at, e.name)
		if info, err = stat(next); err != nil {
			break
		}
		if info.Kind != Symlink {
			at = next
			continue
		}
		l := PassedLink{Path: next, Target: info.Target, UID: info.UID, Dir: dir}
		owned, err := l.CheckFollow(uid)
		if err != nil {
			return err
		}
		if links++; links > maxLinks {
			return &fs.PathError{Op: "open", Path: name, Err: syscall.ELOOP}
		}
		var then []element
		if owned {
			then = []element{{owns: &l}}
		}
		push(elements(info.Target), then...)
		info = dir
		if path.IsAbs(l.Target) {
			at = "/"
			if info, err = stat(at); err != nil {
				return err
			}
		}
	}
	if NotThere(err) {
		return nil
	}
	return err
}

// SameOwner reports whether an open file has the owner, group and mode in seen. Meanwhile a user may have replaced the
// file by a link, and must not get the rights of its target.
func SameOwner(r io.Reader, seen FileInfo) bool {
	opened, ok := r.(interface{ Stat() (fs.FileInfo, error) })
	if !ok { // the text of a forecast
		return true
	}
	info, err := opened.Stat()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == seen.UID && int(st.Gid) == seen.GID && info.Mode().Perm() == seen.Mode.Perm()
}

// OpenSeen opens a file that was seen before, and refuses a replacement, by [SameOwner].
func OpenSeen(files FileReader, name string, seen FileInfo) (io.ReadCloser, error) {
	r, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	if !SameOwner(r, seen) {
		r.Close()
		return nil, Refuse("%s has just been replaced by another process; run again", name)
	}
	return r, nil
}

// firstGroup is the first group that a distribution does not manage itself: Debian's
// staff, which may write to /usr/local, is 50 (Debian Policy, 9.2.2).
const firstGroup = 100

// OthersMayChange returns an error if a user other than root and uid could replace the object at a path. The cause may
// be its own permissions, or permissions of a directory above it or of a link on the way. The error names the user. nil
// means that only root and uid can replace the object. root must not run a file that others could change.
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
		// In a directory like /tmp, users can replace only their own files.
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
