package main

import (
	"net"
	"sync"
	"time"
)

// A farConn is a connection whose writes arrive later, in their order. No goroutine waits for them.
type farConn struct {
	net.Conn
	rtt time.Duration

	mu    sync.Mutex
	due   []late // in their order
	ended bool   // closed, after the data that are due
	err   error
}

// A late write is on its way.
type late struct {
	at   time.Time
	data []byte
}

// Write implements [net.Conn]. It returns the error of an earlier write.
func (c *farConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	c.due = append(c.due, late{time.Now().Add(c.rtt), append([]byte(nil), b...)})
	if len(c.due) == 1 {
		time.AfterFunc(c.rtt, c.deliver)
	}
	return len(b), nil
}

// deliver writes the data that are due, and schedules itself for the rest.
func (c *farConn) deliver() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.due) > 0 {
		first := c.due[0]
		if wait := time.Until(first.at); wait > 0 {
			time.AfterFunc(wait, c.deliver)
			return
		}
		if _, err := c.Conn.Write(first.data); err != nil && c.err == nil {
			c.err = err
		}
		c.due = c.due[1:]
	}
	if c.ended {
		c.Conn.Close()
	}
}

// Close implements [net.Conn]. Data in transit arrive.
func (c *farConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended = true; len(c.due) > 0 {
		return nil
	}
	return c.Conn.Close()
}
