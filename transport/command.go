package transport

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/modules/excerpt"
)

// A Command is a command line that runs in a login shell: that of a host, or /bin/sh on
// the controller itself.
type Command struct {
	Stdin  io.WriteCloser
	Stdout io.Reader
	Wait   func() error // until it has ended: nil, an [ExitError] without Stderr, or [ErrLost]
	Close  func() error // gives it up: its input and output end
}

// Run starts a command line. On a terminal, which changes no byte, it has no standard
// error of its own. The error is a [NoTerminalError] if there is no terminal to be had.
func (c *Client) Run(line string, terminal bool, stderr io.Writer) (*Command, error) {
	if c.local != nil {
		return c.local.run(line, terminal, stderr)
	}
	session, err := c.ssh.NewSession()
	c.served()
	if err != nil {
		if _, rejected := errors.AsType[*ssh.OpenChannelError](err); rejected {
			return nil, fmt.Errorf("opening a session: %w: %w", ErrNoSession, err)
		}
		// x/crypto says of a connection that ends just now that an answer to it was unexpected.
		return nil, fmt.Errorf("opening a session: %w", c.lost())
	}
	if terminal {
		if err := session.RequestPty("dumb", 24, 80, rawTerminal); err != nil {
			session.Close()
			return nil, NoTerminalError{c.orLost(err)}
		}
	}
	command, err := c.connect(session)
	if err == nil {
		session.Stderr = stderr
		err = session.Start(line)
	}
	if err != nil {
		session.Close()
		return nil, fmt.Errorf("running a command: %w", c.orLost(err))
	}
	return command, nil
}

// Subsystem starts a subsystem, such as sftp, in a session of its own, which ends when
// its standard input is closed, or with c.
func (c *Client) Subsystem(name string) (*Command, error) {
	session, err := c.ssh.NewSession()
	c.served()
	if err != nil {
		return nil, err
	}
	command, err := c.connect(session)
	if err == nil {
		err = session.RequestSubsystem(name)
	}
	if err != nil {
		session.Close()
		return nil, err
	}
	return command, nil
}

func (c *Client) connect(session *ssh.Session) (*Command, error) {
	stdin, err := session.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := session.StdoutPipe()
	if err != nil {
		return nil, err
	}
	wait := func() error { return c.exitError(session.Wait()) }
	return &Command{stdin, stdout, wait, session.Close}, nil
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

// A NoTerminalError is that a host gives us no terminal.
type NoTerminalError struct{ error }

func (e NoTerminalError) Unwrap() error { return e.error }

// exitError is how a process on the host ended, from what x/crypto says of that.
func (c *Client) exitError(err error) error {
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

// MaxStderr is how much of standard error is kept, in bytes.
const MaxStderr = 64 << 10

// A Stderr keeps the two ends of what a process writes to standard error. Its methods
// may be called from many goroutines.
type Stderr struct {
	mu   sync.Mutex
	kept excerpt.Writer
}

// NewStderr gives an empty one.
func NewStderr() *Stderr { return &Stderr{kept: excerpt.Writer{Most: MaxStderr}} }

// Write implements [io.Writer]. It never fails.
func (s *Stderr) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept.Write(b)
}

// ReadFrom implements [io.ReaderFrom], for io.Copy: a host that is silent on standard
// error, as most are, shall not cost a large buffer.
func (s *Stderr) ReadFrom(r io.Reader) (n int64, err error) {
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

// String is what is kept.
func (s *Stderr) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept.String()
}
