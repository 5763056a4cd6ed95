package unpack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"syscall"
	"time"

	"github.com/ccm-push/ccm-push/modules/rooted"
)

// Inspect reads the whole archive and refuses what [Archive.Extract] must not
// meet. It writes nothing. It counts entries, and the bytes of files.
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
			return fmt.Errorf("%q has %d bytes, not the %d that the archive says", e.name, n, e.size)
		}
		entries++
		bytes += n
		return nil
	})
	a.top = list.top()
	return entries, bytes, readable(err)
}

// readable says in words that the file ends too soon.
func readable(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("it is cut off or damaged: %w", err)
	}
	return err
}

// Extract puts the contents into a directory. Files and links replace those that
// are there, each as a whole; directories that are there are kept as they are. The
// file or link named last is put in place after all others, so that it can tell
// whether the archive has been unpacked; "" names none. It counts the entries that it
// has put in place, also after an error. The archive must have been inspected.
func (a *Archive) Extract(ctx context.Context, into *os.Root, last string) (entries int, err error) {
	x := &extraction{into: into, last: last, made: map[string]bool{".": true}}
	err = a.walk(ctx, x.put)
	if err == nil && x.held != "" {
		err = x.rename(x.held, x.last)
	}
	if err != nil && x.held != "" {
		err = errors.Join(err, ifThere(into.Remove(x.held)))
	}
	return x.entries, readable(err)
}

type extraction struct {
	into    *os.Root
	last    string
	held    string          // the temporary name of last, once it has come
	made    map[string]bool // directories that are there
	entries int
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
	temporary := path.Join(path.Dir(e.name), fmt.Sprintf(".ccm-%016x", rand.Uint64()))
	err := x.make(e, temporary, body)
	if err == nil && e.name == x.last {
		if x.held != "" {
			err = ifThere(x.into.Remove(x.held))
		}
		x.held = temporary
		return err
	}
	if err == nil {
		err = x.rename(temporary, e.name)
	}
	if err != nil {
		err = errors.Join(err, ifThere(x.into.Remove(temporary)))
	}
	return err
}

// rename puts what has been made in place. Of two names of one file it would
// leave both.
func (x *extraction) rename(temporary, name string) error {
	if err := x.into.Rename(temporary, name); err != nil {
		return err
	}
	return ifThere(x.into.Remove(temporary))
}

func (x *extraction) make(e *entry, temporary string, body io.Reader) error {
	switch e.kind {
	case symlink:
		return x.into.Symlink(e.target, temporary)
	case hardlink:
		return x.into.Link(x.present(e.target), temporary)
	}
	f, err := x.into.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, body)
	if err == nil && n != e.size {
		err = fmt.Errorf("%d of %d bytes were there: %w", n, e.size, io.ErrUnexpectedEOF)
	}
	if err == nil {
		err = f.Chmod(e.mode)
	}
	err = errors.Join(err, f.Close())
	if err == nil && e.modified.After(time.Unix(0, 0)) {
		err = x.into.Chtimes(temporary, e.modified, e.modified)
	}
	return err
}

// present is where an entry is now.
func (x *extraction) present(name string) string {
	if name == x.last && x.held != "" {
		return x.held
	}
	return name
}

// directory makes a directory unless it is there, and those above it.
func (x *extraction) directory(name string, mode fs.FileMode) error {
	if x.made[name] {
		return nil
	}
	if err := x.directory(path.Dir(name), defaultDirMode); err != nil {
		return err
	}
	// With its mode from the beginning: there may be something else by that name
	// later, and chmod would follow a link. The umask is that of main, and takes away
	// only what is not kept.
	err := x.into.Mkdir(name, mode)
	if errors.Is(err, fs.ErrExist) {
		var info fs.FileInfo
		if info, err = x.into.Stat(name); err == nil && !info.IsDir() {
			err = syscall.ENOTDIR
		}
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
