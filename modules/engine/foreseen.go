package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/ccm-push/ccm-push/modules"
)

// host gives the Host as it will be, read-only, to whom s belongs to. Doubts go to w.
func (f *forecast) host(ctx context.Context, s sight, w *witness, report modules.Reporter) modules.Host {
	open := func(c modules.Content) (io.ReadCloser, error) { return f.real.Contents.Open(ctx, c) }
	fh := foreseenHost{f, s, w, open}
	h := modules.ReadOnly(modules.Host{
		Files:    modules.Files{FileReader: fh, FileRights: fh},
		Accounts: foreseenAccounts{f.real.Accounts, fh},
		Commands: foreseenCommands{f.real.Commands, fh},
		Contents: f.real.Contents,
		Private:  f.real.Private,

		Resources: f.real.Resources,
		YAML:      f.real.YAML,
		State:     f.real.State,
	})
	h.Report, h.Forecast = report, fh
	return h
}

type foreseenHost struct {
	*forecast
	sees sight
	w    *witness
	open func(modules.Content) (io.ReadCloser, error)
}

// consult finds what is foreseen and notes what puts it in doubt.
func (h foreseenHost) consult(name string, whole bool) (foreseen, string, bool) {
	h.w.looks.at(glance{path: name, follow: whole})
	if h.pending == "" {
		return foreseen{}, name, false
	}
	name, unsure := h.walk(name, whole, func(_ string, from origin) { h.ordered(from) })
	for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
		h.permits(h.paths[dir], modules.Directory, ownerMayEnter)
	}
	s, ok := h.lookup(name)
	h.weigh(s.origin)
	h.meets(h.paths[name].origin)
	if unsure.at > s.at {
		h.w.note(unsure.ref)
	}
	return s, name, ok
}

// What the owner of a file may do.
const (
	ownerMayRead  fs.FileMode = 0o400
	ownerMayWrite fs.FileMode = 0o200
	ownerMayEnter fs.FileMode = 0o100
)

// permits notes that something of that kind will have a mode without some rights
// of its owner: whether they are needed depends on who acts, since root may all
// the same.
func (h foreseenHost) permits(s foreseen, kind modules.FileKind, rights fs.FileMode) {
	if s.Kind == kind && s.Mode&rights != rights {
		h.w.note(s.ref)
	}
}

// denied notes that the real host has denied something about name which may be
// allowed once name, or a directory on the way to it, is as foreseen.
func (h foreseenHost) denied(name string, err error) {
	if !errors.Is(err, fs.ErrPermission) {
		return
	}
	if s, ok := h.paths[name]; ok {
		h.w.note(s.ref)
	}
	if _, err := h.real.Files.Stat(name); !errors.Is(err, fs.ErrPermission) {
		return // the directories are no obstacle
	}
	for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
		if s, ok := h.paths[dir]; ok {
			h.w.note(s.ref)
		}
	}
}

// weigh notes what puts a state in doubt: its own plan, or an opaque action
// after it. What is not foreseen at all comes from before every plan.
func (h foreseenHost) weigh(from origin) {
	switch {
	case h.sees.opaque.at > from.at:
		h.w.note(h.sees.opaque.ref)
	case from.doubt != "":
		h.w.note(from.doubt)
	}
	if h.undone.at > from.at {
		h.w.perhaps(h.undone.ref)
	}
	h.ordered(from)
}

// ordered notes that what was foreseen by a plan may as well come later than whoever
// asks: nobody has said which is first.
func (h foreseenHost) ordered(from origin) {
	if from.ref != "" && !h.precedes(from.at, h.sees) {
		h.w.note(from.ref)
	}
}

// weighKind is weigh for what is no path, but is kept in files all the same.
func (h foreseenHost) weighKind(kind modules.EffectKind, from origin) {
	h.weigh(from)
	unsure := cause{at: from.at}
	for dir, c := range h.below {
		if c.at > unsure.at && isKept(kind, dir) {
			unsure = c
		}
	}
	if unsure.ref != "" {
		h.w.note(unsure.ref)
	}
}

// isKept reports whether what a system knows of a kind of things may be kept in a directory.
func isKept(kind modules.EffectKind, dir string) bool {
	return slices.ContainsFunc(keptIn(kind), func(kept string) bool { return inside(dir, kept) || inside(kept, dir) })
}

// keptIn lists where operating systems keep what they know of a kind of things.
func keptIn(kind modules.EffectKind) []string {
	if kind == modules.UserEffect || kind == modules.GroupEffect {
		return []string{"/etc"}
	}
	return []string{"/etc", "/lib", "/run", "/usr/lib", "/usr/local/lib", "/var/lib"}
}

// inside reports whether a path is a directory or below it.
func inside(name, dir string) bool {
	return name == dir || dir == "/" || strings.HasPrefix(name, dir+"/")
}

// Lookup implements [modules.Forecast].
func (h foreseenHost) Lookup(kind modules.EffectKind, key string) (any, bool) {
	switch kind {
	case modules.PathEffect:
		s, _, ok := h.consult(key, false)
		return s.PathState, ok
	case modules.AnyEffect:
		h.w.looks.thing(kind, "")
		if h.undone.ref != "" {
			h.w.note(h.undone.ref)
		}
		return nil, false
	}
	s, ok := h.other[kind][key]
	h.w.looks.thing(kind, key)
	h.weighKind(kind, s.origin)
	h.meets(s.origin)
	return s.state, ok
}

// Stat implements [modules.FileReader].
func (h foreseenHost) Stat(name string) (modules.FileInfo, error) {
	s, name, ok := h.consult(name, false)
	if !ok {
		info, err := h.real.Files.Stat(name)
		h.denied(name, err)
		return info, err
	}
	if s.Kind == modules.Absent {
		return modules.FileInfo{}, h.absent("lstat", name)
	}
	if s.Partial {
		h.w.note(s.ref) // its owner and mode may matter
	}
	return s.FileInfo, nil
}

// absent is the error for a path that will not exist: ENOTDIR below a file.
func (h foreseenHost) absent(op, name string) error {
	err := syscall.ENOENT
	for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
		if s, ok := h.paths[dir]; ok && s.Kind != modules.Absent && s.Kind != modules.Directory {
			err = syscall.ENOTDIR
		}
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// Digest implements [modules.FileReader].
func (h foreseenHost) Digest(name string) (string, error) {
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
	return digest, err
}

// Open implements [modules.FileReader].
func (h foreseenHost) Open(name string) (io.ReadCloser, error) {
	s, name, ok := h.consult(name, true)
	h.permits(s, modules.Regular, ownerMayRead)
	switch {
	case ok && (s.Kind == modules.Absent || s.Partial):
		return nil, h.absent("open", name)
	case ok && s.Kind == modules.Regular && !s.Content.IsZero():
		return h.open(s.Content)
	}
	file, err := h.real.Files.Open(name)
	h.denied(name, err)
	return file, err
}

// List implements [modules.FileReader].
func (h foreseenHost) List(name string) ([]string, error) {
	h.w.looks.at(glance{name, true, true})
	s, name, ok := h.consult(name, true)
	if c := h.below[name]; c.ref != "" {
		h.w.note(c.ref)
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
	for p, below := range h.paths {
		if path.Dir(p) != name || p == name {
			continue
		}
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
func (h foreseenHost) MayReplace(name string) error {
	dir, at, ok := h.consult(path.Dir(name), true)
	if h.pending != "" {
		if err := modules.MayFollow(h.plain, path.Dir(name), os.Geteuid()); err != nil {
			return err
		}
	}
	if !ok {
		err := h.real.Files.MayReplace(path.Join(at, path.Base(name)))
		h.denied(at, err)
		return err
	}
	h.permits(dir, modules.Directory, ownerMayRead|ownerMayWrite|ownerMayEnter)
	return nil
}

// MaySetAttributes implements [modules.FileRights].
func (h foreseenHost) MaySetAttributes(name string, a modules.Attributes) error {
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
	return h.real.Files.MayCreate(a) // what was made or changed before is ours
}

// mayRelabel judges the links on the way to a path, and what is there, by its path as
// given and by the one without links.
func (h foreseenHost) mayRelabel(given, name string) error {
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

// plain describes a path without links as it is foreseen, and notes nothing: who asks
// has consulted the whole path.
func (f *forecast) plain(name string) (modules.FileInfo, error) {
	s, ok := f.lookup(name)
	switch {
	case !ok:
		return f.real.Files.Stat(name)
	case s.Kind == modules.Absent:
		return modules.FileInfo{}, &fs.PathError{Op: "lstat", Path: name, Err: fs.ErrNotExist}
	}
	return s.FileInfo, nil
}

// MayCreate implements [modules.FileRights].
func (h foreseenHost) MayCreate(a modules.Attributes) error { return h.real.Files.MayCreate(a) }

type foreseenAccounts struct {
	modules.Accounts
	h foreseenHost
}

// unknownID is what an account has that does not exist yet: the largest id that
// an int holds everywhere, which hardly anybody has.
const unknownID = 1<<31 - 1

// account answers for an account that the host itself does not have, and notes
// that one may come into being before it is needed.
func (a foreseenAccounts) account(kind modules.EffectKind, name string, id int, err error) (int, error) {
	state, foreseen := a.h.Lookup(kind, name)
	account, _ := state.(modules.AccountState)
	switch {
	case !foreseen:
		return id, err
	case !account.Exists:
		return 0, fmt.Errorf("%s %q: %w", kind, name, modules.ErrNoAccount)
	case account.ID == nil:
		a.h.w.note(a.h.other[kind][name].ref)
		return unknownID, nil
	}
	return *account.ID, nil
}

// UserID implements [modules.Accounts].
func (a foreseenAccounts) UserID(ctx context.Context, name string) (int, error) {
	id, err := a.Accounts.UserID(ctx, name)
	return a.account(modules.UserEffect, name, id, err)
}

// GroupID implements [modules.Accounts].
func (a foreseenAccounts) GroupID(ctx context.Context, name string) (int, error) {
	id, err := a.Accounts.GroupID(ctx, name)
	return a.account(modules.GroupEffect, name, id, err)
}

// UserName implements [modules.Accounts].
func (a foreseenAccounts) UserName(ctx context.Context, uid int) string {
	return cmp.Or(a.name(modules.UserEffect, uid), a.Accounts.UserName(ctx, uid))
}

// GroupName implements [modules.Accounts].
func (a foreseenAccounts) GroupName(ctx context.Context, gid int) string {
	return cmp.Or(a.name(modules.GroupEffect, gid), a.Accounts.GroupName(ctx, gid))
}

// name finds the account that is foreseen to have an id, or nothing.
func (a foreseenAccounts) name(kind modules.EffectKind, id int) string {
	a.h.w.looks.thing(kind, withID(id))
	for name, s := range a.h.other[kind] {
		if account, ok := s.state.(modules.AccountState); ok && account.Exists && account.ID != nil && *account.ID == id {
			a.h.weighKind(kind, s.origin)
			return name
		}
	}
	return ""
}

type foreseenCommands struct {
	modules.Commands
	h foreseenHost
}

// Probe runs on the host as it is.
func (c foreseenCommands) Probe(ctx context.Context, cmd modules.Command) (modules.Exit, error) {
	c.h.probed(cmd.Reads)
	return c.Commands.Probe(ctx, cmd)
}

// probed notes what puts in doubt what a program has said of the host as it is:
// anything pending, or anything of the kind that it reads. Things of one kind have to do
// with each other in ways that no edge shows: packages, and units, bring others along.
func (h foreseenHost) probed(reads modules.EffectKind) {
	if reads == "" {
		h.w.looks.probe()
	} else {
		h.w.looks.thing(reads, "")
	}
	switch {
	case reads != "" && len(h.other[reads]) == 0:
		h.weighKind(reads, origin{})
	case reads != "" && h.sees.graph:
		h.w.note(h.firstOf(reads))
	case h.sees.pending != "":
		h.w.note(h.sees.pending)
	}
	if h.pending != "" {
		h.w.perhaps(h.pending)
	}
}

// firstOf names the resource that was the first to plan something for a kind of things.
func (h foreseenHost) firstOf(kind modules.EffectKind) string {
	var first origin
	for _, s := range h.other[kind] {
		if first.ref == "" || s.at < first.at {
			first = s.origin
		}
	}
	return first.ref
}
