package source

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/ccm-push/ccm-push/inventory/yamlpos"
)

// MaxBytes is how much of a file is read. yamlpos refuses a file that is larger
// than its own bound, which is below this one.
const MaxBytes = 17 << 20

// read reads what info describes. A pipe may never get a writer, so the end of ctx ends
// this too.
func read(ctx context.Context, path string, info fs.FileInfo) ([]byte, error) {
	open := os.Open
	if info.Mode()&fs.ModeNamedPipe != 0 {
		open = func(path string) (*os.File, error) { return openPipe(ctx, path) }
	}
	f, err := open(path)
	if err != nil {
		return nil, Error(path, err)
	}
	defer f.Close()
	// A file that takes no deadline does not make its reader wait.
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Now()) })
	defer stop()
	return ReadAll(f, path)
}

// openPipe is os.Open, which waits until a writer opens the pipe.
func openPipe(ctx context.Context, path string) (*os.File, error) {
	type answer struct {
		f   *os.File
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		f, err := os.Open(path)
		answers <- answer{f, err}
	}()
	select {
	case a := <-answers:
		return a.f, a.err
	case <-ctx.Done():
	}
	// Nothing but a writer ends open(2). Opening with O_RDWR makes us a writer, whether or
	// not the goroutine has begun to wait. If we may not write, it is left waiting.
	if writer, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0); err == nil {
		a := <-answers
		writer.Close()
		if a.err == nil {
			a.f.Close()
		}
	}
	return nil, context.Cause(ctx)
}

// ReadAll reads the rest of f, up to [MaxBytes]. path is where f was opened; a folder is
// an error. The errors are those of [Error].
func ReadAll(f *os.File, path string) ([]byte, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, Error(path, err)
	case info.IsDir():
		return nil, &yamlpos.Error{File: path, Msg: "is a folder, not a file"}
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes))
	if err != nil {
		return nil, Error(path, err)
	}
	return data, nil
}

// Error says that reading path ended with err, an error of package os. It leaves out the
// path in err, which the position names already. fs.ErrNotExist is left as it is.
func Error(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return &yamlpos.Error{File: path, Msg: "reading the inventory: " + err.Error()}
}
