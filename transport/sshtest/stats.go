package sshtest

import (
	"net"
	"sync"
	"sync/atomic"
)

// Stats are the costs of clients of a server.
type Stats struct {
	Connections int64
	Sessions    int64 // session channels, SFTP included
	Execs       int64
	Forwards    int64 // connections made for others, as a jump host
	Turns       int64 // times a client has sent something after it was answered: round trips
	Received    int64 // bytes, encrypted
	Sent        int64 // bytes, encrypted
}

type counters struct {
	connections, sessions, execs, forwards, turns, received, sent atomic.Int64
}

func (c *counters) read() Stats {
	return Stats{
		Connections: c.connections.Load(),
		Sessions:    c.sessions.Load(),
		Execs:       c.execs.Load(),
		Forwards:    c.forwards.Load(),
		Turns:       c.turns.Load(),
		Received:    c.received.Load(),
		Sent:        c.sent.Load(),
	}
}

// A meteredConn counts, and dies when its budget is spent.
type meteredConn struct {
	net.Conn
	counters *counters
	budget   int64 // bytes that may be sent; 0 is without limit

	mu       sync.Mutex
	answered bool // something was sent since the client last spoke
	spent    int64
}

func (m *meteredConn) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	m.counters.received.Add(int64(n))
	m.mu.Lock()
	defer m.mu.Unlock()
	if n > 0 && m.answered {
		m.answered = false
		m.counters.turns.Add(1)
	}
	return n, err
}

func (m *meteredConn) Write(b []byte) (int, error) {
	b, last := m.spend(b)
	n, err := m.Conn.Write(b)
	m.counters.sent.Add(int64(n))
	if last {
		m.Conn.Close()
		return n, net.ErrClosed
	}
	return n, err
}

// spend takes b, or what the budget leaves of it, from the budget.
func (m *meteredConn) spend(b []byte) (part []byte, last bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answered = true
	if m.budget > 0 && m.spent+int64(len(b)) >= m.budget {
		b, last = b[:max(0, m.budget-m.spent)], true
	}
	m.spent += int64(len(b))
	return b, last
}
