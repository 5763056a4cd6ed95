package authorizedkey

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
	"github.com/ccm-push/ccm-push/modules/edit"
)

// The modes of new paths, as sshd requires them; users other than the owner need no access (sshd(8), StrictModes).
const (
	dirMode  fs.FileMode = 0o700
	fileMode             = "0600"
)

// steps are the steps of Apply.
type steps struct {
	dir  string // to be made first, with attributes; "" if it is there
	as   modules.Attributes
	file any // the steps of the edit
	// empties is a directory that is removed once the file is; "" if it stays.
	empties string
}

// Check implements [modules.Resource].
func (k *AuthorizedKey) Check(ctx context.Context, h modules.Host) (modules.Plan, error) {
	user, err := k.user(ctx, h)
	if errors.Is(err, modules.ErrNoAccount) && k.Ensure == absent {
		return modules.Plan{}, nil // without the user, no login is possible
	}
	if err != nil {
		return modules.Plan{}, err
	}
	f := k.edited(user)
	dir := path.Dir(f.Path)
	if _, err := modules.Follow(h.Files, dir); k.Path != "" || !modules.NotThere(err) || k.Ensure == absent || k.Restore != nil {
		plan, err := f.Check(ctx, h)
		s := steps{file: plan.Steps}
		if err == nil && plan.Pending() && k.MadeDir && alone(h.Files, f.Path) && removes(plan) {
			s.empties = dir
			plan.Effects = append(plan.Effects, modules.Effect{Kind: modules.PathEffect, Key: dir, State: modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Absent}}})
		}
		plan.Steps = s
		return settled(plan), err
	}
	as := modules.Attributes{Mode: dirMode, UID: user.UID, GID: user.GID}
	if err := modules.InDirectory(h.Files, dir); err != nil {
		return modules.Plan{}, modules.PermissionRefusal(err)
	}
	plan, err := f.Check(ctx, madeIn(h, dir))
	if err == nil {
		plan, err = modules.PlanIfPermitted(plan, h.Files.MayCreate(as))
	}
	if err != nil {
		return modules.Plan{}, err
	}
	made := modules.PathState{FileInfo: modules.FileInfo{Kind: modules.Directory, Mode: dirMode, UID: user.UID, GID: user.GID}}
	plan.Effects = append([]modules.Effect{{Kind: modules.PathEffect, Key: dir, State: made}}, plan.Effects...)
	plan.Steps = steps{dir: dir, as: as, file: plan.Steps}
	return plan, nil
}

// removes reports whether a plan removes the file that it edits.
func removes(plan modules.Plan) bool {
	return slices.ContainsFunc(plan.Effects, func(e modules.Effect) bool {
		is, ok := e.State.(modules.PathState)
		return ok && is.Kind == modules.Absent
	})
}

// alone reports whether nothing but the file is in its directory.
func alone(files modules.FileReader, file string) bool {
	names, err := files.List(path.Dir(file))
	return err == nil && len(names) == 1 && names[0] == path.Base(file)
}

// settled removes the steps of a plan if there is nothing to do.
func settled(plan modules.Plan) modules.Plan {
	if !plan.Pending() {
		return modules.Plan{}
	}
	return plan
}

// Apply implements [modules.Resource].
func (k *AuthorizedKey) Apply(ctx context.Context, h modules.Host, p modules.Plan) error {
	s, ok := p.Steps.(steps)
	if !ok {
		return errors.New("the plan is not one of an authorized key")
	}
	user, err := k.user(ctx, h)
	if err != nil {
		return err
	}
	if s.dir != "" {
		if err := h.Files.MakeDir(ctx, s.dir, s.as); err != nil {
			return err
		}
	}
	p.Steps = s.file
	err = k.edited(user).Apply(ctx, h, p)
	if err != nil && s.dir != "" {
		return errors.Join(err, h.Files.Remove(context.WithoutCancel(ctx), s.dir, false))
	}
	if err == nil && s.empties != "" {
		if names, wrong := h.Files.List(s.empties); wrong == nil && len(names) == 0 { // otherwise another process has just put something there
			err = h.Files.Remove(ctx, s.empties, false)
		}
	}
	return err
}

// user is the user of the key, as earlier plans predict it.
func (k *AuthorizedKey) user(ctx context.Context, h modules.Host) (accounts.User, error) {
	tables, err := accounts.Read(h)
	if err != nil {
		return accounts.User{}, modules.PermissionRefusal(err)
	}
	if k.Path == "" {
		return tables.Find(ctx, k.User)
	}
	if user, ok := tables.User(k.User); ok {
		return user, nil
	}
	return accounts.User{Name: k.User, UID: -1, GID: -1}, nil
}

// edited is the file, with its edit.
func (k *AuthorizedKey) edited(user accounts.User) *edit.File {
	f := &edit.File{
		Path: k.Path, Edit: k.edit, Restore: k.Restore, Optional: k.Ensure == absent,
		Create: true, Owner: k.User, Mode: fileMode,
	}
	if k.Path == "" {
		f.Path = path.Join(user.Home, ".ssh/authorized_keys")
		if user.GID != accounts.Unknown {
			f.Group = strconv.Itoa(user.GID)
		}
	}
	return f
}

// madeIn is the host as it will be with a directory.
func madeIn(h modules.Host, dir string) modules.Host {
	h.Files.FileReader = withDirectory{h.Files.FileReader, dir}
	h.Files.FileRights = rightsIn{h.Files.FileRights, dir}
	return h
}

type withDirectory struct {
	modules.FileReader
	dir string
}

// Stat implements [modules.FileReader].
func (w withDirectory) Stat(name string) (modules.FileInfo, error) {
	if name == w.dir {
		return modules.FileInfo{Kind: modules.Directory, Mode: dirMode}, nil
	}
	return w.FileReader.Stat(name)
}

type rightsIn struct {
	modules.FileRights
	dir string
}

// MayReplace implements [modules.FileRights]: a user who may create the directory may write in it.
func (r rightsIn) MayReplace(name string) error {
	if path.Dir(name) == r.dir {
		name = r.dir
	}
	return r.FileRights.MayReplace(name)
}
