package transport

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"
)

// NewLocal gives a Client for the controller itself. env is the environment of what
// runs there; nil is that of this process.
func NewLocal(t Target, env []string) *Client {
	c := &Client{target: t, gone: make(chan struct{})}
	c.local = &localShell{env: env, gone: c.gone}
	return c
}

// localShell runs command lines on the controller itself, with /bin/sh.
type localShell struct {
	env  []string
	gone chan struct{} // closed by close

	mu      sync.Mutex
	closed  bool
	running map[*localRun]bool
}

// A localRun is one of its processes, in a session of its own: neither Ctrl-C nor
// anything else that concerns the terminal of the operator reaches it.
type localRun struct {
	cmd   *exec.Cmd
	ends  []io.Closer // ours
	ended chan struct{}
	err   error // read it after ended
}

// localDrain is how long standard error is waited for that a process has left open.
const localDrain = 2 * time.Second

func (s *localShell) run(line string, terminal bool, stderr io.Writer) (*Command, error) {
	r := &localRun{cmd: exec.Command("/bin/sh", "-c", "exec "+line), ended: make(chan struct{})}
	r.cmd.Env, r.cmd.Dir, r.cmd.WaitDelay = s.env, "/", localDrain
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	connect := r.pipes
	if terminal {
		connect = r.terminal
	}
	in, out, theirs, err := connect(stderr)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err = os.ErrClosed
	if !s.closed {
		err = r.cmd.Start()
	}
	for _, c := range theirs {
		c.Close()
	}
	if err != nil {
		r.close()
		return nil, err
	}
	if s.running == nil {
		s.running = map[*localRun]bool{}
	}
	s.running[r] = true
	go s.await(r) // ends with the process, which ends with its input
	return &Command{in, out, r.wait, r.close}, nil
}

// pipes connects a process as sshd does without a terminal. Its output can be read
// also after it has ended.
func (r *localRun) pipes(stderr io.Writer) (in io.WriteCloser, out io.Reader, theirs []io.Closer, err error) {
	stdin, toStdin, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	fromStdout, stdout, err := os.Pipe()
	if err != nil {
		stdin.Close()
		toStdin.Close()
		return nil, nil, nil, err
	}
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = stdin, stdout, stderr
	r.ends = []io.Closer{toStdin, fromStdout}
	return toStdin, localReader{fromStdout}, []io.Closer{stdin, stdout}, nil
}

// terminal connects a process to a terminal as [rawTerminal] asks for one.
func (r *localRun) terminal(io.Writer) (in io.WriteCloser, out io.Reader, theirs []io.Closer, err error) {
	ours, its, err := pty.Open()
	if err != nil {
		return nil, nil, nil, NoTerminalError{err}
	}
	if _, err := term.MakeRaw(int(its.Fd())); err != nil {
		ours.Close()
		its.Close()
		return nil, nil, nil, NoTerminalError{err}
	}
	// Package pty has made it block: then closing it would not end a read that waits, and
	// as long as that waits, neither does the process lose its terminal.
	if ours.SetReadDeadline(time.Time{}) == nil {
		if err := syscall.SetNonblock(int(ours.Fd()), true); err != nil {
			ours.Close()
			its.Close()
			return nil, nil, nil, NoTerminalError{err}
		}
	}
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = its, its, its
	r.cmd.SysProcAttr.Setctty = true
	r.ends = []io.Closer{ours}
	return ours, localReader{ours}, []io.Closer{its}, nil
}

// A localReader ends when no process has the terminal open any more, which Linux calls
// an error, and when it has been closed, as a channel of SSH does.
type localReader struct{ io.Reader }

func (l localReader) Read(b []byte) (int, error) {
	n, err := l.Reader.Read(b)
	if errors.Is(err, syscall.EIO) || errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	return n, err
}

func (s *localShell) await(r *localRun) {
	r.err = localExit(r.cmd.Wait(), r.cmd.ProcessState)
	close(r.ended)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, r)
}

func localExit(err error, state *os.ProcessState) error {
	status, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return nil
	case ok && status.Signaled():
		return &ExitError{Signal: signalName(status.Signal())}
	case ok:
		return &ExitError{Code: status.ExitStatus()}
	}
	return err
}

// signalName is a signal as SSH calls it (RFC 4254, 6.10).
func signalName(s syscall.Signal) string {
	names := map[syscall.Signal]string{
		syscall.SIGABRT: "ABRT", syscall.SIGHUP: "HUP", syscall.SIGINT: "INT", syscall.SIGKILL: "KILL", syscall.SIGPIPE: "PIPE",
		syscall.SIGQUIT: "QUIT", syscall.SIGSEGV: "SEGV", syscall.SIGTERM: "TERM",
	}
	if name, ok := names[s]; ok {
		return name
	}
	return s.String()
}

func (r *localRun) wait() error {
	<-r.ended
	return r.err
}

func (r *localRun) close() error {
	for _, c := range r.ends {
		c.Close() // whether or not it was closed before
	}
	return nil
}

// close ends the input of what runs, as the end of a connection does: a host
// program then finishes the resource it is at. That is waited for as long as it may
// take to notice.
func (s *localShell) close() {
	for _, r := range s.end() {
		r.close()
		select {
		case <-r.ended:
		case <-time.After(localDrain):
		}
	}
}

// kill ends what has not come so far that it would end by itself. What runs as
// another user is out of reach, but has lost its input.
func (s *localShell) kill() {
	for _, r := range s.end() {
		r.close()
		_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL)
	}
}

// end lets nothing start any more, and gives what runs.
func (s *localShell) end() []*localRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.gone)
	}
	var all []*localRun
	for r := range s.running {
		all = append(all, r)
	}
	return all
}
