package report

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// A Format writes a run.
type Format func(*Run, io.Writer) error

// A File is a report to be written.
type File struct {
	Path   string
	Format Format
}

// Files is a reporter that writes files of a run when it has ended. Each appears whole or not at
// all.
type Files struct {
	Run   Run
	Files []File
	errs  []error
}

// Check reports which files could not be written, as far as that is known before the run.
func (f *Files) Check() error {
	var errs []error
	for _, file := range f.Files {
		if err := file.check(); err != nil {
			errs = append(errs, fmt.Errorf("%s cannot be written: %w", file.Path, cause(err)))
		}
	}
	return errors.Join(errs...)
}

func (f File) check() error {
	path := target(f.Path)
	switch info, err := os.Stat(path); {
	case err == nil && info.IsDir():
		return errors.New("it is a folder")
	case err == nil && !info.Mode().IsRegular():
		return nil // a device or a pipe is found out by writing
	}
	fresh, err := create(path)
	if err != nil {
		return err
	}
	return errors.Join(fresh.Close(), os.Remove(fresh.Name()))
}

// cause returns an error without the name of the temporary file.
func cause(err error) error {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		return of.Err
	}
	return err
}

// target returns the target of a link, so that the link stays.
func target(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// create makes the file that is to take the place of the one at path.
func create(path string) (*os.File, error) {
	name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+rand.Text()[:8]+".new")
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

// Report collects e, and writes the files at the end of the run.
func (f *Files) Report(e events.Event) {
	f.Run.Report(e)
	if _, end := e.(events.Summary); end {
		f.Write()
	}
}

// Write writes the files as far as the run has got.
func (f *Files) Write() {
	for _, file := range f.Files {
		if err := file.write(&f.Run); err != nil {
			f.errs = append(f.errs, fmt.Errorf("writing %s: %w", file.Path, cause(err)))
		}
	}
}

// Err joins what could not be written.
func (f *Files) Err() error { return errors.Join(f.errs...) }

func (f File) write(r *Run) error {
	path := target(f.Path)
	before, statErr := os.Stat(path)
	if statErr == nil && !before.Mode().IsRegular() {
		return f.writeThrough(r, path)
	}
	fresh, err := create(path)
	if err != nil {
		return err
	}
	err = f.buffered(r, fresh)
	if statErr == nil {
		err = errors.Join(err, fresh.Chmod(before.Mode().Perm()))
	}
	err = errors.Join(err, fresh.Close())
	if err == nil {
		err = os.Rename(fresh.Name(), path)
	}
	if err != nil {
		_ = os.Remove(fresh.Name()) // the error is why it is of no use
	}
	return err
}

// writeThrough writes to a file that is not regular, such as /dev/stderr.
func (f File) writeThrough(r *Run, path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.buffered(r, file), file.Close())
}

func (f File) buffered(r *Run, w io.Writer) error {
	b := bufio.NewWriter(w)
	if err := f.Format(r, b); err != nil {
		return err // Flush would return it again
	}
	return b.Flush()
}
