package user

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/accounts"
	"github.com/ccm-push/ccm-push/modules/rooted"
	"github.com/ccm-push/ccm-push/modules/semanage"
)

// makeHome plans to create a new home. useradd would follow a link that another user has planted on the way to it. If
// the home of a new user cannot be created, the account is removed again: otherwise the next run would find an existing
// user, and create no home.
func (d *draft) makeHome() {
	if !d.newHome {
		return
	}
	d.steps = append(d.steps, func(ctx context.Context, h modules.Host) error {
		w := &homeWriter{ctx: ctx, h: h, skel: d.defaults.Skel, home: d.after.Home, mode: d.defaults.HomeMode}
		err := w.make(d.Name, d.after.Primary)
		if err == nil || !d.isNew {
			return err
		}
		argv := []string{"userdel", "--", d.Name}
		if d.tools == accounts.Busybox {
			argv = []string{"deluser", d.Name}
		}
		if left := accounts.Run(context.WithoutCancel(ctx), h, modules.Command{Argv: argv}); left != nil {
			return fmt.Errorf("home: %w; the user was created without a home, and could not be removed again: %w", err, left)
		}
		return fmt.Errorf("home: %w; the user was not created either", err)
	})
}

// justMade refuses a directory that another user has put in the place of the new one.
func justMade(name string, opened *os.File) error {
	info, err := opened.Stat()
	if err != nil {
		return err
	}
	names, err := opened.Readdirnames(1)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if len(names) > 0 || info.Mode().Perm()&0o077 != 0 || !ok || int(st.Uid) != os.Geteuid() {
		return modules.Refuse("%s has just been exchanged by another user; run again", name)
	}
	return nil
}

// A homeWriter makes a new home, and copies the skeleton to it, as useradd(8) does.
type homeWriter struct {
	ctx        context.Context
	h          modules.Host
	skel, home string
	mode       fs.FileMode
	uid, gid   int
	made       []string // relative paths, each after its directory
}

// maxSkel is how many paths are copied at most.
const maxSkel = 10_000

// make makes the home under its final name with root as the owner, fills it, and then changes the
// owner to the user. Until then only root can enter it.
func (w *homeWriter) make(user, group string) (err error) {
	ctx, h := w.ctx, w.h
	if w.uid, err = h.Accounts.UserID(ctx, user); err != nil {
		return err
	}
	if w.gid, err = h.Accounts.GroupID(ctx, group); err != nil {
		return err
	}
	const private = 0o700
	if err := h.Files.MakeDir(ctx, w.home, modules.Attributes{Mode: private, UID: -1, GID: -1}); err != nil {
		return err
	}
	at, err := h.Files.OpenDirectory(w.home)
	if err != nil {
		return err
	}
	defer at.Close()
	self, err := at.Open(".")
	if err != nil {
		return err
	}
	defer self.Close()
	if err := justMade(w.home, self); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.undo(at))
		}
	}()
	if err := w.fill(at); err != nil {
		return err
	}
	w.label(at, self)
	if err := self.Chown(w.uid, w.gid); err != nil {
		return err
	}
	if err := self.Chmod(w.mode); err != nil {
		return err
	}
	return h.Files.Sync(at)
}

func (w *homeWriter) fill(at *os.Root) error {
	info, err := modules.Follow(w.h.Files, w.skel)
	if modules.NotThere(err) {
		return nil
	}
	if err != nil || info.Kind != modules.Directory {
		return err
	}
	return w.copyDir(at, ".")
}

func (w *homeWriter) copyDir(at *os.Root, dir string) error {
	names, err := w.h.Files.List(path.Join(w.skel, dir))
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if len(w.made) >= maxSkel {
			return modules.Refuse("%s has more than %d files", w.skel, maxSkel)
		}
		if err := w.copy(at, path.Join(dir, name)); err != nil {
			return fmt.Errorf("copying %s: %w", path.Join(w.skel, dir, name), err)
		}
	}
	return nil
}

func (w *homeWriter) copy(at *os.Root, name string) error {
	from := path.Join(w.skel, name)
	info, err := w.h.Files.Stat(from)
	if err != nil {
		return err
	}
	switch info.Kind {
	case modules.Symlink:
		target := info.Target
		if rest, within := strings.CutPrefix(target, w.skel); within { // useradd(8) does the same
			target = w.home + rest
		}
		if err := at.Symlink(target, name); err != nil {
			return err
		}
		w.made = append(w.made, name)
		return at.Lchown(name, w.uid, w.gid)
	case modules.Directory:
		if err := at.Mkdir(name, 0o700); err != nil {
			return err
		}
		w.made = append(w.made, name)
		if err := w.copyDir(at, name); err != nil {
			return err
		}
		made, err := at.Open(name)
		if err != nil {
			return err
		}
		defer made.Close()
		return w.dress(made, from, info)
	case modules.Regular:
		return w.copyFile(at, name, info)
	}
	return nil // devices and pipes are not copied
}

func (w *homeWriter) copyFile(at *os.Root, name string, info modules.FileInfo) error {
	in, err := modules.OpenSeen(w.h.Files, path.Join(w.skel, name), info)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := at.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	w.made = append(w.made, name)
	if _, err := io.Copy(out, rooted.UntilDone{Ctx: w.ctx, In: in}); err != nil {
		return err
	}
	return w.dress(out, path.Join(w.skel, name), info)
}

// dress sets owner, access list, attributes and mode of a copied file.
func (w *homeWriter) dress(made *os.File, from string, info modules.FileInfo) error {
	if err := made.Chown(w.uid, w.gid); err != nil {
		return err
	}
	if w.h.Files.Xattrs != nil {
		xattrs, err := w.h.Files.Xattrs(from, info)
		if err != nil {
			return err
		}
		// The label of the copy depends on its path, and is set at the end.
		xattrs = slices.DeleteFunc(rooted.Written(xattrs), func(one string) bool { return strings.HasPrefix(one, selinuxLabel) })
		if len(xattrs) > 0 {
			if err := rooted.SetXattrs(int(made.Fd()), xattrs, info.Mode.Perm()); err != nil {
				return err
			}
		}
	}
	return made.Chmod(info.Mode)
}

const selinuxLabel = "security.selinux"

// label sets the SELinux labels of the home and its files to the labels of the policy,
// if SELinux is enabled. matchpathcon(8) only looks them up; label sets them by descriptor.
func (w *homeWriter) label(at *os.Root, self *os.File) {
	system, err := semanage.Find(w.h.Files)
	if err != nil || !system.Running {
		return
	}
	paths := []string{w.home}
	for _, name := range w.made {
		paths = append(paths, path.Join(w.home, name))
	}
	const atOnce = 500
	for first := 0; first < len(paths); first += atOnce {
		some := paths[first:min(first+atOnce, len(paths))]
		exit, err := w.h.Commands.Run(w.ctx, modules.Command{Argv: append([]string{"matchpathcon", "-n", "--"}, some...), Timeout: time.Minute})
		lines := strings.Split(strings.TrimSpace(exit.Stdout.Text), "\n")
		if err != nil || exit.Code != 0 || len(lines) != len(some) {
			w.h.Report.Message(modules.LevelWarning, "home: its SELinux labels are not set, because matchpathcon did not report the labels; run restorecon -RF "+w.home)
			return
		}
		for i, line := range lines {
			if !strings.Contains(line, ":") { // <<none>>
				continue
			}
			to := self
			if n := first + i; n > 0 {
				opened, err := at.Open(w.made[n-1])
				if err != nil { // a link, whose label has no effect
					continue
				}
				to = opened
			}
			value := selinuxLabel + "=" + hex.EncodeToString(append([]byte(strings.TrimSpace(line)), 0))
			have, err := rooted.Xattrs(int(to.Fd()))
			if err == nil {
				have = slices.DeleteFunc(have, func(one string) bool { return strings.HasPrefix(one, selinuxLabel) })
				err = rooted.SetXattrs(int(to.Fd()), append(have, value), modeOf(to))
			}
			if err != nil {
				w.h.Report.Message(modules.LevelWarning, fmt.Sprintf("home: the SELinux label of %s is not set: %v", some[i], err))
			}
			if to != self {
				to.Close()
			}
		}
	}
}

func modeOf(file *os.File) fs.FileMode {
	info, err := file.Stat()
	if err != nil {
		return 0o600
	}
	return info.Mode().Perm()
}

// undo removes the paths that were created.
func (w *homeWriter) undo(at *os.Root) error {
	for _, name := range slices.Backward(w.made) {
		if err := at.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s could not be removed: %w", w.home, err)
		}
	}
	return w.h.Files.Remove(context.WithoutCancel(w.ctx), w.home, false)
}
