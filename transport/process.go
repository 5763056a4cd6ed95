package transport

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/crypto/ssh"
)

// A Process is the host program, running. Reading, writing and waiting may be
// done from different goroutines.
type Process struct {
	// Uploaded says that the host had no copy of its build and was sent one.
	Uploaded bool

	session *ssh.Session
	stdin   io.WriteCloser
	stdout  *bufio.Reader
	stderr  *tail
	heard   hearing
	hello   []byte
	wait    func() error
}

// readBuffer is the size of the one buffer that standard output is read with,
// in bytes.
const readBuffer = 32 << 10

// exec runs a command line on the host.
func (c *Client) exec(line string) (*Process, error) {
	session, err := c.ssh.NewSession()
	if err != nil {
		return nil, fmt.Errorf("opening a session: %w", c.orLost(err))
	}
	p, err := newProcess(c, session)
	if err == nil {
		err = session.Start(line)
	}
	if err != nil {
		session.Close()
		return nil, fmt.Errorf("running a command: %w", c.orLost(err))
	}
	return p, nil
}

// orLost is err, or why the connection ended if that is what err says.
func (c *Client) orLost(err error) error {
	if isHangUp(err) {
		return c.lost()
	}
	return err
}

func newProcess(c *Client, session *ssh.Session) (*Process, error) {
	stdin, err := session.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := session.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p := &Process{session: session, stdin: stdin, stdout: bufio.NewReaderSize(stdout, readBuffer), stderr: &tail{}}
	session.Stderr = p.stderr
	p.wait = sync.OnceValue(func() error { return exitError(session.Wait(), c, p.stderr) })
	return p, nil
}

// Hello is the greeting line, without its end.
func (p *Process) Hello() []byte { return p.hello }

// Stdout is the module's output after the greeting line. It has to be read for
// the module not to block.
func (p *Process) Stdout() *bufio.Reader { return p.stdout }

// Stderr is the last 64 KiB of what the module and what started it wrote there.
func (p *Process) Stderr() string { return p.stderr.String() }

// Write sends to the module's standard input. It blocks while the host takes
// nothing; closing the Client ends that.
func (p *Process) Write(b []byte) (int, error) { return p.stdin.Write(b) }

// CloseWrite ends the module's standard input.
func (p *Process) CloseWrite() error { return p.stdin.Close() }

// Wait waits until the process has ended or the connection is closed, and
// returns nil only for exit status 0. Otherwise the error is an [ExitError], or
// wraps [ErrLost] if the host never said how the process ended. It may be
// called more than once.
func (p *Process) Wait() error { return p.wait() }

// Close gives the process up: its input and output end, and the host is told.
// It does not wait.
func (p *Process) Close() error {
	if err := p.session.Close(); !errors.Is(err, io.EOF) {
		return err
	}
	return nil // it was closed already
}

func exitError(err error, c *Client, stderr *tail) error {
	if err == nil {
		return nil
	}
	if exit, ok := errors.AsType[*ssh.ExitError](err); ok {
		e := &ExitError{Code: exit.ExitStatus(), Signal: exit.Signal(), Stderr: stderr.String()}
		if e.Signal != "" {
			e.Code = 0
		}
		return e
	}
	lost := c.lost()
	if line := lastLine(stderr.String()); line != "" {
		return fmt.Errorf("%w; it last wrote %q", lost, line)
	}
	return lost
}

// maxStderr is how much of standard error is kept, in bytes.
const maxStderr = 64 << 10

// A tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b[max(0, len(b)-maxStderr):]...)
	if over := len(t.buf) - maxStderr; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
