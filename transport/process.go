package transport

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/modules/excerpt"
)

// A Process is the host program, running. Reading, writing and waiting may be
// done from different goroutines.
type Process struct {
	// Uploaded says that the host had no copy of its build and was sent one.
	Uploaded bool

	run      *running
	terminal bool
	stdout   *bufio.Reader
	stderr   *saying
	heard    hearing
	hello    []byte
	tidy     func(string) string // leaves out of what was printed what is nobody's business
	wait     func() error
}

// A loginShell is where a Client runs command lines: the login shell of a host over SSH,
// or one on the controller itself.
type loginShell interface {
	// run starts a command line. On a terminal there is no standard error of its own.
	run(line string, terminal bool, stderr io.Writer) (*running, error)
}

// A running is a command line under way in a shell.
type running struct {
	stdin  io.WriteCloser
	stdout io.Reader
	wait   func() error // until it has ended: nil, an [ExitError] without Stderr, or [ErrLost]
	close  func() error // gives it up: its input and output end
}

// readBuffer is the size of the one buffer that standard output is read with,
// in bytes.
const readBuffer = 4 << 10

// exec runs a command line on the host. watch gives what looks at everything that
// comes where prompts come: standard error, or the terminal; nil looks at nothing.
func (c *Client) exec(line string, terminal bool, watch func(*Process) io.Writer) (*Process, error) {
	p := &Process{terminal: terminal, stderr: newSaying(), tidy: func(text string) string { return text }}
	var stderr io.Writer = p.stderr
	watcher := &lateWriter{ready: make(chan struct{})}
	if watch != nil && !terminal {
		stderr = io.MultiWriter(p.stderr, watcher)
	}
	var err error
	if p.run, err = c.shell().run(line, terminal, stderr); err != nil {
		return nil, err
	}
	stdout := p.run.stdout
	if watch != nil {
		watcher.Writer = watch(p)
	}
	close(watcher.ready)
	if watch != nil && terminal {
		stdout = io.TeeReader(stdout, watcher)
	}
	p.stdout = bufio.NewReaderSize(stdout, readBuffer)
	p.wait = sync.OnceValue(func() error { return withStderr(p.run.wait(), p.Stderr()) })
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

func (c *Client) shell() loginShell {
	if c.local != nil {
		return c.local
	}
	return sshShell{c}
}

// A sshShell is the login shell of a host.
type sshShell struct{ client *Client }

func (s sshShell) run(line string, terminal bool, stderr io.Writer) (*running, error) {
	c := s.client
	session, err := c.ssh.NewSession()
	if err != nil {
		return nil, fmt.Errorf("opening a session: %w", c.orLost(err))
	}
	if terminal {
		if err := session.RequestPty("dumb", 24, 80, rawTerminal); err != nil {
			session.Close()
			return nil, noTerminalError{c.orLost(err)}
		}
	}
	r, err := s.pipes(session, stderr)
	if err == nil {
		err = session.Start(line)
	}
	if err != nil {
		session.Close()
		return nil, fmt.Errorf("running a command: %w", c.orLost(err))
	}
	return r, nil
}

func (s sshShell) pipes(session *ssh.Session, stderr io.Writer) (*running, error) {
	stdin, err := session.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := session.StdoutPipe()
	if err != nil {
		return nil, err
	}
	session.Stderr = stderr
	wait := func() error { return exitError(session.Wait(), s.client) }
	return &running{stdin, stdout, wait, session.Close}, nil
}

// rawTerminal is a terminal that changes no byte in either direction and gives none
// a meaning (RFC 4254, 8).
var rawTerminal = ssh.TerminalModes{
	ssh.ECHO: 0, ssh.ECHOE: 0, ssh.ECHOK: 0, ssh.ECHONL: 0, ssh.ECHOCTL: 0, ssh.ECHOKE: 0,
	ssh.ICANON: 0, ssh.ISIG: 0, ssh.IEXTEN: 0, ssh.TOSTOP: 0, ssh.PENDIN: 0,
	ssh.IGNPAR: 0, ssh.PARMRK: 0, ssh.INPCK: 0, ssh.ISTRIP: 0, ssh.INLCR: 0, ssh.IGNCR: 0, ssh.ICRNL: 0, ssh.IUCLC: 0,
	ssh.IXON: 0, ssh.IXANY: 0, ssh.IXOFF: 0, ssh.IMAXBEL: 0,
	ssh.OPOST: 0, ssh.OLCUC: 0, ssh.ONLCR: 0, ssh.OCRNL: 0, ssh.ONOCR: 0, ssh.ONLRET: 0,
	ssh.CS8: 1, ssh.PARENB: 0,
}

// A noTerminalError is a host that gives us no terminal.
type noTerminalError struct{ error }

func (e noTerminalError) Unwrap() error { return e.error }

// orLost is err, or why the connection ended if that is what err says.
func (c *Client) orLost(err error) error {
	if isHangUp(err) {
		return c.lost()
	}
	return err
}

// Hello is the greeting line, without its end.
func (p *Process) Hello() []byte { return p.hello }

// Stdout is the module's output after the greeting line. It has to be read for
// the module not to block.
func (p *Process) Stdout() *bufio.Reader { return p.stdout }

// Stderr is what the module and what started it wrote there, or of more
// than 64 KiB the two ends, without the password of the escalation, should anything have
// repeated that.
func (p *Process) Stderr() string { return p.tidy(p.stderr.String()) }

// Write sends to the module's standard input. It blocks while the host takes
// nothing; closing the Client ends that.
func (p *Process) Write(b []byte) (int, error) { return p.run.stdin.Write(b) }

// CloseWrite ends the module's standard input. On a terminal, where nothing but its
// end does that, it is a [Process.Close].
func (p *Process) CloseWrite() error {
	if p.terminal {
		return p.Close()
	}
	return p.run.stdin.Close()
}

// giveUp ends the input, and so what asks for more of it.
func (p *Process) giveUp() { _ = p.CloseWrite() } // what it does then says more

// Wait waits until the process has ended or the connection is closed, and
// returns nil only for exit status 0. Otherwise the error is an [ExitError], or
// wraps [ErrLost] if the host never said how the process ended. It may be
// called more than once.
func (p *Process) Wait() error { return p.wait() }

// Close gives the process up: its input and output end, and the host is told.
// It does not wait.
func (p *Process) Close() error {
	if err := p.run.close(); !errors.Is(err, io.EOF) {
		return err
	}
	return nil // it was closed already
}

func exitError(err error, c *Client) error {
	if err == nil {
		return nil
	}
	if exit, ok := errors.AsType[*ssh.ExitError](err); ok {
		e := &ExitError{Code: exit.ExitStatus(), Signal: exit.Signal()}
		if e.Signal != "" {
			e.Code = 0
		}
		return e
	}
	return c.lost()
}

// withStderr adds to the error of a process what that has written.
func withStderr(err error, stderr string) error {
	if exit, ok := errors.AsType[*ExitError](err); ok {
		exit.Stderr = stderr
		return exit
	}
	if line := lastLine(stderr); err != nil && line != "" {
		return fmt.Errorf("%w; it last wrote %q", err, line)
	}
	return err
}

// maxStderr is how much of standard error is kept, in bytes.
const maxStderr = 64 << 10

// A saying keeps an excerpt of what is written to it.
type saying struct {
	mu   sync.Mutex
	kept excerpt.Writer
}

func newSaying() *saying { return &saying{kept: excerpt.Writer{Most: maxStderr}} }

func (s *saying) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept.Write(b)
}

// ReadFrom implements io.ReaderFrom, for io.Copy: a host that is silent on standard
// error, as most are, shall not cost a large buffer.
func (s *saying) ReadFrom(r io.Reader) (n int64, err error) {
	buf := make([]byte, 1<<10)
	for {
		k, err := r.Read(buf)
		s.Write(buf[:k])
		n += int64(k)
		switch {
		case errors.Is(err, io.EOF):
			return n, nil
		case err != nil:
			return n, err
		}
	}
}

func (s *saying) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept.String()
}
