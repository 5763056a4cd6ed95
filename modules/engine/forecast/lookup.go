package forecast

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ccm-push/ccm-push/modules"
)

// A predictedHost answers one entry, and notes in its prediction what the answers depend on.
type predictedHost struct {
	*Forecast
	view View
	p    *Prediction
	open func(modules.Content) (io.ReadCloser, error)

	knows modules.EffectKind // effects that the reader applies itself; see [modules.Files.Knowing]
}

// Knowing returns the files as read by a type that applies effects of a kind itself.
func (h predictedHost) Knowing(kind modules.EffectKind) modules.FileReader {
	h.knows = kind
	return h
}

// consult looks up a prediction, and records its doubts.
func (h predictedHost) consult(name string, whole bool) (predictedPath, string, bool) {
	h.p.Reads.path(pathRead{path: name, follow: whole, knows: h.knows})
	if h.pending == "" {
		return predictedPath{}, name, false
	}
	name, unsure, ifThere := h.walk(name, whole, h.knows, func(_ string, from origin) { h.ordered(from) })
	for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
		h.permits(h.paths[h.same(dir)], modules.Directory, ownerMayEnter)
	}
	s, ok := h.lookup(name)
	h.weigh(s.origin)
	h.unordered(h.paths[h.same(name)].origin)
	_, own := h.paths[h.same(name)]
	counts := func(c cause) bool { // a plan predicts some paths of a folder, and not the others
		return c.at > s.at || c.at == s.at && !own && c.ref != ""
	}
	if counts(unsure) {
		h.p.Doubt(unsure.ref)
	}
	if counts(ifThere) {
		grade := modules.Unknown
		if _, err := h.plain(name); modules.NotThere(err) {
			grade = modules.Likely
		}
		h.p.Add(Doubt{ifThere.ref, grade})
	}
	return s, name, ok
}

// Permissions of the owner of a file.
const (
	ownerMayRead  fs.FileMode = 0o400
	ownerMayWrite fs.FileMode = 0o200
	ownerMayEnter fs.FileMode = 0o100
)

// permits adds a doubt if an object of that kind will have a mode without some permissions of its owner: whether they
// are needed depends on the user, since root needs none.
func (h predictedHost) permits(s predictedPath, kind modules.FileKind, rights fs.FileMode) {
	if s.Kind == kind && s.Mode&rights != rights {
		h.p.Doubt(s.ref)
	}
}

// denied notes that the real host has denied something about name which may be
// allowed once name, or a directory on the way to it, is as predicted.
func (h predictedHost) denied(name string, err error) {
	if !errors.Is(err, fs.ErrPermission) {
		return
	}
	if s, ok := h.paths[h.same(name)]; ok {
		h.p.Doubt(s.ref)
	}
	if _, err := h.real.Files.Stat(name); !errors.Is(err, fs.ErrPermission) {
		return // the directories are not in the way
	}
	for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
		if s, ok := h.paths[h.same(dir)]; ok {
			h.p.Doubt(s.ref)
		}
	}
}

// Lookup implements [modules.Forecast].
func (h predictedHost) Lookup(kind modules.EffectKind, key string) (any, bool) {
	switch kind {
	case modules.PathEffect:
		s, _, ok := h.consult(key, false)
		return s.PathState, ok
	case modules.AnyEffect:
		h.p.Reads.thing(kind, "")
		if h.unapplied.ref != "" {
			h.p.Doubt(h.unapplied.ref)
		}
		h.p.Add(Doubt{h.unappliedElsewhere.ref, modules.Likely})
		return nil, false
	case modules.LiveEffect:
		return predictedCommands{h: h}.live(key), true
	case modules.RereadEffect:
		return nil, predictedCommands{h: h}.reread(strings.Split(key, "\n"))
	case modules.ProbeEffect:
		return predictedCommands{h: h}.likelyReads(strings.FieldsFunc(key, func(c rune) bool { return c == '\n' })), true
	}
	s, ok := h.other[kind][key]
	h.p.Reads.thing(kind, key)
	h.weighKind(kind, s.origin)
	h.unordered(s.origin)
	return s.state, ok
}

// plain describes the prediction for a path without links, and adds no doubt: the caller has consulted the whole path.
func (f *Forecast) plain(name string) (modules.FileInfo, error) {
	s, ok := f.lookup(name)
	switch {
	case !ok:
		return f.real.Files.Stat(name)
	case s.Kind == modules.Absent:
		return modules.FileInfo{}, &fs.PathError{Op: "lstat", Path: name, Err: fs.ErrNotExist}
	}
	return s.FileInfo, nil
}

// weigh adds the doubts about a state: doubts about its own plan, or about an action after it that may change anything.
// A state without a prediction comes before every plan.
func (h predictedHost) weigh(from origin) {
	if c := h.view.opaque; c.at > from.at {
		h.p.Doubt(c.ref)
	}
	h.p.Add(from.doubt)
	if c := h.view.elsewhere; c.at > from.at {
		h.p.Add(Doubt{c.ref, modules.Likely})
	}
	if h.unapplied.at > from.at {
		h.p.doubtInList(h.unapplied.ref)
	}
	h.ordered(from)
}

// ordered adds a doubt if the plan that predicts a state may run after the reader: no edge orders the two.
func (h predictedHost) ordered(from origin) {
	if from.ref != "" && !h.precedes(from.at, h.view) {
		h.p.Doubt(from.ref)
	}
}

// weighKind is weigh for things that are not paths, but are stored in files.
func (h predictedHost) weighKind(kind modules.EffectKind, from origin) {
	h.weigh(from)
	unsure := cause{at: from.at}
	if c := h.kinds[kind]; c.at > unsure.at {
		unsure = c
	}
	for dir, c := range h.below {
		if c.at <= unsure.at {
			continue
		}
		switch keptIn(kind, dir) {
		case modules.Likely:
			h.p.Add(Doubt{c.ref, modules.Likely})
		case modules.Unknown:
			unsure = c.cause
		}
	}
	for _, file := range h.databases(kind) {
		if p := h.paths[file]; p.at > unsure.at {
			unsure = cause{p.ref, p.at}
		}
		if c := h.differ(file, ""); h.differs[file].kind == "" && c.at > unsure.at {
			unsure = c.cause
		}
	}
	if unsure.ref != "" {
		h.p.Doubt(unsure.ref)
	}
}

// databases returns the paths of the files that have the accounts of the host, without links. A plan that changes them by path, such as one of type line, predicts
// no accounts. A plan that names a kind of effect in [modules.DiffersEffect] does.
func (f *Forecast) databases(kind modules.EffectKind) []string {
	if len(f.paths)+len(f.differs) == 0 || kind != modules.UserEffect && kind != modules.GroupEffect {
		return nil
	}
	return []string{f.Canonical("/etc/passwd", false), f.Canonical("/etc/group", false)}
}

// unordered records the origin of a state that was predicted for the thing itself.
func (h predictedHost) unordered(from origin) {
	if h.p.Reads != nil && from.ref != "" && !h.precedes(from.at, h.view) {
		h.p.Reads.unordered[h.plans[from.at-h.began-1].Entry] = true
	}
}

// kept are the files in which operating systems store a kind of things, if a list is known.
var kept = map[modules.EffectKind][]string{
	modules.UserEffect:     {"/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow", "/etc/nsswitch.conf"},
	modules.GroupEffect:    {"/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow", "/etc/nsswitch.conf"},
	modules.OffersEffect:   {"/etc/apt", "/var/lib/apt", "/var/lib/dpkg", "/etc/dpkg", "/var/cache/apt", "/etc/dnf", "/etc/yum", "/etc/yum.repos.d", "/etc/distro.repos.d", "/etc/rpm", "/var/lib/rpm", "/var/lib/dnf", "/var/cache/dnf", "/usr/lib/sysimage/rpm"},
	modules.PackageEffect:  {"/var/lib/dpkg", "/var/lib/rpm", "/usr/lib/sysimage", "/lib/apk", "/var/lib/pacman", "/etc/dpkg", "/etc/rpm", "/usr/lib/rpm"},
	modules.FirewallEffect: {"/etc/nftables.conf", "/etc/nftables", "/etc/nftables.d", "/etc/sysconfig", "/etc/ufw", "/etc/default/ufw", "/lib/ufw", "/usr/share/ufw", "/etc/firewalld", "/usr/lib/firewalld"},
	modules.UnitEffect:     append([]string{"/etc/init.d", "/etc/runlevels", "/etc/containers/systemd", "/run/systemd"}, modules.UnitFolders...),
}

// rarely are folders whose changes rarely concern a thing of the kind: generators write units for mounts and old scripts.
var rarely = map[modules.EffectKind][]string{
	modules.UnitEffect: {"/run/systemd/generator", "/run/systemd/generator.early", "/run/systemd/generator.late"},
}

// keptAnywhere are the folders for all other kinds.
var keptAnywhere = []string{"/etc", "/lib", "/run", "/usr/lib", "/usr/local/lib", "/var/lib"}

// keptIn returns the grade of answers about a kind of things after any change in a directory. A part of a folder such as
// /etc likely has nothing to do with a kind that has no list of its own.
func keptIn(kind modules.EffectKind, dir string) modules.Grade {
	files, listed := kept[kind]
	if slices.Contains(rarely[kind], dir) {
		return modules.Likely
	}
	if !listed {
		files = keptAnywhere
	}
	grade := modules.Certain
	for _, file := range files {
		switch {
		case modules.Inside(file, dir), listed && modules.Inside(dir, file):
			return modules.Unknown
		case modules.Inside(dir, file):
			grade = modules.Likely
		}
	}
	return grade
}
