package system

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/rooted"
)

// mounts implements [modules.Mounts]. Programs such as mount(8) and the helpers of file systems take
// a path as text, and follow links on it. So they mount at a stage that only root can reach, and the
// kernel then binds that to a directory by its descriptor.
type mounts struct{ mu sync.Mutex }

func newMounts() modules.Mounts { return new(mounts) }

// stagePrefix is the beginning of the path of each stage; the id of the process follows. Only root may
// write to /run, and it is empty after a boot.
const stagePrefix = "/run/ccm-push-mount-"

// unmountTime limits unmounting: a server may be far away.
const unmountTime = 2 * time.Minute

// Mount implements [modules.Mounts].
func (m *mounts) Mount(_ context.Context, path string, mount func(stage string) error) error {
	return m.staged(path, func(stage string, at *os.File) error {
		before, err := os.Stat(stage)
		if err != nil {
			return err
		}
		if err := mount(stage); err != nil {
			return err
		}
		if after, err := os.Stat(stage); err != nil || os.SameFile(before, after) {
			return errors.Join(errNotMounted, err)
		}
		return bind(stage, rooted.ProcPath(int(at.Fd())), true)
	})
}

// Bind implements [modules.Mounts].
func (m *mounts) Bind(_ context.Context, source, path string, tree bool, adjust func(stage string) error) error {
	from, err := rooted.Path(source)
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	return m.staged(path, func(stage string, at *os.File) error {
		if !info.IsDir() { // which is bound to a file
			stage += "/file"
			if err := os.WriteFile(stage, nil, 0o600); err != nil {
				return err
			}
			defer os.Remove(stage)
			defer unix.Unmount(stage, unix.MNT_DETACH)
		}
		if err := bind(rooted.ProcPath(int(from.Fd())), stage, tree); err != nil {
			return err
		}
		if err := adjust(stage); err != nil {
			return err
		}
		return bind(stage, rooted.ProcPath(int(at.Fd())), tree)
	})
}

// Remount implements [modules.Mounts]. A bind shares the file system and has options of its own
// (mount_namespaces(7)), so these are copied.
func (m *mounts) Remount(_ context.Context, path string, remount func(stage string) error) error {
	return m.staged(path, func(stage string, at *os.File) error {
		proc := rooted.ProcPath(int(at.Fd()))
		if err := bind(proc, stage, false); err != nil {
			return err
		}
		if err := remount(stage); err != nil {
			return err
		}
		var st unix.Statfs_t
		if err := unix.Statfs(stage, &st); err != nil {
			return err
		}
		flags := uintptr(st.Flags) & (unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_NOATIME | unix.MS_NODIRATIME)
		if st.Flags&unix.ST_RELATIME != 0 {
			flags |= unix.MS_RELATIME
		}
		if err := unix.Mount("", proc, "", unix.MS_REMOUNT|unix.MS_BIND|flags, ""); err != nil {
			return fmt.Errorf("remount: %w", err)
		}
		return nil
	})
}

// Unmount implements [modules.Mounts]. The kernel is called directly: umount(8) would follow a link
// that is placed on the path after the check.
func (m *mounts) Unmount(ctx context.Context, path string) error {
	place, err := rooted.PlainParent(path)
	if err != nil {
		return err
	}
	defer place.Close()
	ended := make(chan error, 1)
	at := filepath.Join(rooted.ProcPath(place.FD()), place.Name)
	// The call cannot be interrupted while a server does not answer: it then continues alone.
	go func() { ended <- unix.Unmount(at, unix.UMOUNT_NOFOLLOW) }()
	ctx, cancel := context.WithTimeoutCause(ctx, unmountTime, modules.ErrTimeout)
	defer cancel()
	select {
	case err := <-ended:
		if errors.Is(err, syscall.EBUSY) {
			return modules.Refuse("%s cannot be unmounted, because programs use it; fuser -vm %s lists them", path, path)
		}
		if err != nil {
			return &fs.PathError{Op: "unmount", Path: path, Err: err}
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("unmounting %s: %w", path, context.Cause(ctx))
	}
}

var errNotMounted = errors.New("mount ended with exit code 0, but has mounted nothing")

// staged opens path, and calls do with it and a stage, which it removes afterwards.
func (m *mounts) staged(path string, do func(stage string, at *os.File) error) error {
	at, err := rooted.PlainPath(path)
	if err != nil {
		return err
	}
	defer at.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	sweepStages()
	stage := fmt.Sprint(stagePrefix, os.Getpid())
	if err := os.Mkdir(stage, 0o700); err != nil {
		return err
	}
	err = do(stage, at)
	if left := dropStage(stage); err == nil && left != nil {
		err = fmt.Errorf("mounted, but %s could not be removed: %w", stage, left)
	}
	return err
}

// dropStage unmounts and removes a stage. Lazily, since another mount namespace may still use it.
func dropStage(stage string) error {
	for unix.Unmount(stage, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) == nil { // one above the other
	}
	return os.Remove(stage)
}

// sweepStages removes what a killed program has left.
func sweepStages() {
	all, _ := filepath.Glob(stagePrefix + "*")
	for _, stage := range all {
		if _, err := os.Stat("/proc/" + strings.TrimPrefix(stage, stagePrefix)); errors.Is(err, fs.ErrNotExist) {
			_ = dropStage(stage)
		}
	}
}

func bind(from, to string, tree bool) error {
	flags := uintptr(unix.MS_BIND)
	if tree {
		flags |= unix.MS_REC
	}
	if err := unix.Mount(from, to, "", flags, ""); err != nil {
		return fmt.Errorf("bind: %w", err)
	}
	return nil
}
