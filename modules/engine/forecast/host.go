package forecast

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ccm-push/ccm-push/modules"
)

// Host returns the predicted Host, read-only, for the entry with the view v. It records reads and dependencies in p.
func (f *Forecast) Host(ctx context.Context, v View, p *Prediction, report modules.Reporter) modules.Host {
	open := func(c modules.Content) (io.ReadCloser, error) { return f.real.Contents.Open(ctx, c) }
	fh := predictedHost{Forecast: f, view: v, p: p, open: open}
	h := modules.ReadOnly(modules.Host{
		Files:    modules.Files{FileReader: fh, FileRights: fh, Xattrs: fh.xattrs},
		Accounts: predictedAccounts{Accounts: f.real.Accounts, h: fh},
		Commands: predictedCommands{f.real.Commands, fh},
		Contents: f.real.Contents,
		Private:  f.real.Private,
		Stage:    f.real.Stage,
		CheckRun: true,

		Resources: f.real.Resources,
		YAML:      f.real.YAML,
		State:     f.real.State,
	})
	h.Report, h.Forecast = report, fh
	h.Aside = func() (modules.Host, func() modules.Grade) {
		aside := &Prediction{Reads: p.Reads}
		return f.Host(ctx, v, aside, report), func() modules.Grade { return aside.Because.Grade }
	}
	return h
}

// Stat implements [modules.FileReader].
func (h predictedHost) Stat(name string) (modules.FileInfo, error) {
	s, name, ok := h.consult(name, false)
	if !ok {
		info, err := h.real.Files.Stat(name)
		h.denied(name, err)
		return info, err
	}
	if s.Kind == modules.Absent {
		return modules.FileInfo{}, h.absent("lstat", name)
	}
	if s.Partial && h.knows != modules.KindOnly {
		h.p.Doubt(s.ref)
	}
	return s.FileInfo, nil
}

// absent is the error for a path that will not exist: ENOTDIR below a file.
func (h predictedHost) absent(op, name string) error {
	err := syscall.ENOENT
	for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
		if s, ok := h.paths[h.same(dir)]; ok && s.Kind != modules.Absent && s.Kind != modules.Directory {
			err = syscall.ENOTDIR
		}
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// ModTime implements [modules.FileReader]. Nothing is predicted of times.
func (h predictedHost) ModTime(name string) (time.Time, error) { return h.real.Files.ModTime(name) }

// xattrs is Xattrs of [modules.Files].
func (h predictedHost) xattrs(name string, is modules.FileInfo) ([]string, error) {
	if s, _, ok := h.consult(name, false); ok || h.real.Files.Xattrs == nil {
		return s.Xattrs, nil
	}
	return h.real.Files.Xattrs(name, is)
}

// Digest implements [modules.FileReader].
func (h predictedHost) Digest(name string) (string, error) {
	s, name, ok := h.consult(name, true)
	h.permits(s, modules.Regular, ownerMayRead)
	switch {
	case ok && s.Kind == modules.Absent:
		return "", h.absent("open", name)
	case ok && s.Kind == modules.Regular && !s.Content.IsZero():
		return s.Content.SHA256(), nil
	case ok && s.Partial:
		return "", h.absent("open", name)
	}
	digest, err := h.real.Files.Digest(name)
	h.denied(name, err)
	h.p.unread(s, ok, err)
	return digest, err
}

// Open implements [modules.FileReader].
func (h predictedHost) Open(name string) (io.ReadCloser, error) {
	s, name, ok := h.consult(name, true)
	h.permits(s, modules.Regular, ownerMayRead)
	switch {
	case ok && s.Kind == modules.Regular && !s.Content.IsZero():
		return h.open(s.Content)
	case ok && (s.Kind == modules.Absent || s.Partial):
		return nil, h.absent("open", name)
	}
	open := h.real.Files.Open
	if ok {
		open = h.openAsItIs
	}
	file, err := open(name)
	h.denied(name, err)
	h.p.unread(s, ok, err)
	return file, err
}

// openAsItIs opens a file whose attributes are predicted, so that the file does not have them yet: openAsItIs makes the
// comparison of [modules.SameOwner] for its caller.
func (h predictedHost) openAsItIs(name string) (io.ReadCloser, error) {
	seen, err := h.real.Files.Stat(name)
	if err != nil {
		return nil, err
	}
	file, err := modules.OpenSeen(h.real.Files, name, seen)
	if err != nil {
		return nil, err
	}
	return struct{ io.ReadCloser }{file}, nil
}

// namesIn returns the paths of a map that are names in a directory, in one order: the first doubt names the cause.
func namesIn[T any](paths map[string]T, dir string) []string {
	var names []string
	for p := range paths {
		if path.Dir(p) == dir && p != dir {
			names = append(names, p)
		}
	}
	slices.Sort(names)
	return names
}

// List implements [modules.FileReader].
func (h predictedHost) List(name string) ([]string, error) {
	h.p.Reads.path(pathRead{path: name, follow: true, names: true, knows: h.knows})
	s, name, ok := h.consult(name, true)
	same := h.same(name)
	if c := h.below[same]; c.ref != "" {
		h.p.Doubt(c.ref)
	}
	for _, p := range namesIn(h.differs, same) {
		if c := h.differ(p, h.knows); c.at > h.paths[p].at {
			h.p.Doubt(c.ref)
		}
	}
	if ok && s.Kind == modules.Absent {
		return nil, h.absent("open", name)
	}
	h.permits(s, modules.Directory, ownerMayRead)
	var names []string
	if !s.fresh {
		var err error
		if names, err = h.real.Files.List(name); err != nil {
			h.denied(name, err)
			return nil, err
		}
	}
	for _, p := range namesIn(h.paths, same) {
		below := h.paths[p]
		h.weigh(below.origin)
		base := path.Base(p)
		at, found := slices.BinarySearch(names, base)
		switch {
		case below.Kind == modules.Absent && found:
			names = slices.Delete(names, at, at+1)
		case below.Kind != modules.Absent && !found:
			names = slices.Insert(names, at, base)
		}
	}
	return names, nil
}

// MayReplace implements [modules.FileRights].
func (h predictedHost) MayReplace(name string) error {
	dir, at, ok := h.consult(path.Dir(name), true)
	if h.pending != "" {
		if err := modules.MayFollow(h.plain, path.Dir(name), os.Geteuid()); err != nil {
			return err
		}
	}
	if ok && dir.isNew() {
		h.permits(dir, modules.Directory, ownerMayRead|ownerMayWrite|ownerMayEnter)
		return nil
	}
	err := h.real.Files.MayReplace(path.Join(at, path.Base(name)))
	_, mounted := errors.AsType[*modules.MountedError](err)
	switch {
	case mounted:
		err = nil
	case ok && !errors.Is(err, modules.ErrKernelRefuses): // it depends on owner and mode
		h.permits(dir, modules.Directory, ownerMayRead|ownerMayWrite|ownerMayEnter)
		err = nil
	}
	if err == nil {
		err = modules.MountedAt(name, h.MountPoints(name))
	}
	h.denied(at, err)
	return err
}

// MaySetAttributes implements [modules.FileRights].
func (h predictedHost) MaySetAttributes(name string, a modules.Attributes) error {
	given := name
	s, name, ok := h.consult(name, true)
	if h.pending != "" {
		if err := h.mayRelabel(given, name); err != nil {
			return err
		}
	}
	if !ok {
		err := h.real.Files.MaySetAttributes(name, a)
		h.denied(name, err)
		return err
	}
	if a.GID == s.GID {
		a.GID = -1 // it is kept, even if it is a group that only root could give
	}
	return h.real.Files.MayCreate(a) // the play has created or changed it before
}

// mayRelabel checks the links on the way to a path, and the object there, by its given path and by the path without
// links.
func (h predictedHost) mayRelabel(given, name string) error {
	if err := modules.MayFollow(h.plain, path.Dir(given), os.Geteuid()); err != nil {
		return err
	}
	dir, err := h.plain(path.Dir(name))
	if err != nil {
		return nil // which the file system will say
	}
	file, err := h.plain(name)
	if err != nil {
		return nil
	}
	return modules.Relabel(given, file, dir, os.Geteuid())
}

// MountPoints implements [modules.FileRights].
func (h predictedHost) MountPoints(name string) []modules.MountPoint {
	_, dir, _ := h.consult(path.Dir(name), true) // plans for the file itself do not matter
	at := path.Join(dir, path.Base(name))
	s, ok := h.lookup(at)
	gone := ok && s.isNew()
	var points []modules.MountPoint
	for _, p := range h.real.Files.MountPoints(at) {
		if gone {
			h.weigh(s.origin)
		} else if mounted, planned := h.mounted(p.Path); mounted || !planned {
			points = append(points, p)
		}
	}
	for point := range h.other[modules.MountEffect] {
		there := slices.ContainsFunc(points, func(p modules.MountPoint) bool { return p.Path == point })
		if there || !modules.Inside(point, at) {
			continue
		}
		if mounted, _ := h.mounted(point); mounted {
			points = append(points, modules.MountPoint{Path: point, Below: strings.TrimPrefix(strings.TrimPrefix(point, at), "/")})
		}
	}
	return points
}

// Binds implements [modules.FileRights].
func (h predictedHost) Binds() map[string]string { return h.binds }

// mounted reports whether something will be mounted at a path, and whether that is planned.
func (h predictedHost) mounted(point string) (mounted, planned bool) {
	state, planned := h.Lookup(modules.MountEffect, point)
	if !planned {
		return false, false
	}
	return state.(interface{ Mounted() bool }).Mounted(), true
}

// isNew reports whether the current file or directory at the path will be gone.
func (s predictedPath) isNew() bool { return s.Kind == modules.Absent || s.fresh }

// MayCreate implements [modules.FileRights].
func (h predictedHost) MayCreate(a modules.Attributes) error { return h.real.Files.MayCreate(a) }
