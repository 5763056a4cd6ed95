package output

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/term"

	"github.com/ccm-push/ccm-push/playbooks/activity"
)

// Stream is standard output or standard error. If a pipe is closed or a terminal is gone, it drops the text: a run does
// not end because of that. It returns other errors, such as a full disk.
type Stream struct {
	file     *os.File
	Terminal bool
	// live prints written text above its display on the terminal; nil disables it.
	live atomic.Pointer[activity.Live]
}

// New returns a stream that writes to a file.
func New(file *os.File) *Stream {
	return &Stream{file: file, Terminal: term.IsTerminal(int(file.Fd()))}
}

// Write implements io.Writer.
func (o *Stream) Write(p []byte) (int, error) {
	if l := o.live.Load(); l != nil {
		return l.Write(p)
	}
	return o.write(p)
}

func (o *Stream) write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	if errors.Is(err, syscall.EPIPE) || o.Terminal && errors.Is(err, syscall.EIO) {
		return len(p), nil
	}
	return n, err
}

// FileOf returns the file of a writer, for programs that write to it themselves.
func FileOf(w io.Writer) io.Writer {
	if o, ok := w.(*Stream); ok {
		return o.file
	}
	return w
}

// TerminalWidth returns the width of the terminal w, in columns; 0 if w is not a terminal, or its width is unknown.
func TerminalWidth(w io.Writer) int {
	f, ok := FileOf(w).(*os.File)
	if !ok {
		return 0
	}
	width, _, _ := term.GetSize(int(f.Fd()))
	return width
}
