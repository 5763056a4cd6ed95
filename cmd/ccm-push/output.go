package main

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/term"

	"github.com/ccm-push/ccm-push/playbooks/activity"
)

// output is standard output or standard error. What nobody reads any more, since a pipe
// has been closed or a terminal is gone, is dropped: a run does not end because of that.
// Other errors, such as a full disk, are told.
type output struct {
	file     *os.File
	terminal bool
	// live prints what is written, above what it shows on the terminal; nil is none.
	live atomic.Pointer[activity.Live]
}

func newOutput(file *os.File) *output {
	return &output{file: file, terminal: term.IsTerminal(int(file.Fd()))}
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	if l := o.live.Load(); l != nil {
		return l.Write(p)
	}
	return o.write(p)
}

func (o *output) write(p []byte) (int, error) {
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

// terminalWidth is how many columns the terminal has that w is; 0 if it is none, or does not say.
func terminalWidth(w io.Writer) int {
	f, ok := fileOf(w).(*os.File)
	if !ok {
		return 0
	}
	width, _, _ := term.GetSize(int(f.Fd()))
	return width
}
