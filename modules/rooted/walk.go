package rooted

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ccm-push/ccm-push/modules"
)

// A Place is a name in a directory that is held open: changes are made in that directory, whatever happens to the path
// to it.
type Place struct {
	Name string
	dir  *walk
}

// A walk follows a path from one opened directory to the next, and follows symbolic links only as [modules.PassedLink]
// permits. It checks only objects that it has opened, never the result of an earlier look.
type walk struct {
	uid   int
	given string  // the path, for errors
	dirs  []level // from the top down; the walk is at the last
	rest  []element
	links int
	below bool // it does not leave the first directory
	plain bool // it follows no link at all
	makes bool // it makes missing directories, except after a link of another user
}

type level struct {
	fd   int
	path string
}

// An element is a name on the way, or the end of a link's target.
type element struct {
	name string
	ends *modules.PassedLink // the end of the walk must belong to the link's owner
}

// maxLinks is how many symbolic links one path may lead through, as in Linux.
const maxLinks = 40

var (
	errExchanged = errors.New("another program has just replaced it; run again")
	errEscapes   = errors.New("path escapes from parent") // in the words of os.Root
)

// Parent opens the directory that holds an absolute path.
func Parent(name string) (*Place, error) {
	w, err := from("/", name)
	if err != nil {
		return nil, err
	}
	return w.parent(name)
}

// ParentBelow opens the directory that holds a relative path below an opened one, and
// follows no link out of that.
func ParentBelow(dir *os.Root, name string) (*Place, error) {
	w, err := below(dir, name)
	if err != nil {
		return nil, err
	}
	return w.parent(name)
}

// Directory opens the directory at an absolute path.
func Directory(name string) (*os.Root, error) {
	w, err := from("/", name)
	if err != nil {
		return nil, err
	}
	return w.directory(name)
}

// Below opens a directory below an opened one, and follows no link out of that.
func Below(dir *os.Root, name string) (*os.Root, error) {
	w, err := below(dir, name)
	if err != nil {
		return nil, err
	}
	return w.directory(name)
}

// Judge returns an error if a directory is reached through a link that another user may have planted. It ignores all
// other errors; callers report those.
func Judge(name string) error {
	w, err := from("/", name)
	if err != nil {
		return err
	}
	defer w.close()
	w.push(name)
	if err := w.run(); errors.Is(err, modules.ErrPlanted) {
		return err
	}
	return nil
}

// PlainParent opens the directory that holds an absolute path, and refuses every symbolic link on the way: for programs
// and calls that need exactly this path.
func PlainParent(name string) (*Place, error) {
	w, err := from("/", name)
	if err != nil {
		return nil, err
	}
	w.plain = true
	return w.parent(name)
}

// PlainPath opens whatever is at an absolute path, and refuses every symbolic link on the way, the
// last element included. The file can be used as a path only, by [ProcPath].
func PlainPath(name string) (*os.File, error) {
	place, err := PlainParent(name)
	if err != nil {
		return nil, err
	}
	defer place.Close()
	file, is, err := place.open()
	if err == nil && is.Kind == modules.Symlink {
		file.Close()
		err = place.dir.refuse(name)
	}
	return file, err
}

// Path opens whatever is at an absolute path, through links that [modules.PassedLink] lets it
// follow. The file can be used as a path only, by [ProcPath].
func Path(name string) (*os.File, error) {
	w, err := from("/", name)
	if err != nil {
		return nil, err
	}
	defer w.close()
	w.push(name)
	for {
		last, ok, err := w.toLast()
		if err != nil {
			return nil, err
		}
		if !ok {
			file, _, err := (&Place{".", w}).open()
			return file, err
		}
		file, is, err := (&Place{last, w}).open()
		if err != nil {
			return nil, err
		}
		if is.Kind != modules.Symlink {
			if err := w.ownedBy(int(file.Fd())); err != nil {
				file.Close()
				return nil, err
			}
			return file, nil
		}
		file.Close()
		if err := w.follow(last); err != nil {
			return nil, err
		}
	}
}

// FileDir opens the directory of the file that an absolute path leads to, and returns the name of the file there. It
// makes missing directories, with mode 0700. It follows links as [modules.PassedLink] permits, the last element
// included. The file may be missing, unless another user's link leads to it.
func FileDir(name string) (*os.Root, string, error) {
	w, err := from("/", name)
	if err != nil {
		return nil, "", err
	}
	defer w.close()
	w.makes = true
	w.push(name)
	for {
		last, ok, err := w.toLast()
		if err != nil {
			return nil, "", err
		}
		if !ok {
			return nil, "", w.failed("open", name, syscall.EISDIR)
		}
		file, is, err := (&Place{last, w}).open()
		switch {
		case errors.Is(err, fs.ErrNotExist) && len(w.rest) == 0:
		case err != nil:
			return nil, "", err
		case is.Kind == modules.Symlink:
			file.Close()
			if err := w.follow(last); err != nil {
				return nil, "", err
			}
			continue
		default:
			err := w.ownedBy(int(file.Fd()))
			file.Close()
			if err != nil {
				return nil, "", err
			}
		}
		dir, err := w.root()
		return dir, last, err
	}
}

// Open opens a file for reading, links followed. It does not wait for the other end of
// a pipe.
func Open(name string) (*os.File, error) {
	if file := openPlain(name); file != nil {
		return file, nil
	}
	w, err := from("/", name)
	if err != nil {
		return nil, err
	}
	defer w.close()
	w.push(name)
	return w.open()
}

func from(top, name string) (*walk, error) {
	fd, err := unix.Open(top, openDir, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: top, Err: err}
	}
	return &walk{uid: os.Geteuid(), given: name, dirs: []level{{fd, top}}}, nil
}

func below(dir *os.Root, name string) (*walk, error) {
	top, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer top.Close()
	fd, err := unix.FcntlInt(top.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir.Name(), Err: err}
	}
	return &walk{uid: os.Geteuid(), given: path.Join(dir.Name(), name), dirs: []level{{fd, dir.Name()}}, below: true}, nil
}

func (w *walk) at() *level { return &w.dirs[len(w.dirs)-1] }

func (w *walk) close() {
	for _, d := range w.dirs {
		unix.Close(d.fd)
	}
	w.dirs = nil
}

func (w *walk) parent(name string) (*Place, error) {
	w.push(path.Dir(name))
	if err := w.run(); err != nil {
		w.close()
		return nil, err
	}
	p := &Place{Name: path.Base(name), dir: w}
	if p.Name == "/" {
		p.Name = "."
	}
	return p, nil
}

func (w *walk) directory(name string) (*os.Root, error) {
	defer w.close()
	w.push(name)
	if err := w.run(); err != nil {
		return nil, err
	}
	return w.root()
}

// push puts a path in front of the rest to walk.
func (w *walk) push(name string, then ...element) {
	var all []element
	for part := range strings.SplitSeq(name, "/") {
		if part != "" && part != "." {
			all = append(all, element{name: part})
		}
	}
	w.rest = append(append(all, then...), w.rest...)
}

// next removes and returns the next element of the path.
func (w *walk) next() element {
	e := w.rest[0]
	w.rest = w.rest[1:]
	return e
}

// run walks to the end: all of it are directories.
func (w *walk) run() error {
	for len(w.rest) > 0 {
		if err := w.step(w.next()); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) step(e element) error {
	switch {
	case e.ends != nil:
		var st unix.Stat_t
		if err := unix.Fstat(w.at().fd, &st); err != nil {
			return w.failed("stat", w.at().path, err)
		}
		return e.ends.CheckOwner(int(st.Uid), w.uid)
	case e.name == "..":
		return w.up()
	}
	fd, err := unix.Openat(w.at().fd, e.name, openDir|unix.O_NOFOLLOW, 0)
	if err == unix.ENOENT && w.makes && !slices.ContainsFunc(w.rest, func(e element) bool { return e.ends != nil }) {
		if err := unix.Mkdirat(w.at().fd, e.name, 0o700); err != nil && err != unix.EEXIST {
			return w.failed("mkdir", path.Join(w.at().path, e.name), err)
		}
		fd, err = unix.Openat(w.at().fd, e.name, openDir|unix.O_NOFOLLOW, 0)
	}
	if err == nil {
		w.dirs = append(w.dirs, level{fd, path.Join(w.at().path, e.name)})
		return nil
	}
	if isLink(err) || err == unix.ENOTDIR {
		return w.follow(e.name)
	}
	return w.failed("open", path.Join(w.at().path, e.name), err)
}

// up returns to the parent that the walk came from, even if the directory has been moved meanwhile.
func (w *walk) up() error {
	last := len(w.dirs) - 1
	if last == 0 {
		if w.below {
			return w.failed("open", w.given, errEscapes)
		}
		return nil
	}
	unix.Close(w.dirs[last].fd)
	w.dirs = w.dirs[:last]
	return nil
}

// isLink reports whether an error comes from opening a link with O_NOFOLLOW: EMLINK is FreeBSD's.
func isLink(err error) bool { return err == unix.ELOOP || err == unix.EMLINK }

// follow puts the target of a link in front of the rest of the path, if it is a link to follow.
func (w *walk) follow(name string) error {
	full := path.Join(w.at().path, name)
	target, st, err := readLink(w.at().fd, name)
	if err != nil {
		return w.failed("open", full, err)
	}
	if w.plain {
		return w.refuse(full)
	}
	var dir unix.Stat_t
	if err := unix.Fstat(w.at().fd, &dir); err != nil {
		return w.failed("stat", w.at().path, err)
	}
	l := &modules.PassedLink{Path: full, Target: target, UID: int(st.Uid), Dir: Describe(&dir)}
	owned, err := l.CheckFollow(w.uid)
	if err != nil {
		return err
	}
	if w.links++; w.links > maxLinks {
		return w.failed("open", w.given, syscall.ELOOP)
	}
	if path.IsAbs(target) {
		if w.below {
			return w.failed("open", w.given, errEscapes)
		}
		for _, d := range w.dirs[1:] {
			unix.Close(d.fd)
		}
		w.dirs = w.dirs[:1]
	}
	if owned {
		w.push(target, element{ends: l})
	} else {
		w.push(target)
	}
	return nil
}

// open walks to the end, which is a file.
func (w *walk) open() (*os.File, error) {
	for {
		last, ok, err := w.toLast()
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, w.failed("open", w.given, syscall.EISDIR)
		}
		full := path.Join(w.at().path, last)
		fd, err := unix.Openat(w.at().fd, last, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		switch {
		case err == nil:
			file := os.NewFile(uintptr(fd), w.given)
			if err := w.ownedBy(fd); err != nil {
				file.Close()
				return nil, err
			}
			return file, nil
		case !isLink(err):
			return nil, w.failed("open", full, err)
		}
		if err := w.follow(last); err != nil {
			return nil, err
		}
	}
}

// toLast walks until one name is left and returns it. ok is false if the walk has ended in a directory before.
func (w *walk) toLast() (last string, ok bool, err error) {
	for len(w.rest) > 0 {
		e := w.next()
		if e.ends == nil && e.name != ".." && w.last() {
			return e.name, true, nil
		}
		if err := w.step(e); err != nil {
			return "", false, err
		}
	}
	return "", false, nil
}

// last reports whether nothing is left but the ends of links.
func (w *walk) last() bool {
	for _, e := range w.rest {
		if e.ends == nil {
			return false
		}
	}
	return true
}

// ownedBy compares the owner of an opened file with the links that have led to it.
func (w *walk) ownedBy(fd int) error {
	var st unix.Stat_t
	for _, e := range w.rest {
		if err := unix.Fstat(fd, &st); err != nil {
			return w.failed("stat", w.given, err)
		}
		if err := e.ends.CheckOwner(int(st.Uid), w.uid); err != nil {
			return err
		}
	}
	return nil
}

// root returns the current directory of the walk. It checks that the path still leads there.
func (w *walk) root() (*os.Root, error) {
	at := w.at()
	root, err := os.OpenRoot(at.path)
	if err != nil {
		return nil, err
	}
	var walked unix.Stat_t
	opened, err := root.Stat(".")
	if err == nil {
		err = unix.Fstat(at.fd, &walked)
	}
	if err == nil {
		st := opened.Sys().(*syscall.Stat_t)
		if uint64(st.Dev) != uint64(walked.Dev) || st.Ino != walked.Ino {
			err = w.failed("open", at.path, errExchanged)
		}
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// refuse reports a link on a path that must not contain any.
func (w *walk) refuse(link string) error {
	return fmt.Errorf("%w: %s is a symbolic link, and %q must have none", modules.ErrPlanted, link, w.given)
}

func (w *walk) failed(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// Root returns the directory of the place; the caller must close it, too.
func (p *Place) Root() (*os.Root, error) { return p.dir.root() }

// FD is the descriptor of the directory, which may be good for nothing but calls that
// are relative to it.
func (p *Place) FD() int { return p.dir.at().fd }

// open opens the file at the place as a path (openPath), also a link itself, and returns its info.
func (p *Place) open() (*os.File, modules.FileInfo, error) {
	name := path.Join(p.dir.at().path, p.Name)
	fd, err := unix.Openat(p.FD(), p.Name, openPath, 0)
	if err != nil {
		return nil, modules.FileInfo{}, p.dir.failed("open", name, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return nil, modules.FileInfo{}, p.dir.failed("stat", name, err)
	}
	return os.NewFile(uintptr(fd), name), Describe(&st), nil
}

// Dir describes the directory.
func (p *Place) Dir() (modules.FileInfo, error) {
	var st unix.Stat_t
	if err := unix.Fstat(p.FD(), &st); err != nil {
		return modules.FileInfo{}, p.dir.failed("stat", p.dir.at().path, err)
	}
	return Describe(&st), nil
}

// Close lets go of the directory.
func (p *Place) Close() { p.dir.close() }

// Describe translates the result of fstat, except a link's target.
func Describe(st *unix.Stat_t) modules.FileInfo {
	info := modules.FileInfo{Kind: modules.Special, Mode: fs.FileMode(st.Mode) & fs.ModePerm, UID: int(st.Uid), GID: int(st.Gid)}
	for bit, mode := range map[uint32]fs.FileMode{unix.S_ISUID: fs.ModeSetuid, unix.S_ISGID: fs.ModeSetgid, unix.S_ISVTX: fs.ModeSticky} {
		if uint32(st.Mode)&bit != 0 {
			info.Mode |= mode
		}
	}
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFREG:
		info.Kind, info.Size, info.Links = modules.Regular, st.Size, int(st.Nlink)
	case unix.S_IFDIR:
		info.Kind = modules.Directory
	case unix.S_IFLNK:
		info.Kind = modules.Symlink
	}
	return info
}
