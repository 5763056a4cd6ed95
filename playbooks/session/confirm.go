package session

import (
	"context"
	"errors"
	"io"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// arm has the way in to the host tried before it is changed for the first time. The catalog waits for
// the answer.
func (c *catalogRun) arm(ctx context.Context, m *wire.Arm) error {
	switch {
	case c.catalog.Confirm == nil || c.task.Arm == nil:
		return breach("the host requests a second login for a catalog that needs no confirmation")
	case m.Index < 0 || m.Index >= len(c.reported):
		return breach("the host requests a second login for resource %d of %d", m.Index, len(c.reported))
	case c.reported[m.Index]:
		return breach("the host requests a second login for resource %d, which it has reported", m.Index)
	case m.Set && !c.armed[m.Index]:
		return breach("the host is armed for resource %d without a second login", m.Index)
	case m.Set:
		if c.task.ArmSet != nil {
			c.task.ArmSet(m.Index, m.Why)
		}
		return nil
	case c.armed[m.Index]:
		return breach("the host requests a second login for resource %d twice", m.Index)
	}
	c.armed[m.Index] = true
	c.later(ctx, func(ctx context.Context) *wire.Message {
		answer := &wire.Armed{Index: m.Index}
		if err := c.task.Arm(ctx, m.Index, m.Why); err != nil {
			answer.Error = err.Error()
		}
		return &wire.Message{Armed: answer}
	})
	return nil
}

// reverted hands on what the host has taken back. It is acknowledged with the catalog.
func (c *catalogRun) reverted(r *wire.Reverted) error {
	switch {
	case c.results > 0:
		return breach("the host reports reverted changes after its first result")
	case c.reverts == wire.MaxUntoldCatalogs:
		return breach("the host has taken back more than %d catalogs", wire.MaxUntoldCatalogs)
	}
	c.reverts++
	if c.task.Reverted == nil { // the host reports it again
		return nil
	}
	c.acks = append(c.acks, acknowledged(r))
	c.worth = true
	c.task.Reverted(r)
	return nil
}

func acknowledged(r *wire.Reverted) *wire.Message {
	return &wire.Message{Ack: &wire.Ack{Run: r.Run, Play: r.Play, Reverted: true}}
}

// Prove sends a host the proof that a login to it worked, in a session without a catalog, and returns the state of the
// changes that wait for that.
func (s *Session) Prove(ctx context.Context, nonce string) (*wire.Confirmed, error) {
	if err := s.queue(func() error { return s.conn.Send(&wire.Message{Proof: &wire.Proof{Nonce: nonce}}) }); err != nil {
		return nil, err
	}
	select {
	case all := <-s.incoming:
		if m := all[0]; len(all) > 1 || m.Confirmed == nil || m.Confirmed.Nonce != nonce {
			err := breach("the host does not answer whether it keeps its changes")
			s.end(err)
			return nil, err
		}
		return all[0].Confirmed, nil
	case <-s.over:
		if errors.Is(s.err, io.EOF) {
			return nil, s.ending()
		}
		return nil, s.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Forget acknowledges a host's reverted changes, so that it does not report them again.
func (s *Session) Forget(r *wire.Reverted) { s.tell(acknowledged(r)) }
