package user

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
)

// A keyFile is a user's authorized_keys with its folder: their state, and the plan to change them.
type keyFile struct {
	*User
	plan           *draft
	dir, name      string
	inDir, present modules.FileInfo // Kind Absent if it does not exist
	text           string
}

// look finds the existing file, and refuses a path that the user cannot write to or that leads elsewhere.
func (f *keyFile) look(ctx context.Context) (err error) {
	home := f.plan.after.Home
	f.dir, f.name = path.Join(home, ".ssh"), path.Join(home, ".ssh/authorized_keys")
	f.inDir.Kind, f.present.Kind = modules.Absent, modules.Absent
	if f.plan.newHome {
		return nil
	}
	info, err := lookHome(f.plan.h.Files, f.Name, home)
	if err != nil {
		return err
	}
	if info.Kind == modules.Absent {
		return modules.Refuse("ssh_keys: user %q has no home, since %q is not there; set create_home: true", f.Name, home)
	}
	if err := f.whose(ctx, info); err != nil {
		return err
	}
	if f.inDir, err = f.own(f.dir, modules.Directory); err != nil {
		return err
	}
	if f.inDir.Kind == modules.Absent {
		if f.foreign(info) {
			return modules.Refuse("ssh_keys: the home %q belongs to user %d, not to user %q, so ccm-push does not create the folder %q in it", home, info.UID, f.Name, ".ssh")
		}
		return nil
	}
	if f.present, err = f.own(f.name, modules.Regular); err != nil || f.present.Kind == modules.Absent {
		return err
	}
	if f.text, err = readFile(f.plan.h.Files, f.name, maxKeyFile); err != nil {
		return modules.Refuse("ssh_keys: %w", err)
	}
	return nil
}

// whose refuses an existing home while the host has not chosen the user's id yet, so that the home's future owner is
// unknown.
func (f *keyFile) whose(ctx context.Context, home modules.FileInfo) error {
	if f.plan.after.UID != accounts.Unknown {
		return nil
	}
	if f.plan.isNew {
		return modules.Refuse(`ssh_keys: the home %q already exists and belongs to user %d; set the property "uid", or remove the home first`, f.plan.after.Home, home.UID)
	}
	_, err := f.plan.h.Accounts.UserID(ctx, f.Name) // records that the result is uncertain
	return err
}

// own returns the info of a path in the user's home. If it exists, it must be of that kind and belong to the user.
func (f *keyFile) own(name string, kind modules.FileKind) (modules.FileInfo, error) {
	info, err := f.plan.h.Files.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return modules.FileInfo{Kind: modules.Absent}, nil
	case err != nil:
		return info, modules.Refuse("ssh_keys: %w", err)
	case info.Kind != kind:
		return info, modules.Refuse("ssh_keys: %q is a %s instead of a %s; refusing to put keys there", name, info.Kind, kind)
	case f.foreign(info):
		return info, modules.Refuse("ssh_keys: the path %q belongs to user %d instead of user %q, so ccm-push does not write keys to it", name, info.UID, f.Name)
	}
	return info, nil
}

// foreign reports whether something is known to belong to another user.
func (f *keyFile) foreign(info modules.FileInfo) bool {
	return f.plan.after.UID != accounts.Unknown && info.UID != f.plan.after.UID
}

// readFile reads a file of at most limit bytes.
func readFile(files modules.FileReader, name string, limit int64) (string, error) {
	r, err := files.Open(name)
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%q is larger than %d bytes", name, limit)
	}
	return string(text), err
}
