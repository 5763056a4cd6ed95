package system

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/rooted"
)

// Write implements [modules.FileWriter].
func (f *files) Write(ctx context.Context, path string, r io.Reader, a modules.Attributes) error {
	return f.WriteIf(ctx, path, r, a, nil)
}

// WriteIf implements [modules.FileWriter].
func (f *files) WriteIf(ctx context.Context, path string, r io.Reader, a modules.Attributes, approve func(temp string) error) error {
	dir, name, err := f.openParent(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	defer f.changed()
	a, err = forFile(dir, name, a)
	if err != nil {
		return at("write", path, err)
	}
	f.sweptDirs.sweep(dir)
	file, temp, err := rooted.CreateTemp(dir, name)
	if err != nil {
		return at("write", path, err)
	}
	defer rooted.CloseWritten(file) // open, it is locked until it has its name
	// A file gets its setuid and setgid bits only after its approval.
	special := a.Mode &^ 0o777
	a.Mode = a.Mode.Perm()
	err = fill(ctx, file, r, a)
	if err == nil && approve != nil {
		if err := approved(dir, file, temp, approve); err != nil {
			if left := dir.Remove(temp); !errors.Is(left, fs.ErrNotExist) {
				err = errors.Join(err, rooted.Cause(left))
			}
			return err
		}
	}
	if err == nil && special != 0 {
		err = errors.Join(file.Chmod(a.Mode|special), file.Sync())
	}
	if err == nil {
		err = dir.Rename(temp, name)
	}
	if err != nil {
		return at("write", path, errors.Join(rooted.Cause(err), rooted.Cause(dir.Remove(temp))))
	}
	return at("sync the directory of", path, rooted.SyncDir(dir))
}

// Copy implements [modules.FileWriter].
func (f *files) Copy(ctx context.Context, path, to string) error {
	from, err := openRegular(path)
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return at("copy", path, err)
	}
	xattrs, err := rooted.Xattrs(int(from.Fd()))
	if err != nil {
		return at("copy", path, err)
	}
	old := describe(info)
	return f.Write(ctx, to, from, modules.Attributes{Mode: old.Mode.Perm(), UID: old.UID, GID: old.GID, Xattrs: rooted.Written(xattrs)})
}

// approved calls approve for a temporary file, and checks afterwards that the file is unchanged.
func approved(dir *os.Root, file *os.File, temp string, approve func(string) error) error {
	before, err := file.Stat()
	if err == nil {
		err = approve(filepath.Join(dir.Name(), temp))
	}
	if err != nil {
		return err
	}
	after, err := dir.Lstat(temp)
	if err != nil || !os.SameFile(before, after) || !after.ModTime().Equal(before.ModTime()) || after.Mode() != before.Mode() {
		return errChecked
	}
	return nil
}

var errChecked = errors.New(`the file changed while the command of "validate" was running`)

// openParent opens the directory that holds path. All later operations happen in this directory, even if its path is
// replaced by a link meanwhile.
func (f *files) openParent(path string) (dir *os.Root, name string, err error) {
	if path == "/" && f.within == "" {
		return nil, "", &fs.PathError{Op: "change", Path: path, Err: errRootDir}
	}
	place, err := f.place(path)
	if err != nil {
		return nil, "", err
	}
	defer place.Close()
	dir, err = place.Root()
	return dir, place.Name, err
}

// place finds path, and follows no link that another user may have planted.
func (f *files) place(path string) (*rooted.Place, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	if f.within != "" {
		return confinedPlace(f.within, path)
	}
	return rooted.Parent(path)
}

var errRootDir = errors.New("the root directory is never replaced or removed")

// forFile returns the attributes of a file that will replace name. They are the attributes in a; unset ones come from
// the current regular file.
func forFile(dir *os.Root, name string, a modules.Attributes) (modules.Attributes, error) {
	info, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		info = nil
	case err != nil:
		return a, err
	case info.IsDir():
		return a, syscall.EISDIR
	case !info.Mode().IsRegular():
		info = nil
	}
	if a.KeepMode {
		a.Mode = 0o600
	}
	if info == nil {
		return a, nil
	}
	old := describe(info)
	if a.KeepMode {
		a.Mode = old.Mode.Perm()
	}
	if a.UID < 0 {
		a.UID = old.UID
	}
	if a.GID < 0 {
		a.GID = old.GID
	}
	// The former owner's access list decides who may read the file, but does not apply to another user's file.
	if a.Xattrs == nil && (old.UID == a.UID || old.UID == os.Geteuid()) {
		in, err := dir.Open(".")
		if err != nil {
			return a, err
		}
		defer in.Close()
		xattrs, err := xattrsIn(int(in.Fd()), name, old)
		a.Xattrs = rooted.Written(xattrs)
		return a, err
	}
	return a, nil
}

// fill writes the bytes of a temporary file, sets its attributes, and syncs it.
func fill(ctx context.Context, temp *os.File, r io.Reader, a modules.Attributes) error {
	written, err := io.Copy(temp, rooted.UntilDone{Ctx: ctx, In: r})
	if err == nil {
		err = dress(temp, a.Mode, a)
	}
	if err == nil {
		err = temp.Sync()
	}
	if err == nil {
		err = ctx.Err()
	}
	err = rooted.Cause(err)
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w after %s", err, modules.FormatSize(written))
	}
	return err
}

// dress sets owner and mode of an object that this process has just created.
func dress(file *os.File, mode fs.FileMode, a modules.Attributes) error {
	// chown before chmod: chown(2) clears the setuid and setgid bits, and only the new owner may gain the new mode.
	if a.UID >= 0 || a.GID >= 0 {
		if err := file.Chown(max(a.UID, -1), max(a.GID, -1)); err != nil {
			return err
		}
	}
	if a.Xattrs != nil {
		if err := rooted.SetXattrs(int(file.Fd()), a.Xattrs, mode); err != nil {
			return err
		}
	}
	return file.Chmod(mode)
}

// MakeDir implements [modules.FileWriter]. The missing directories are made
// under a temporary name and appear together, finished.
func (f *files) MakeDir(ctx context.Context, path string, a modules.Attributes) error {
	if err := errors.Join(ctx.Err(), checkPath(path)); err != nil {
		return err
	}
	dir, name, below, err := f.missing(path)
	if err != nil {
		return at("mkdir", path, err)
	}
	defer dir.Close()
	defer f.changed()
	if _, err := dir.Lstat(name); err == nil {
		return at("mkdir", path, syscall.EEXIST)
	}
	f.sweptDirs.sweep(dir)
	temp, made, err := makeTempDirs(dir, name, below, a)
	if made != nil {
		defer made.Close() // which keeps it locked until it has its name
	}
	if err == nil {
		err = dir.Rename(temp, name)
	}
	if err != nil {
		return at("mkdir", path, errors.Join(rooted.Cause(err), rooted.Cause(rooted.RemoveTree(dir, temp))))
	}
	return at("sync the directory of", path, rooted.SyncDir(dir))
}

// missing opens the directory in which the topmost missing element of a path must be created: name is that element, and
// below the rest.
func (f *files) missing(path string) (dir *os.Root, name string, below []string, err error) {
	for top := path; ; top = filepath.Dir(top) {
		dir, name, err = f.openParent(top)
		if !errors.Is(err, fs.ErrNotExist) {
			return dir, name, below, err
		}
		below = append([]string{filepath.Base(top)}, below...)
	}
}

// makeTempDirs is makeDirs under a temporary name, which it returns. If another program sweeps the directory away
// before it is locked, makeTempDirs creates another one.
func makeTempDirs(dir *os.Root, name string, below []string, a modules.Attributes) (temp string, made *os.File, err error) {
	const tries = 100 // each is lost only to another sweep of the same moment
	for range tries {
		temp = rooted.TempName(name)
		made, err = makeDirs(dir, temp, below, a)
		if _, missing := dir.Lstat(temp); err == nil || !errors.Is(err, errExchanged) && missing == nil {
			break
		}
		if made != nil {
			made.Close()
			made = nil
		}
		_ = rooted.RemoveTree(dir, temp)
	}
	return temp, made, err
}

// makeDirs creates a directory and others below it, and sets the attributes of all. It returns the directory, open and
// locked, also with an error after its creation.
func makeDirs(dir *os.Root, name string, below []string, a modules.Attributes) (*os.File, error) {
	if err := dir.Mkdir(name, 0o700); err != nil {
		return nil, err
	}
	made, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	defer made.Close()
	d, err := made.Open(".")
	if err != nil {
		return nil, err
	}
	if !rooted.Lock(d) {
		return d, errExchanged
	}
	if err := justMade(d); err != nil {
		return d, err
	}
	// From the bottom up: the mode of a parent may prevent access.
	if len(below) > 0 {
		inner, err := makeDirs(made, below[0], below[1:], a)
		if inner != nil {
			inner.Close()
		}
		if err != nil {
			return d, err
		}
	}
	return d, dressDir(d, a)
}

// justMade checks that a directory is equivalent to the created one, which another user may have replaced: it is empty,
// and no other user can look into it.
func justMade(d *os.File) error {
	info, err := d.Stat()
	if err != nil {
		return err
	}
	names, err := d.Readdirnames(1)
	if len(names) > 0 || info.Mode().Perm() != 0o700 || describe(info).UID != os.Geteuid() {
		return errExchanged
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return err
}

var errExchanged = errors.New("another process has just replaced the file; run again")

func dressDir(d *os.File, a modules.Attributes) error {
	info, err := d.Stat()
	if err != nil {
		return err
	}
	mode := a.Mode
	if a.KeepMode {
		mode = 0o755
	}
	if !a.Exact {
		mode |= info.Mode() & modules.SpecialBits
	}
	return dress(d, mode, a)
}

// SetAttributes implements [modules.FileWriter]. A mode without setuid, setgid and sticky bits
// takes them from a regular file; a directory keeps them (as with chmod of the GNU tools),
// unless the mode is exact, since there they mean inheritance and shared use rather than
// privilege.
func (f *files) SetAttributes(ctx context.Context, path string, a modules.Attributes) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	place, err := f.place(path)
	if err != nil {
		return err
	}
	defer place.Close()
	node, err := openInode(place.FD(), place.Name)
	if err != nil {
		return at("set attributes of", path, err)
	}
	defer node.close()
	dir, err := place.Dir()
	is := rooted.Describe(&node.stat)
	if err == nil && a.Of != "" && a.Of != is.Kind {
		err = at("set attributes of", path, errExchanged)
	}
	if err == nil {
		err = modules.Relabel(path, is, dir, os.Geteuid())
	}
	if err != nil {
		return err
	}
	defer f.changed()
	return at("set attributes of", path, setAttributes(node, a))
}

func setAttributes(node *inode, a modules.Attributes) error {
	have, directory := node.mode()
	want := have
	if !a.KeepMode {
		want = modules.ModeBits(a.Mode)
		if directory && !a.Exact {
			want |= have &^ 0o777
		}
	}
	if node.differs(a) || a.Xattrs != nil {
		// Between the calls no class of users may have a permission that it has neither before nor after, and no
		// program may run with wrong ids.
		both := have & want
		if !directory {
			both &= 0o777
		}
		if both != have {
			if err := node.chmod(both); err != nil {
				return err
			}
		}
		err := node.chown(max(a.UID, -1), max(a.GID, -1))
		if err == nil && a.Xattrs != nil {
			err = node.setXattrs(a.Xattrs, fs.FileMode(both))
		}
		if err != nil {
			return errors.Join(err, node.chmod(have))
		}
	}
	// Also if the mode is unchanged: chown clears bits that must stay.
	return node.chmod(want)
}

// differs reports whether a has another owner or another group.
func (n *inode) differs(a modules.Attributes) bool {
	return a.UID >= 0 && a.UID != int(n.stat.Uid) || a.GID >= 0 && a.GID != int(n.stat.Gid)
}

// Remove implements [modules.FileWriter]. A tree is removed piece by piece: after an error, a part of it remains.
func (f *files) Remove(ctx context.Context, path string, tree bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	dir, name, err := f.openParent(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	defer f.changed()
	if tree {
		return at("remove", path, rooted.RemoveTree(dir, name))
	}
	return at("remove", path, dir.Remove(name))
}

// at names the whole path in an error; the os package knows it by a part only.
func at(op, path string, err error) error {
	mounted, _ := errors.AsType[*modules.MountedError](err)
	switch {
	case err == nil || errors.Is(err, modules.ErrPlanted):
		return err
	case mounted != nil:
		return mounted
	}
	return &fs.PathError{Op: op, Path: path, Err: rooted.Cause(err)}
}
