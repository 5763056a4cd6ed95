package mountinfo

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// A Table holds all mounts of a mount namespace, in the order of [File].
type Table []Mount

// NewTable reads the text of [File].
func NewTable(text string) Table {
	t := Table(slices.Collect(Parse(text)))
	byID := make(map[int]Mount, len(t))
	for _, m := range t {
		byID[m.ID] = m
	}
	for i, m := range t {
		parent, ok := byID[m.Parent]
		if !ok {
			parent = unlisted(m.Parent)
		}
		if on, ok := parent.place(m.Point); ok {
			t[i].on = on
		}
	}
	return t
}

// A Place is a path as the kernel compares it: by its file system, and not by the mount that it is
// reached through. A file has one Place, however many bind mounts show it.
type Place struct {
	Device string // as in [Mount]
	Path   string // in the file system
}

// Within returns the path of p relative to top ("" is top itself), and whether p is at or below top.
func (p Place) Within(top Place) (below string, ok bool) {
	if p.Device != top.Device {
		return "", false
	}
	return relative(p.Path, top.Path)
}

// Place returns the place of an absolute path without links. id is the mount that the directory of the
// path is on.
func (t Table) Place(id int, name string) (Place, bool) { return t.mount(id).place(name) }

func (m Mount) place(name string) (Place, bool) {
	below, ok := relative(name, m.Point)
	return Place{m.Device, path.Join(m.Root, below)}, ok
}

// mount returns a mount by its id. After chroot(2), the list lacks the mount that the new root is in, and
// has paths from there on.
func (t Table) mount(id int) Mount {
	i := slices.IndexFunc(t, func(m Mount) bool { return m.ID == id })
	if i < 0 {
		return unlisted(id)
	}
	return t[i]
}

func unlisted(id int) Mount {
	return Mount{ID: id, Device: "of mount " + strconv.Itoa(id), Root: "/", Point: "/"}
}

// A Found is a mount that was found at a place or below it.
type Found struct {
	Mount
	Below string // its mount point, relative to the place; "" is the place itself
}

// On returns the mounts at a place and below it. It includes mounts that were made through another bind mount of the
// place, because the kernel refuses to remove any mount point.
func (t Table) On(top Place) []Found {
	all := t.in(top, nil)
	for _, f := range slices.Backward(all) {
		if f.Below == "" { // the last one is seen
			all = t.in(Place{f.Device, f.Root}, all)
			break
		}
	}
	for i := 0; i < len(all); i++ { // it grows
		for _, m := range t {
			if m.Parent != all[i].ID || slices.ContainsFunc(all, func(f Found) bool { return f.ID == m.ID }) {
				continue
			}
			if below, ok := relative(m.Point, all[i].Point); ok {
				all = append(all, Found{m, path.Join(all[i].Below, below)})
			}
		}
	}
	return all
}

// in adds the mounts that are directly at a place or below it.
func (t Table) in(top Place, all []Found) []Found {
	for _, m := range t {
		if below, ok := m.on.Within(top); ok && !slices.ContainsFunc(all, func(f Found) bool { return f.ID == m.ID && f.Below == below }) {
			all = append(all, Found{m, below})
		}
	}
	return all
}

// At returns the mount that is seen at a mount point: the last one.
func (t Table) At(point string) (Mount, bool) {
	for _, m := range slices.Backward(t) {
		if m.Point == point {
			return m, true
		}
	}
	return Mount{}, false
}

// Binds maps each mount point to another path of the same directory or file, outside of this mount: the path in the first mount
// that has it. Other mount points map to themselves. Binds returns nil if no directory or file is visible twice.
func (t Table) Binds() map[string]string {
	all, twice := map[string]string{}, false
	ofDevice := map[string][]int{}
	for i, m := range t {
		ofDevice[m.Device] = append(ofDevice[m.Device], i)
	}
	for i, m := range t {
		all[m.Point] = m.Point
		for _, n := range ofDevice[m.Device] {
			other := t[n]
			below, ok := relative(m.Root, other.Root)
			if !ok || n == i || below == "" && n > i {
				continue
			}
			if at := path.Join(other.Point, below); t.covering(at) == n && at != m.Point {
				all[m.Point], twice = at, true
				break
			}
		}
	}
	if !twice {
		return nil
	}
	return all
}

// Of returns the place of a path without links, in the mount that is visible there.
func (t Table) Of(name string) (Place, bool) {
	i := t.covering(name)
	if i < 0 {
		return Place{}, false
	}
	return t[i].place(name)
}

// covering returns the index of the mount that a path without links is on; -1 if it is not listed.
func (t Table) covering(name string) int {
	found := -1
	for i, m := range t {
		if _, ok := relative(name, m.Point); ok && (found < 0 || len(m.Point) >= len(t[found].Point)) {
			found = i
		}
	}
	return found
}

// relative returns a path relative to another one, and whether it is at or below that. Both are clean and absolute.
func relative(name, top string) (below string, ok bool) {
	if name == top {
		return "", true
	}
	return strings.CutPrefix(name, strings.TrimSuffix(top, "/")+"/")
}
