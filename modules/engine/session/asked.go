package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine"
	"github.com/ccm-push/ccm-push/modules/wire"
)

// A question is what an answer of the controller belongs to.
type question struct {
	about byte
	id    int // of the message
}

// What the controller can be asked.
const (
	parsing byte = iota
	needing
	turning
)

// ask sends a question and waits for the answer, however long that takes. stop is
// closed when the answer is of no use any more: then the error is engine.ErrBeforeTurn.
func (r *receiver) ask(ctx context.Context, q question, m *wire.Message, stop <-chan struct{}) (*wire.Message, error) {
	answer := make(chan *wire.Message, 1)
	r.askedMu.Lock()
	r.asked[q] = answer
	r.askedMu.Unlock()
	defer func() {
		r.askedMu.Lock()
		defer r.askedMu.Unlock()
		delete(r.asked, q)
	}()
	if err := r.conn.Send(m); err != nil {
		return nil, err
	}
	select {
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
func (r *receiver) answered(q question, m *wire.Message) {
	r.askedMu.Lock()
	defer r.askedMu.Unlock()
	select {
	case r.asked[q] <- m:
	default:
	}
}

// need asks for what an entry receives from other hosts.
func (r *receiver) need(ctx context.Context, index int) (*wire.Imported, error) {
	m, err := r.ask(ctx, question{needing, index}, &wire.Message{Import: &wire.Import{Index: index}}, r.stopping)
	if err != nil {
		return nil, err
	}
	return m.Imported, nil
}

// turn waits for the semaphores of an entry, and gives what frees them.
func (r *receiver) turn(ctx context.Context, index int) (over func(), err error) {
	over = func() {
		// Who cannot be told any more has lost the session, and knows by that.
		_ = r.conn.Send(&wire.Message{Semaphore: &wire.Semaphore{Index: index, Release: true}})
	}
	if _, err := r.ask(ctx, question{turning, index}, &wire.Message{Semaphore: &wire.Semaphore{Index: index}}, r.stopping); err != nil {
		over() // it may be granted at this moment
		return nil, err
	}
	return over, nil
}

// yaml is that of [modules.Host].
func (r *receiver) yaml(ctx context.Context, text string) (json.RawMessage, error) {
	if len(text) > modules.MaxParse {
		return nil, fmt.Errorf("%d bytes of YAML are more than %d", len(text), modules.MaxParse)
	}
	r.askedMu.Lock()
	r.parses++
	id := r.parses
	r.askedMu.Unlock()
	m, err := r.ask(ctx, question{parsing, id}, &wire.Message{Parse: &wire.Parse{ID: id, Text: text}}, r.ended)
	switch {
	case err != nil:
		return nil, err
	case m.Parsed.Error != "":
		return nil, errors.New(m.Parsed.Error)
	}
	return m.Parsed.JSON, nil
}
