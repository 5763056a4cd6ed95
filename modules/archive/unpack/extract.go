package unpack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ccm-push/ccm-push/modules/rooted"
)

// Inspect reads the whole archive and refuses entries that [Archive.Extract] must not unpack. It writes nothing. It
// counts entries, and the bytes of files.
func (a *Archive) Inspect(ctx context.Context) (entries int, bytes int64, err error) {
	list := listing{kinds: map[string]kind{}}
	err = a.walk(ctx, func(e *entry, body io.Reader) error {
		if err := list.add(e); err != nil {
			return err
		}
		n, err := io.Copy(io.Discard, body)
		if err != nil {
			return fmt.Errorf("%q: %w", e.name, err)
		}
		if n != e.size {
			return fmt.Errorf("%q has %d bytes, but its entry in the archive has %d", e.name, n, e.size)
		}
		entries++
		bytes += n
		return nil
	})
	a.top, a.names = list.top(), slices.Sorted(maps.Keys(list.kinds))
	return entries, bytes, readable(err)
}

// readable replaces the error of a truncated file by a readable one.
func readable(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("it is cut off or damaged: %w", err)
	}
	return err
}

// Extract puts the contents into a directory. Files and links replace existing ones, each as a whole; existing
// directories are not changed. The file or link named last is put in place after all others: if it exists, the archive
// has been unpacked. "" names none. Before that, Extract calls sync for a directory of each file system, so all other
// files are on disk: after a power failure, last exists only if all other files are whole. Extract returns how many
// entries it has put in place, also after an error. The archive must have been inspected.
func (a *Archive) Extract(ctx context.Context, into *os.Root, last string, sync func(*os.Root) error) (entries int, err error) {
	x := &extraction{into: into, last: last, made: map[string]bool{".": true}, disks: map[uint64]string{}, swept: map[string]bool{}}
	defer func() { x.close(); unlock(x.locked) }()
	err = a.walk(ctx, x.put)
	if err == nil {
		err = x.sync(sync)
	}
	if err == nil && x.held != "" {
		err = x.show()
	}
	if err != nil && x.held != "" {
		err = errors.Join(err, x.drop(x.held))
	}
	return x.entries, readable(err)
}

type extraction struct {
	into    *os.Root
	last    string
	held    string            // the temporary name of last, once it has come
	locked  *os.File          // open file with the name last, if last is a file
	swept   map[string]bool   // directories searched for leftovers of killed runs
	made    map[string]bool   // existing directories
	disks   map[uint64]string // a directory of each file system that was written to
	dir     *os.Root          // the directory of the latest entry, held open; may be nil
	dirName string
	entries int
}

// in opens an existing directory without following a link that another user may have planted, and returns the last
// element of the name. The directory is valid until the next call.
func (x *extraction) in(name string) (dir *os.Root, base string, err error) {
	if above := path.Dir(name); x.dir == nil || x.dirName != above {
		x.close()
		if x.dir, err = rooted.Below(x.into, above); err != nil {
			x.dir = nil
			return nil, "", err
		}
		x.dirName = above
		info, err := x.dir.Stat(".")
		if err != nil {
			return nil, "", err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			x.disks[uint64(st.Dev)] = above
		}
		if !x.swept[above] {
			x.swept[above] = true
			rooted.Sweep(x.dir)
		}
	}
	return x.dir, path.Base(name), nil
}

func (x *extraction) close() {
	if x.dir != nil {
		x.dir.Close()
		x.dir = nil
	}
}

func (x *extraction) sync(sync func(*os.Root) error) error {
	for _, name := range x.disks {
		dir, _, err := x.in(path.Join(name, "any"))
		if err == nil {
			err = sync(dir)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// show puts the last one in place.
func (x *extraction) show() error {
	if err := x.rename(x.held, x.last); err != nil {
		return err
	}
	dir, _, err := x.in(x.last)
	if err != nil {
		return err
	}
	return rooted.SyncDir(dir)
}

// drop removes the temporary file of a name, if it exists.
func (x *extraction) drop(name string) error {
	dir, base, err := x.in(name)
	if err != nil {
		return err
	}
	return ifThere(dir.Remove(base))
}

func (x *extraction) put(e *entry, body io.Reader) error {
	err := x.place(e, body)
	if err != nil {
		return fmt.Errorf("putting %q in place: %w", e.name, rooted.Cause(err))
	}
	x.entries++
	return nil
}

func (x *extraction) place(e *entry, body io.Reader) error {
	if e.kind == directory {
		return x.directory(e.name, e.mode)
	}
	if err := x.directory(path.Dir(e.name), defaultDirMode); err != nil {
		return err
	}
	temporary := path.Join(path.Dir(e.name), rooted.TempName(""))
	locked, err := x.make(e, temporary, body)
	if err == nil && e.name == x.last {
		unlock(x.locked)
		x.locked, locked = locked, nil
		if x.held != "" {
			err = x.drop(x.held)
		}
		x.held = temporary
		return err
	}
	defer func() { unlock(locked) }()
	if err == nil {
		err = x.rename(temporary, e.name)
	}
	if err != nil {
		err = errors.Join(err, x.drop(temporary))
	}
	return err
}

// rename moves a temporary file to its name. If both names belong to one file, rename(2) would keep both.
func (x *extraction) rename(temporary, name string) error {
	dir, base, err := x.in(name)
	if err != nil {
		return err
	}
	if err := dir.Rename(path.Base(temporary), base); err != nil {
		return err
	}
	return ifThere(dir.Remove(path.Base(temporary)))
}

// unlock closes a file that has its name, or none any more.
func unlock(file *os.File) {
	if file != nil {
		rooted.CloseWritten(file)
	}
}

// make creates the file, link or directory of an entry. It returns a file open, so that it stays locked.
func (x *extraction) make(e *entry, temporary string, body io.Reader) (*os.File, error) {
	if e.kind == hardlink {
		return nil, x.link(x.present(e.target), temporary)
	}
	dir, base, err := x.in(temporary)
	if err != nil {
		return nil, err
	}
	if e.kind == symlink {
		return nil, dir.Symlink(e.target, base)
	}
	f, err := dir.OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	rooted.Lock(f)
	n, err := io.Copy(f, body)
	if err == nil && n != e.size {
		err = fmt.Errorf("%d of %d bytes were there: %w", n, e.size, io.ErrUnexpectedEOF)
	}
	if err == nil {
		err = f.Chmod(e.mode)
	}
	if err == nil && e.modified.After(time.Unix(0, 0)) {
		at := unix.NsecToTimeval(e.modified.UnixNano())
		err = unix.Futimes(int(f.Fd()), []unix.Timeval{at, at})
	}
	if err == nil && runtime.GOOS != "linux" { // on other systems, sync does not wait
		err = f.Sync()
	}
	return f, err
}

// link adds a second name to a file.
func (x *extraction) link(target, name string) error {
	from, err := rooted.Below(x.into, path.Dir(target))
	if err != nil {
		return err
	}
	defer from.Close()
	dir, base, err := x.in(name)
	if err != nil {
		return err
	}
	return rooted.Link(from, path.Base(target), dir, base)
}

// present is the current name of an entry.
func (x *extraction) present(name string) string {
	if name == x.last && x.held != "" {
		return x.held
	}
	return name
}

// directory makes a directory and its parents, unless they exist.
func (x *extraction) directory(name string, mode fs.FileMode) error {
	if x.made[name] {
		return nil
	}
	if err := x.directory(path.Dir(name), defaultDirMode); err != nil {
		return err
	}
	// The mode is set on creation: later the name may belong to something else, and chmod would follow a link. main
	// sets the umask, which removes only bits that are not kept.
	dir, base, err := x.in(name)
	if err == nil {
		err = dir.Mkdir(base, mode)
	}
	if errors.Is(err, fs.ErrExist) {
		_, _, err = x.in(path.Join(name, "any"))
	}
	x.made[name] = err == nil
	return err
}

func ifThere(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
