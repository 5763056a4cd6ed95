package session

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// A Program is the host program, running: a [start.Process]. Closing the
// connection it is on ends every wait.
type Program interface {
	Stdout() *bufio.Reader
	Write([]byte) (int, error)
	CloseWrite() error
	Wait() error
	Close() error
}

// A Session is the connection with one host program. From the greeting on it pings, so that either side notices when
// the other has died, even while idle.
type Session struct {
	program Program
	conn    *wire.Conn

	incoming chan []*wire.Message // results and what else belongs to a catalog
	early    []*wire.Message      // messages that arrived after the end of a catalog
	outgoing chan func() error    // queue of the sender
	interval time.Duration        // of pings
	pings    atomic.Int64         // not answered yet
	asked    map[string]int       // contents that the host has requested
	cancel   context.CancelFunc
	work     sync.WaitGroup

	watches map[int]*watched // watches by the number of the play; owned by the caller of Apply and Hear

	onWatchdog atomic.Pointer[func(*wire.Watchdog)] // nil until a catalog has changes that need a confirmation
	watchdogs  int                                  // how often the host has reported that one ended

	waits  waits        // waits for other hosts
	parses parses       // the YAML that it reads for the host
	sent   atomic.Int64 // when a part of a content was last sent, in nanoseconds since 1970

	once sync.Once
	over chan struct{} // closed once err is set
	err  error
}

const (
	// killGrace is the time in which a killed host program has to report its running resource.
	killGrace = 2 * time.Second
	// endingTime is how long a host may still report the reason after its output has ended. It is also the deadline for
	// the end of the output, after a host accepts no more input.
	endingTime = 2 * time.Second
	// finishTime is the time in which a host program has to end by itself.
	finishTime = 30 * time.Second
	// aheadOfInflating is the buffer before the inflater of messages, in bytes. It is small, since the input and the
	// output of the inflater are buffered too, and every connected host needs one.
	aheadOfInflating = 512
	// maxQueue bounds the requests of a host that wait to be answered.
	maxQueue = 16
)

// New takes over a started program that has sent its greeting. The session ends with Close or with the connection, not
// with ctx: Apply handles that, so that a killed host can still report its end. It also ends when the host is silent
// for the idle timeout; 0 means [wire.IdleTimeout].
func New(ctx context.Context, p Program, now func() time.Time, idle time.Duration) *Session {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	idle = cmp.Or(idle, wire.IdleTimeout)
	heard := wire.NewIdleReader(connection{p.Stdout()}, now, idle)
	s := &Session{
		program:  p,
		conn:     wire.NewConn(bufio.NewReaderSize(heard, aheadOfInflating), p, wire.MaxFromHost),
		incoming: make(chan []*wire.Message),
		outgoing: make(chan func() error, maxQueue),
		asked:    map[string]int{},
		interval: wire.PingInterval(idle),
		cancel:   cancel,
		over:     make(chan struct{}),
	}
	s.work.Go(func() { s.receive(ctx) })
	s.work.Go(func() { s.send(ctx) })
	s.work.Go(func() {
		if heard.TimedOut(ctx) {
			s.end(errSilent(idle))
		}
	})
	return s
}

// A connection reads what a host sends, until an end of file or any error: an error of the network is not a message that
// breaks the protocol. x/crypto answers reads with window messages, so that reading can fail like writing.
type connection struct{ io.Reader }

func (c connection) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

// end ends the session for a reason: the first one counts.
func (s *Session) end(err error) {
	s.once.Do(func() {
		s.err = err
		close(s.over)
		s.cancel()
		s.program.Close()
	})
}

// Over is closed once the session has ended.
func (s *Session) Over() <-chan struct{} { return s.over }

// Close ends the session and waits for its goroutines. The connection must be closed already.
func (s *Session) Close() {
	s.end(io.EOF)
	s.work.Wait()
}

// Finish ends a host program that runs no catalog by closing its input, and waits until it has ended and freed its
// resources on the host.
func (s *Session) Finish(ctx context.Context) error {
	s.once.Do(func() {
		s.err = io.EOF
		close(s.over)
		s.cancel()
		s.program.CloseWrite() // if it fails, Wait reports it
	})
	ended := make(chan struct{})
	s.work.Go(func() { // ends with the connection
		s.program.Wait() // however it ends, it has
		close(ended)
	})
	select {
	case <-ended:
		s.program.Close()
		s.work.Wait()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(finishTime):
		return fmt.Errorf("the host program did not end within %v, so ccm-push cannot start a new host program", finishTime)
	}
}

// ending is the error of a host program that has ended while it was needed.
func (s *Session) ending() error {
	ended := make(chan error, 1)
	s.work.Go(func() { ended <- s.program.Wait() }) // ends with the connection
	select {
	case err := <-ended:
		if err == nil {
			err = errors.New("the host program ended by itself")
		}
		return err
	case <-time.After(endingTime):
		return errors.New("the host closed its output in the middle of the run")
	}
}

// maxWatchdogs bounds how often a host may report that a watchdog has ended, per session.
const maxWatchdogs = 1000

// watchdogEnded hands on that a watchdog has ended. Unlike what belongs to a catalog, it can come at any time.
func (s *Session) watchdogEnded(w *wire.Watchdog) error {
	told := s.onWatchdog.Load()
	if s.watchdogs++; told == nil || s.watchdogs > maxWatchdogs {
		return breach("the host reports the end of a watchdog that it does not have, or too often")
	}
	(*told)(w)
	return nil
}

// receive passes on what belongs to a catalog.
func (s *Session) receive(ctx context.Context) {
	for {
		all, err := s.conn.ReceiveAll()
		all, out := s.answered(all)
		if len(all) > 0 {
			select {
			case s.incoming <- all:
			case <-ctx.Done():
				return
			}
		}
		switch {
		case out != nil:
			s.end(out)
			return
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			s.end(io.EOF)
			return
		case err != nil:
			s.end(Breach{err})
			return
		}
	}
}

// answered removes answers to pings, and reports about watchdogs, from a host's messages. It stops after a message that
// the host may not send.
func (s *Session) answered(all []*wire.Message) (rest []*wire.Message, err error) {
	for _, m := range all {
		switch {
		case m.Watchdog != nil:
			if err := s.watchdogEnded(m.Watchdog); err != nil {
				return rest, err
			}
		case m.Pong == nil:
			rest = append(rest, m)
		case s.pings.Add(-1) < 0:
			return rest, breach("the host answers a ping that was not sent")
		}
	}
	return rest, nil
}

// send runs the queued jobs in order, and pings in between.
func (s *Session) send(ctx context.Context) {
	ping := time.NewTicker(s.interval)
	defer ping.Stop()
	for {
		var err error
		select {
		case do := <-s.outgoing:
			err = do()
		case <-ping.C:
			err = s.ping()
		case <-ctx.Done():
			return
		}
		if err != nil {
			s.endUnread(ctx, err)
			return
		}
	}
}

func (s *Session) ping() error {
	s.pings.Add(1)
	return s.conn.Ping()
}

// endUnread ends the session because the host reads no more. Its earlier output is read first, since it may have the
// reason.
func (s *Session) endUnread(ctx context.Context, err error) {
	select {
	case <-time.After(endingTime):
		s.end(err)
	case <-ctx.Done():
	}
}

// queue hands the sender something to do. It never waits for the network.
func (s *Session) queue(do func() error) error {
	select {
	case s.outgoing <- do:
		return nil
	case <-s.over:
		return s.err
	default:
		return breach("the host sends requests faster than it reads answers")
	}
}

// sendNow sends a message ahead of the queue, between two chunks of a content.
func (s *Session) sendNow(m *wire.Message) {
	s.work.Go(func() { s.conn.Send(m) }) // if it fails, the receiver knows
}
