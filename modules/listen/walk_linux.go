package listen

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is the number of symbolic links followed for one path, as in the kernel.
const maxLinks = 40

// A target is a path that sources are about, or a tree.
type target struct {
	path    string
	tree    bool
	sources []int // in order
	edges   []edge
	seen    string // nodes of the last walk, for comparison
	why     string // reason for polling; "" if all changes cause events
	// below are the directories of a tree, its root among them.
	below map[string]*dir
}

// An edge is a name in a directory that a target depends on; "" is the directory itself.
type edge struct {
	dir  *dir
	name string
}

// A dir is a watched directory, or a file that something is mounted on, at a path without
// symbolic links.
type dir struct {
	path  string
	wd    int    // -1: it is not watched
	round uint64 // round of the last request
	mask  uint32 // mask of the watch
	refs  int    // edges, and trees it is part of
	names map[string][]*target
	trees []*target // trees that contain it
	why   string    // reason for polling everything below it
	// handle is its name in fanotify; "" if its writers are unknown.
	handle string
}

// found describes the object at a path.
type found struct {
	kind    uint32 // S_IFMT; 0: nothing that can be seen
	id      string // another one for another inode
	mounted bool   // root of a mount
}

// look returns the object at the path, without following links.
func look(p string) found {
	var x unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, p, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, unix.STATX_TYPE|unix.STATX_INO, &x)
	if err == nil {
		return found{
			kind: uint32(x.Mode) & unix.S_IFMT, mounted: x.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0,
			id: fmt.Sprint(x.Mode&unix.S_IFMT, x.Dev_major, x.Dev_minor, x.Ino),
		}
	}
	if err != unix.ENOSYS && err != unix.EPERM { // an old kernel, or an old sandbox on a new one
		return found{}
	}
	var s, above unix.Stat_t
	if unix.Lstat(p, &s) != nil {
		return found{}
	}
	f := found{kind: s.Mode & unix.S_IFMT, id: fmt.Sprint(s.Mode&unix.S_IFMT, s.Dev, s.Ino)}
	f.mounted = unix.Lstat(path.Dir(p), &above) == nil && (above.Dev != s.Dev || p == "/")
	return f
}

// parts returns the components of a path.
func parts(p string) []string {
	return slices.DeleteFunc(strings.Split(p, "/"), func(part string) bool { return part == "" || part == "." })
}

// walk watches everything that the target depends on, and releases its previous watches. It reports whether the result
// differs from the last walk. Each directory is watched before its entry is read.
func (l *Listener) walk(t *target) (changed bool) {
	var (
		edges []edge
		seen  strings.Builder
		at    = "/"
		rest  = parts(t.path)
		links int
		end   string // the directory that the path leads to, if it does
	)
	step := func(p, name string, mask uint32) {
		d := l.watch(p, mask)
		edges = append(edges, edge{d, name})
		fmt.Fprintf(&seen, "%s %d\n", p, d.wd)
	}
walk:
	for {
		if len(rest) == 0 {
			end = at
			break
		}
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			at = path.Dir(at)
			continue
		}
		mask := uint32(onTheWay)
		if len(rest) == 0 {
			mask = atTheEnd
		}
		step(at, name, mask)
		p := path.Join(at, name)
		f := look(p)
		fmt.Fprintln(&seen, f.id, f.mounted)
		switch f.kind {
		case unix.S_IFDIR:
			at = p
		case unix.S_IFLNK:
			dest, err := os.Readlink(p)
			if links++; err != nil || links > maxLinks {
				break walk // a fix would change a watched directory
			}
			fmt.Fprintln(&seen, dest)
			if path.IsAbs(dest) {
				at = "/"
			}
			rest = append(parts(dest), rest...)
		default:
			// The directory above a mounted file receives no events of it.
			if f.kind != 0 && f.mounted && len(rest) == 0 {
				step(p, "", atTheEnd)
			}
			break walk
		}
	}
	// A directory's mode and owner cause events in its parent, unless it is a mount.
	if end != "" && (t.tree || end == "/" || look(end).mounted) {
		step(end, "", onTheWay)
	}
	return t.turn(l, edges, end, seen.String())
}

// turn makes a target wait at these edges from now on, and for a tree also below the directory end. changed reports
// whether the way to it, or the directories below, differ from before.
func (t *target) turn(l *Listener, edges []edge, end, seen string) (changed bool) {
	old := t.edges
	t.edges, t.why = edges, ""
	for _, e := range edges {
		e.dir.names[e.name] = append(e.dir.names[e.name], t)
		e.dir.refs++
		if t.why == "" {
			t.why = e.dir.why
		}
	}
	changed = t.seen != seen
	t.seen = seen
	below := t.below
	if t.tree {
		t.below = map[string]*dir{}
		if end != "" {
			l.grow(t, end)
		}
	}
	changed = changed || len(below) != len(t.below)
	for p, d := range below { // after the new ones, so that directories in both are not released
		changed = changed || t.below[p] == nil
		l.leave(d, t)
	}
	for _, e := range old {
		l.unname(e, t)
	}
	return changed
}

// unname ends that the target depends on it.
func (l *Listener) unname(e edge, t *target) {
	all := e.dir.names[e.name]
	if i := slices.Index(all, t); i >= 0 {
		all[i] = all[len(all)-1]
		all[len(all)-1] = nil
		e.dir.names[e.name] = all[:len(all)-1]
		if len(all) == 1 {
			delete(e.dir.names, e.name)
		}
		l.release(e.dir)
	}
}

// forget releases everything that is watched for the target.
func (l *Listener) forget(t *target) {
	l.shrink(t, "")
	for _, e := range t.edges {
		l.unname(e, t)
	}
	t.edges = nil
	delete(l.dirty, t)
	delete(l.told, t)
}

// watch watches a directory, at least with the mask. It is called in every round, since the path may lead to another
// directory than before. It never fails: see dir.wd and why.
func (l *Listener) watch(p string, mask uint32) *dir {
	d := l.dirs[p]
	if d == nil {
		d = &dir{path: p, wd: -1, names: map[string][]*target{}}
		l.dirs[p] = d
	}
	if d.round == l.round && d.mask&mask == mask {
		return d
	}
	d.round = l.round
	if l.inotify < 0 {
		d.mask, d.why = d.mask|mask, l.noInotify
		return d
	}
	// IN_MASK_ADD keeps the events that other users of the same inode need. Removed files no longer belong to a
	// directory. But a mounted file may be removed at the source of its mount and still be written to: IN_EXCL_UNLINK
	// would hide that.
	all := mask | unix.IN_MASK_ADD | unix.IN_DONT_FOLLOW
	wd, err := unix.InotifyAddWatch(l.inotify, p, all|unix.IN_EXCL_UNLINK|unix.IN_ONLYDIR)
	if errors.Is(err, unix.ENOTDIR) {
		wd, err = unix.InotifyAddWatch(l.inotify, p, all)
	}
	if err != nil {
		wd, d.why = -1, watchError(p, err)
	} else if wd != d.wd {
		d.why = deafness(p)
	}
	if wd != d.wd {
		l.move(d, wd)
	}
	d.mask |= mask
	l.attribute(d, wd >= 0 && d.mask&unix.IN_MODIFY != 0)
	return d
}

// move sets the watch of a directory; targets that depend on it are checked again.
func (l *Listener) move(d *dir, wd int) {
	if old := d.wd; old >= 0 {
		l.wds[old] = slices.DeleteFunc(l.wds[old], func(other *dir) bool { return other == d })
		if len(l.wds[old]) == 0 {
			delete(l.wds, old)
			unix.InotifyRmWatch(l.inotify, uint32(old)) // it may be gone already
		}
	}
	l.attribute(d, false)
	d.wd, d.mask = wd, 0
	if wd >= 0 {
		l.wds[wd] = append(l.wds[wd], d)
	}
	for _, all := range d.names {
		l.again(all, true)
	}
	if l.again(d.trees, false); len(d.trees) > 0 {
		l.regrow = append(l.regrow, d.path)
	}
}

// release releases a directory when it is no longer needed.
func (l *Listener) release(d *dir) {
	if d.refs--; d.refs == 0 {
		l.move(d, -1)
		delete(l.dirs, d.path)
	}
}

// again marks targets to be hinted, and with walk also to be walked first.
func (l *Listener) again(targets []*target, walk bool) {
	for _, t := range targets {
		l.told[t] = true
		if walk {
			l.dirty[t] = true
		}
	}
}

// maxTree is the number of watched directories in one tree; a larger tree is polled.
const maxTree = 4096

// grow watches a directory of a tree and all below it.
func (l *Listener) grow(t *target, p string) {
	if len(t.below) >= maxTree {
		t.why = fmt.Sprintf("there are more than %d directories below %s", maxTree, t.path)
		return
	}
	if l.join(t, p).wd < 0 {
		return
	}
	entries, _ := os.ReadDir(p) // an unreadable directory could not be watched either
	for _, entry := range entries {
		below := path.Join(p, entry.Name())
		switch {
		case entry.IsDir():
			l.grow(t, below)
		case l.points[below]: // the directory receives no events of a mounted file
			l.join(t, below)
		}
	}
}

// join watches a directory, or a file that something is mounted on, as a part of the tree.
func (l *Listener) join(t *target, p string) *dir {
	d := l.watch(p, atTheEnd)
	if t.below[p] == nil {
		t.below[p] = d
		d.trees = append(d.trees, t)
		d.refs++
	}
	if t.why == "" {
		t.why = d.why
	}
	return d
}

// shrink releases everything at and below a path of a tree; "" means the whole tree.
func (l *Listener) shrink(t *target, p string) {
	for name, d := range t.below {
		if p == "" || name == p || strings.HasPrefix(name, p+"/") {
			delete(t.below, name)
			l.leave(d, t)
		}
	}
}

// leave takes a directory out of a tree, once.
func (l *Listener) leave(d *dir, t *target) {
	if i := slices.Index(d.trees, t); i >= 0 {
		d.trees = slices.Delete(d.trees, i, i+1)
		l.release(d)
	}
}

// handle handles one event.
func (l *Listener) handle(e event) {
	for _, d := range l.wds[e.wd] {
		switch {
		case e.name == "":
			for _, all := range d.names {
				l.again(all, true)
			}
			l.again(d.trees, false)
		default:
			l.again(d.names[e.name], e.mask&comesOrGoes != 0)
			l.again(d.trees, false)
			if len(d.trees) > 0 && e.mask&unix.IN_ISDIR != 0 && e.mask&comesOrGoes != 0 {
				l.regrow = append(l.regrow, path.Join(d.path, e.name))
			}
		}
	}
	if e.mask&unix.IN_IGNORED != 0 { // the kernel has removed the watch
		for _, d := range slices.Clone(l.wds[e.wd]) {
			l.move(d, -1)
		}
	}
}

// settle walks all marked targets, until none is left.
func (l *Listener) settle() {
	for len(l.dirty) > 0 || len(l.regrow) > 0 {
		for t := range l.dirty {
			delete(l.dirty, t)
			if l.walk(t) {
				l.told[t] = true
			}
		}
		regrow := l.regrow
		l.regrow = nil
		for _, p := range regrow {
			above := l.dirs[path.Dir(p)]
			if above == nil {
				continue
			}
			for _, t := range slices.Clone(above.trees) {
				l.shrink(t, p)
				switch kind := look(p).kind; {
				case kind == unix.S_IFDIR:
					l.grow(t, p)
				case kind != 0 && l.points[p]:
					l.join(t, p)
				}
			}
		}
	}
}
