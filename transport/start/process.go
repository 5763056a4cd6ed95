package start

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/ccm-push/ccm-push/transport"
)

// A Process is the host program, running. Reading, writing and waiting may be
// done from different goroutines.
type Process struct {
	// Uploaded says that the host had no copy of its build and was sent one; Taken that it
	// had none and took what [Request.Near] had brought.
	Uploaded, Taken bool

	command  *transport.Command
	terminal bool
	stdout   *bufio.Reader
	stderr   *transport.Stderr
	answers  answerReader
	hello    []byte
	tidy     func(string) string // leaves out of what was printed what shall not be shown
	wait     func() error
}

// readBuffer is the size of the one buffer that standard output is read with,
// in bytes.
const readBuffer = 4 << 10

// run runs a command line on the host. watch gives what looks at everything that
// comes where prompts come: standard error, or the terminal; nil looks at nothing.
func run(c *transport.Client, line string, terminal bool, watch func(*Process) io.Writer) (*Process, error) {
	p := &Process{terminal: terminal, stderr: transport.NewStderr(), tidy: func(text string) string { return text }}
	var stderr io.Writer = p.stderr
	watcher := &lateWriter{ready: make(chan struct{})}
	if watch != nil && !terminal {
		stderr = io.MultiWriter(p.stderr, watcher)
	}
	var err error
	if p.command, err = c.Run(line, terminal, stderr); err != nil {
		return nil, err
	}
	stdout := p.command.Stdout
	if watch != nil {
		watcher.Writer = watch(p)
	}
	close(watcher.ready)
	if watch != nil && terminal {
		stdout = io.TeeReader(stdout, watcher)
	}
	p.stdout = bufio.NewReaderSize(stdout, readBuffer)
	p.wait = sync.OnceValue(func() error { return withStderr(p.command.Wait(), p.Stderr()) })
	return p, nil
}

// A lateWriter is written to before what it writes to is known.
type lateWriter struct {
	ready chan struct{} // closed when Writer is set
	io.Writer
}

func (l *lateWriter) Write(b []byte) (int, error) {
	<-l.ready
	return l.Writer.Write(b)
}

// Hello is the greeting line, without its end.
func (p *Process) Hello() []byte { return p.hello }

// Stdout is the program's output after the greeting line. It has to be read for
// the program not to block.
func (p *Process) Stdout() *bufio.Reader { return p.stdout }

// Stderr is what the program and what started it wrote there, or of more
// than 64 KiB the two ends, without the password of the escalation, should anything have
// repeated that.
func (p *Process) Stderr() string { return p.tidy(p.stderr.String()) }

// said is what the method of escalation has printed, and whether it can be why that
// has run nothing; or else it is what the script has printed.
func (p *Process) said() (text string, refused bool) {
	text = p.stderr.String()
	if p.terminal {
		text = string(p.answers.noise)
	}
	n := p.answers.nonce
	if _, after, found := strings.Cut(text, begun(n)); found {
		return after, false
	}
	if _, after, found := strings.Cut(text, announced+n); found {
		text = after
	}
	return withoutPrompts(text, n, "\n"), true
}

// Write sends to the program's standard input. It blocks while the host takes
// nothing; closing the Client ends that.
func (p *Process) Write(b []byte) (int, error) { return p.command.Stdin.Write(b) }

// CloseWrite ends the program's standard input. On a terminal, where nothing but its
// end does that, it is a [Process.Close].
func (p *Process) CloseWrite() error {
	if p.terminal {
		return p.Close()
	}
	return p.command.Stdin.Close()
}

// giveUp ends the input, and so what asks for more of it.
func (p *Process) giveUp() { _ = p.CloseWrite() } // what it does then says more

// Wait waits until the process has ended or the connection is closed, and
// returns nil only for exit status 0. Otherwise the error is a [transport.ExitError], or
// wraps [transport.ErrLost] if the host never said how the process ended. It may be
// called more than once.
func (p *Process) Wait() error { return p.wait() }

// Close gives the process up: its input and output end, and the host is told.
// It does not wait.
func (p *Process) Close() error {
	if err := p.command.Close(); !errors.Is(err, io.EOF) {
		return err
	}
	return nil // it was closed already
}

// withStderr adds to the error of a process what that has written.
func withStderr(err error, stderr string) error {
	if exit, ok := errors.AsType[*transport.ExitError](err); ok {
		exit.Stderr = stderr
		return exit
	}
	if line := transport.LastLine(stderr); err != nil && line != "" {
		return fmt.Errorf("%w; it last wrote %q", err, line)
	}
	return err
}
