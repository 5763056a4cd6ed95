package control

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/rollout"
)

// A Server receives commands for a rollout.
type Server struct {
	listener *net.UnixListener
	path     string // in the folder of the run
	requests chan<- rollout.Request
	closed   chan struct{}
	clients  sync.WaitGroup
	times    times
}

type times struct {
	command, reply time.Duration // timeouts for reading a command, and for its answer
}

// Listen opens the socket of a run in its folder, which only this user may access. Each command is sent to the rollout,
// which answers it once.
func Listen(folder string, to chan<- rollout.Request) (*Server, error) {
	return listen(folder, to, times{commandTime, replyTime})
}

func listen(folder string, to chan<- rollout.Request, t times) (*Server, error) {
	if err := private(folder); err != nil {
		return nil, err
	}
	path, done, err := reachable(folder)
	if err != nil {
		return nil, err
	}
	defer done()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if errors.Is(err, syscall.EADDRINUSE) && !alive(path) {
		_ = os.Remove(path) // socket of a killed program; a remaining one is reported below
		listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	}
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false) // by its other name it may be gone by then
	s := &Server{listener: listener, path: filepath.Join(folder, socket), requests: to, closed: make(chan struct{}), times: t}
	if err := os.Chmod(s.path, 0o600); err != nil {
		_ = listener.Close()
		return nil, errors.Join(err, os.Remove(s.path))
	}
	s.clients.Go(s.serve)
	return s, nil
}

func alive(path string) bool {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// Close removes the socket. Clients that wait for an answer get an error.
func (s *Server) Close() error {
	close(s.closed)
	err := errors.Join(os.Remove(s.path), s.listener.Close())
	s.clients.Wait()
	return err
}

// serve takes clients, so many at once: more wait.
func (s *Server) serve() {
	places := make(chan struct{}, mostClients)
	for {
		conn, err := s.listener.AcceptUnix()
		if err != nil {
			select {
			case <-s.closed:
				return
			case <-time.After(100 * time.Millisecond): // such as too many open files, which passes
				continue
			}
		}
		select {
		case places <- struct{}{}:
		case <-s.closed:
			_ = conn.Close()
			return
		}
		s.clients.Go(func() {
			defer func() { <-places }()
			s.client(conn)
		})
	}
}

// client hears one command and answers it.
func (s *Server) client(conn *net.UnixConn) {
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(s.times.command))
	heard := make(chan struct{})
	defer close(heard)
	s.clients.Go(func() { // a silent client must not delay the end
		select {
		case <-s.closed:
			_ = conn.SetReadDeadline(time.Now())
		case <-heard:
		}
	})
	var reply rollout.Reply
	if c, err := readCommand(conn); err != nil {
		reply.Error = err.Error()
	} else {
		reply = s.ask(c)
	}
	text, err := json.Marshal(reply)
	if err != nil {
		text = []byte(`{"error":"the answer cannot be written"}`)
	}
	_ = conn.SetWriteDeadline(time.Now().Add(commandTime))
	_, _ = conn.Write(append(text, '\n')) // a client that has gone has no use for it
}

// ask passes a command to the rollout and returns its answer.
func (s *Server) ask(c rollout.Command) rollout.Reply {
	timer := time.NewTimer(s.times.reply)
	defer timer.Stop()
	answer := make(chan rollout.Reply, 1)
	requests := s.requests
	for {
		select {
		case requests <- rollout.Request{Command: c, Answer: func(r rollout.Reply) { answer <- r }}:
			requests = nil
		case r := <-answer:
			return r
		case <-s.closed:
			select {
			case r := <-answer: // which may be why it has
				return r
			default:
				return rollout.Reply{Error: "the run has ended"}
			}
		case <-timer.C:
			return rollout.Reply{Error: fmt.Sprintf("no rollout of this run has listened for %s: it may be at another play", s.times.reply)}
		}
	}
}

// readCommand reads a line.
func readCommand(r io.Reader) (c rollout.Command, err error) {
	line, err := bufio.NewReaderSize(io.LimitReader(r, longestCommand+1), longestCommand+1).ReadSlice('\n')
	switch {
	case len(line) > longestCommand:
		return c, fmt.Errorf("a command has no more than %d bytes", longestCommand)
	case err != nil && !errors.Is(err, io.EOF):
		return c, fmt.Errorf("reading a command: %w", err)
	case len(bytes.TrimSpace(line)) == 0:
		return c, errors.New("no command")
	case err != nil:
		return c, errors.New("a command ends with a newline")
	}
	if err := json.Unmarshal(line, &c); err != nil {
		return rollout.Command{}, fmt.Errorf("this is not a command: %w", err)
	}
	return c, nil
}
