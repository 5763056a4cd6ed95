package workers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// decode reads a message. Coordinator and worker are the same build, so a field that is not known is an error.
func decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("a message of it is not readable: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more follows a message of it")
	}
	return nil
}

// receive reads a message of a worker, and checks it.
func receive(text []byte, m message) error {
	if err := decode(text, m); err != nil {
		return err
	}
	if err := m.check(); err != nil {
		return fmt.Errorf("it sent %w", err)
	}
	return nil
}

// maxWarnings bounds the warnings of one message.
const maxWarnings = 1000

// checkSaid checks what a worker reports against its hosts and their plays, and puts in what the coordinator has
// compiled.
func (c *Coordinator) checkSaid(h *handed, s *said) error {
	for i := range s.Events {
		e := s.Events[i].Event
		t, err := c.reportedOf(h, events.HostOf(e))
		if err != nil {
			return err
		}
		if t == nil { // it has ended
			continue
		}
		if s.Events[i].Event, err = t.handler.Check(e); err != nil {
			return err
		}
	}
	for host, end := range s.Ends {
		t, err := c.reportedOf(h, host)
		if err != nil {
			return err
		}
		if t != nil {
			if err := t.handler.CheckEnd(end); err != nil {
				return err
			}
		}
	}
	return nil
}

// reportedOf returns the turn of a host that a worker reports of; nil if it has ended.
func (c *Coordinator) reportedOf(h *handed, host string) (*turn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !h.hosts[host] {
		return nil, fmt.Errorf("it reported something of %.100q, which it was not given", host)
	}
	return h.shard.turns[host], nil
}

// isExcluded returns why a worker gets no more hosts in this run; nil if it does.
func (c *Coordinator) isExcluded(key string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.excluded[key]
}

// exclude takes all hosts from a worker that broke the protocol, for the rest of the run. Other workers get
// the hosts; those on which a command may have run that keeps no notes have failed.
func (c *Coordinator) exclude(ctx context.Context, h *handed, what error) {
	c.mu.Lock()
	if c.excluded[h.key] != nil {
		c.mu.Unlock()
		return
	}
	if c.excluded == nil {
		c.excluded = map[string]error{}
	}
	c.excluded[h.key] = what
	c.mu.Unlock()
	c.Warn(fmt.Sprintf("the worker %s broke the protocol of this run, so it gets no more hosts: %s\n"+
		"  hint: stop it and look at its machine; until its certificate ends it can log in to the hosts that it had", h.worker, printable.Line(what.Error())))
	c.giveToOthers(ctx, h, func(one *handed) bool { return one.key == h.key }, "its worker broke the protocol")
}
