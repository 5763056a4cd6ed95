package main

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/term"
)

// output is standard output or standard error. What nobody reads any more, since a pipe
// has been closed or a terminal is gone, is dropped: a run does not end because of that.
// Other errors, such as a full disk, are told.
type output struct {
	file     *os.File
	terminal bool
}

func newOutput(file *os.File) *output { return &output{file, term.IsTerminal(int(file.Fd()))} }

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	if errors.Is(err, syscall.EPIPE) || o.terminal && errors.Is(err, syscall.EIO) {
		return len(p), nil
	}
	return n, err
}

// fileOf is the file behind a writer, for programs that write to it themselves.
func fileOf(w io.Writer) io.Writer {
	if o, ok := w.(*output); ok {
		return o.file
	}
	return w
}
