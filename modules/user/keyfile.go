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

// A keyFile is the state of a user's authorized_keys and its folder.
type keyFile struct {
	dir, name      string
	inDir, present modules.FileInfo // Kind Absent if it does not exist
	text           string
}

// lookKeys finds the existing file, and refuses a path that the user cannot write to or that leads elsewhere.
func (d *draft) lookKeys(ctx context.Context) (*keyFile, error) {
	home := d.after.Home
	f := &keyFile{dir: path.Join(home, ".ssh"), name: path.Join(home, ".ssh/authorized_keys")}
	f.inDir.Kind, f.present.Kind = modules.Absent, modules.Absent
	if d.newHome {
		return f, nil
	}
	info, err := d.lookHome()
	if err != nil {
		return nil, err
	}
	if info.Kind == modules.Absent {
		return nil, modules.Refuse("ssh_keys: user %q has no home, since %q is not there; set create_home: true", d.Name, home)
	}
	if err := d.whose(ctx, info); err != nil {
		return nil, err
	}
	if f.inDir, err = d.own(f.dir, modules.Directory); err != nil {
		return nil, err
	}
	if f.inDir.Kind == modules.Absent {
		if d.foreign(info) {
			return nil, modules.Refuse("ssh_keys: the home %q belongs to user %d, not to user %q, so ccm-push does not create the folder %q in it", home, info.UID, d.Name, ".ssh")
		}
		return f, nil
	}
	if f.present, err = d.own(f.name, modules.Regular); err != nil || f.present.Kind == modules.Absent {
		return f, err
	}
	f.text, err = readFile(d.h.Files, f.name, maxKeyFile)
	if err != nil {
		return nil, modules.Refuse("ssh_keys: %w", err)
	}
	return f, nil
}

// whose refuses an existing home while the host has not chosen the user's id yet, so that the home's future owner is
// unknown.
func (d *draft) whose(ctx context.Context, home modules.FileInfo) error {
	if d.after.UID != accounts.Unknown {
		return nil
	}
	if d.isNew {
		return modules.Refuse("ssh_keys: the home %q already exists and belongs to user %d; set the property uid, or remove the home first", d.after.Home, home.UID)
	}
	_, err := d.h.Accounts.UserID(ctx, d.Name) // records that the result is uncertain
	return err
}

// own returns the info of a path in the user's home. If it exists, it must be of that kind and belong to the user.
func (d *draft) own(name string, kind modules.FileKind) (modules.FileInfo, error) {
	info, err := d.h.Files.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return modules.FileInfo{Kind: modules.Absent}, nil
	case err != nil:
		return info, modules.Refuse("ssh_keys: %w", err)
	case info.Kind != kind:
		return info, modules.Refuse("ssh_keys: %q is a %s instead of a %s; refusing to put keys there", name, info.Kind, kind)
	case d.foreign(info):
		return info, modules.Refuse("ssh_keys: the path %q belongs to user %d instead of user %q, so ccm-push does not write keys to it", name, info.UID, d.Name)
	}
	return info, nil
}

// foreign reports whether something is known to belong to another user.
func (d *draft) foreign(info modules.FileInfo) bool {
	return d.after.UID != accounts.Unknown && info.UID != d.after.UID
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
