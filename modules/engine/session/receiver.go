package session

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// receiver reads what the controller sends. It waits neither for the engine nor
// for the controller to read, so that nothing delays kill.
type receiver struct {
	conn     *wire.Conn
	spool    *spool
	kill     context.CancelCauseFunc
	catalogs chan *wire.Catalog
	pings    chan struct{} // pings to answer; several need one answer

	questions *questions

	proofs chan *wire.Proof

	acknowledge func(wire.Ack) // receives the acknowledgements of the controller

	stopOnce sync.Once
	stopping chan struct{} // closed when no further resource may start

	endOnce sync.Once
	ended   chan struct{} // closed once err is set
	err     error
}

func newReceiver(conn *wire.Conn, sp *spool, kill context.CancelCauseFunc) *receiver {
	r := &receiver{
		conn: conn, spool: sp, kill: kill,
		catalogs: make(chan *wire.Catalog, 1),
		pings:    make(chan struct{}, 1),
		proofs:   make(chan *wire.Proof, 1),
		stopping: make(chan struct{}),
		ended:    make(chan struct{}),
	}
	r.questions = &questions{conn: conn, stopping: r.stopping, ended: r.ended, asked: map[question]chan *wire.Message{}}
	return r
}

// stop prevents further resources from starting.
func (r *receiver) stop() { r.stopOnce.Do(func() { close(r.stopping) }) }

// stopped reports whether stop was called.
func (r *receiver) stopped() bool {
	select {
	case <-r.stopping:
		return true
	default:
		return false
	}
}

// end marks the end of the input. A clean end is not an error.
func (r *receiver) end(err error) {
	r.endOnce.Do(func() {
		if err != io.EOF {
			r.err = err
		}
		r.stop()
		close(r.ended)
		r.spool.abandon(engine.ErrCut)
	})
}

// gone reports whether no more will come.
func (r *receiver) gone() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

func (r *receiver) receive() {
	wire.Rehearse() // meanwhile the controller compiles
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

func (r *receiver) handle(m *wire.Message) error {
	switch {
	case m.Ping != nil:
		select {
		case r.pings <- struct{}{}:
		default:
		}
		return nil
	case m.Blob != nil:
		return r.spool.receive(m.Blob)
	case m.Catalog != nil:
		select {
		case r.catalogs <- m.Catalog:
			return nil
		default:
			return errors.New("a catalog came before the one before it was begun")
		}
	case m.Ack != nil:
		r.acknowledge(*m.Ack)
		return nil
	case m.Parsed != nil:
		r.questions.answered(question{parsing, m.Parsed.ID}, m)
		return nil
	case m.Imported != nil:
		r.questions.answered(question{importing, m.Imported.Index}, m)
		return nil
	case m.Elsewhere != nil:
		r.questions.answered(question{delegating, m.Elsewhere.Index}, m)
		return nil
	case m.Armed != nil:
		r.questions.answered(question{arming, m.Armed.Index}, m)
		return nil
	case m.Proof != nil:
		select {
		case r.proofs <- m.Proof:
			return nil
		default:
			return errors.New("a proof came before the one before it was answered")
		}
	case m.Granted != nil:
		r.questions.answered(question{waiting, m.Granted.Index}, m)
		return nil
	case m.Stop != nil:
		r.stop()
		return nil
	case m.Kill != nil:
		r.stop()
		r.kill(engine.ErrKilled)
		return nil
	}
	return errors.New("a message that only the host sends")
}

// answerPings answers while ctx lasts. A controller that does not read holds up
// this alone.
func (r *receiver) answerPings(ctx context.Context) {
	for {
		select {
		case <-r.pings:
			if err := r.conn.Send(&wire.Message{Pong: &wire.Empty{}}); err != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
