package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// questions are the requests to the controller without an answer yet. The caller of a request waits for its answer
// without a limit.
type questions struct {
	conn     *wire.Conn
	stopping <-chan struct{} // closed when no further resource may start
	ended    <-chan struct{} // closed when no more answers will come

	mu     sync.Mutex
	parses int // number of requests so far
	asked  map[question]chan *wire.Message
}

// A question identifies the request that an answer belongs to.
type question struct {
	about byte
	id    int // id in the message
}

// Kinds of requests to the controller.
const (
	parsing byte = iota
	importing
	waiting
	delegating
	arming
)

// ask sends a request and waits for the answer. stop is closed when the answer is no longer needed: then the error is
// engine.ErrBeforeTurn.
func (q *questions) ask(ctx context.Context, about question, m *wire.Message, stop <-chan struct{}) (*wire.Message, error) {
	answer := make(chan *wire.Message, 1)
	q.mu.Lock()
	q.asked[about] = answer
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.asked, about)
	}()
	var unsent <-chan time.Time
	err := q.conn.Send(m)
	if err != nil { // usually the session ends, which is not a failure of the caller, and will be reported
		timer := time.NewTimer(wire.IdleTimeout)
		defer timer.Stop()
		unsent = timer.C
	}
	select {
	case <-unsent:
		return nil, err
	case m := <-answer:
		return m, nil
	case <-stop:
		return nil, engine.ErrBeforeTurn
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// answered hands an answer to the question that waits for it. One that none waits for any
// more was on its way when the run was stopped.
func (q *questions) answered(about question, m *wire.Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case q.asked[about] <- m:
	default:
	}
}

// imports requests the values that an entry receives from other hosts.
func (q *questions) imports(ctx context.Context, index int) (*wire.Imported, error) {
	m, err := q.ask(ctx, question{importing, index}, &wire.Message{Import: &wire.Import{Index: index}}, q.stopping)
	if err != nil {
		return nil, err
	}
	return m.Imported, nil
}

// elsewhere has an entry brought about on another host. A run that is being stopped still waits for
// that: the controller knows whether it has begun.
func (q *questions) elsewhere(ctx context.Context, m *wire.Elsewhere) (*wire.Elsewhere, error) {
	answer, err := q.ask(ctx, question{delegating, m.Index}, &wire.Message{Elsewhere: m}, q.ended)
	if err != nil {
		return nil, err
	}
	return answer.Elsewhere, nil
}

// semaphores waits for the semaphores of an entry, and returns a function that releases them.
func (q *questions) semaphores(ctx context.Context, index int, would string) (release func(), err error) {
	release = func() {
		// A controller that cannot be reached notices the end of the session.
		_ = q.conn.Send(&wire.Message{Semaphore: &wire.Semaphore{Index: index, Release: true}})
	}
	m, err := q.ask(ctx, question{waiting, index}, &wire.Message{Semaphore: &wire.Semaphore{Index: index, Would: would}}, q.stopping)
	switch {
	case err != nil:
		release() // it may be granted at this moment
		return nil, err
	case m.Granted.Error != "":
		return nil, errors.New(m.Granted.Error)
	}
	return release, nil
}

// yaml implements the function of [modules.Host].
func (q *questions) yaml(ctx context.Context, text string) (json.RawMessage, error) {
	if len(text) > modules.MaxParse {
		return nil, fmt.Errorf("%d bytes of YAML are more than %d", len(text), modules.MaxParse)
	}
	q.mu.Lock()
	q.parses++
	id := q.parses
	q.mu.Unlock()
	m, err := q.ask(ctx, question{parsing, id}, &wire.Message{Parse: &wire.Parse{ID: id, Text: text}}, q.ended)
	switch {
	case err != nil:
		return nil, err
	case m.Parsed.Error != "":
		return nil, errors.New(m.Parsed.Error)
	}
	return m.Parsed.JSON, nil
}
