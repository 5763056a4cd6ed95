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
	// Uploaded reports that the host had no copy of its build and received one. Taken reports that the host had none
	// and used the file of [Request.Near].
	Uploaded, Taken bool

	command  *transport.Command
	terminal bool
	stdout   *bufio.Reader
	stderr   *transport.Stderr
	answers  answerReader
	hello    []byte
	tidy     func(string) string // removes text that must not be shown
	wait     func() error
}

// readBuffer is the size of the one buffer that standard output is read with,
// in bytes.
const readBuffer = 4 << 10

// run runs a command line on the host. watch returns a writer that gets all output where prompts appear: standard
// error, or the terminal. It may be nil.
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

// A lateWriter can be written to before its target is known. Writes wait.
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

// Stderr returns the standard error of the program and of the script that started it, without the password. Of more
// than 64 KiB it returns both ends.
func (p *Process) Stderr() string { return p.tidy(p.stderr.String()) }

// said returns the output of the method of escalation, and whether it may explain why the program did not run. Without
// a method it returns the output of the script.
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

// giveUp ends the input, so a method that prompts for more ends.
func (p *Process) giveUp() { _ = p.CloseWrite() } // the outcome is reported by reading

// Wait waits until the process has ended or the connection is closed, and
// returns nil only for exit status 0. Otherwise the error is a [transport.ExitError], or
// wraps [transport.ErrLost] if the host never said how the process ended. It may be
// called more than once.
func (p *Process) Wait() error { return p.wait() }

// Close abandons the process: its input and output end, and the host is notified. It does not wait.
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
