package yamlpos

import (
	"context"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// MaxRead is the limit of [ReadFile], in bytes. [Parse] refuses a file of this size.
const MaxRead = maxSize + 1

// ReadFile reads a file that an operator names, up to [MaxRead] bytes. It may be a pipe: the end of ctx
// ends the wait for a writer and for the rest. It returns errors of package os, or the cause of ctx.
func ReadFile(ctx context.Context, path string) ([]byte, error) {
	open := os.Open
	if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		open = func(path string) (*os.File, error) { return openPipe(ctx, path) }
	}
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// A file that takes no deadline does not make its reader wait.
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Now()) })
	defer stop()
	data, err := io.ReadAll(io.LimitReader(f, MaxRead))
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return data, err
}

// openPipe works like os.Open, which waits until a writer opens the pipe.
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
	// Only a writer ends open(2). Opening with O_RDWR makes us a writer, whether or not the goroutine has begun to
	// wait. If we may not write, the goroutine keeps waiting.
	if writer, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0); err == nil {
		a := <-answers
		writer.Close()
		if a.err == nil {
			a.f.Close()
		}
	}
	return nil, context.Cause(ctx)
}
