package modules

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// A Session serves the catalogs of one controller, one after the other.
type Session struct {
	Registry Registry
	Host     Host   // Contents, Report and Forecast are filled in
	SpoolDir string // for contents on their way; the module's own directory
	// Lock takes the host's lock for an applying catalog and gives what frees it.
	Lock func(ctx context.Context, l Lock) (unlock func(), err error)
	Now  func() time.Time
}

// errKilled is why commands of a killed run end.
var errKilled = errors.New("the run was interrupted")

// errSilent says that the controller has not been heard for [MaxSilence].
var errSilent = errors.New("nothing was heard from the controller")

// Serve works until the controller closes the input or falls silent; either
// lets the resource that is running end first. A message `kill` ends it at once.
// in must be positioned after hello.
func (s *Session) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, kill := context.WithCancelCause(ctx)
	heard := Listen(in, s.Now)
	conn := NewConn(bufio.NewReader(heard), out, MaxFromController)
	sp := newSpool(s.SpoolDir, func(digests []string) error {
		return conn.Send(&Message{Want: &Want{SHA256: digests}})
	})
	defer sp.Close()
	r := &receiver{conn: conn, spool: sp, kill: kill, catalogs: make(chan *Catalog, 1), ended: make(chan struct{})}
	// Not waited for: a read from standard input cannot be interrupted. It ends
	// with the input or, at the latest, with the process.
	go r.receive()
	var watch sync.WaitGroup
	watch.Go(func() {
		if heard.Silence(ctx) {
			r.end(errSilent)
		}
	})
	defer watch.Wait()
	defer kill(nil)

	unlock := func() {}
	defer func() { unlock() }()
	locked := false
	for {
		select {
		case cat := <-r.catalogs:
			if cat.Lock != nil && !locked { // and then kept for the plays that follow
				free, err := s.Lock(ctx, *cat.Lock)
				if err != nil {
					return conn.Send(&Message{Refused: &Refused{Phase: "lock", Error: err.Error()}})
				}
				unlock, locked = free, true
			}
			if err := s.catalog(ctx, conn, sp, r, cat); err != nil {
				return err
			}
		case <-r.ended:
			return r.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// catalog works on one catalog and says how it ended.
func (s *Session) catalog(ctx context.Context, conn *Conn, sp *spool, r *receiver, cat *Catalog) error {
	host := s.Host
	host.Contents = sp
	engine := &Engine{
		Decode:   func(e *Entry) (Resource, error) { return s.Registry.Decode(e.Type, e.Properties) },
		Host:     host,
		Now:      s.Now,
		Prefetch: func(_ context.Context, lacking []Content) error { return sp.want(lacking) },
		Stop:     r.stopped,
	}
	out := &outbox{conn: conn}
	stopped, err := engine.Run(ctx, cat, func(result *Result) error {
		return out.put(&Message{Result: result})
	})
	if err == nil {
		err = out.put(&Message{Done: &Done{Stopped: stopped}})
	}
	return errors.Join(err, out.flush())
}

// receiver reads what the controller sends. It never waits for the engine, so
// that a long resource delays neither pong nor kill.
type receiver struct {
	conn     *Conn
	spool    *spool
	kill     context.CancelCauseFunc
	catalogs chan *Catalog
	stop     atomic.Bool

	over  atomic.Bool
	err   error
	ended chan struct{} // closed once err is set
}

// stopped reports whether no further resource shall be started.
func (r *receiver) stopped() bool { return r.stop.Load() || r.over.Load() }

// end says that no more will come. A clean end of the input is no error.
func (r *receiver) end(err error) {
	if !r.over.CompareAndSwap(false, true) {
		return
	}
	if err != io.EOF {
		r.err = err
	}
	close(r.ended)
	r.spool.abandon(io.ErrUnexpectedEOF)
}

func (r *receiver) receive() {
	for {
		m, err := r.conn.Receive()
		if err == nil {
			err = r.handle(m)
		}
		if err != nil {
			r.end(err)
			return
		}
	}
}

func (r *receiver) handle(m *Message) error {
	switch {
	case m.Ping != nil:
		return r.conn.Send(&Message{Pong: &Empty{}})
	case m.Blob != nil:
		return r.spool.receive(m.Blob)
	case m.Catalog != nil:
		select {
		case r.catalogs <- m.Catalog:
			return nil
		default:
			return errors.New("a catalog came before the one before it was begun")
		}
	case m.Stop != nil:
		r.stop.Store(true)
		return nil
	case m.Kill != nil:
		r.stop.Store(true)
		r.kill(errKilled)
		return nil
	}
	return errors.New("a message that only the host sends")
}
