package faultproxy

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A Proxy takes connections on the loopback and passes them on to a server.
type Proxy struct {
	listener net.Listener
	server   string
	faults   []Fault

	done  chan struct{} // closed by Close
	work  sync.WaitGroup
	mu    sync.Mutex
	links []*link
	away  time.Time // until when it takes no connections
}

// Listen passes connections on to a server, host:port. The first one gets the first fault, and so on; connections after
// the last fault get none.
func Listen(server string, faults ...Fault) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, server: server, faults: faults, done: make(chan struct{})}
	p.work.Go(p.accept)
	return p, nil
}

// Port is the one of the loopback that the proxy listens on.
func (p *Proxy) Port() int { return p.listener.Addr().(*net.TCPAddr).Port }

// Close ends all connections, and waits for that.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	close(p.done)
	p.mu.Lock()
	for _, l := range p.links {
		l.close()
	}
	p.mu.Unlock()
	p.work.Wait()
	return err
}

// Away ends all connections, and has no other one be passed on for a while.
func (p *Proxy) Away(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = time.Now().Add(d)
	for _, l := range p.links {
		l.close()
	}
}

// Next sets the faults of the connections that come after this call, in their order.
func (p *Proxy) Next(faults ...Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(make([]Fault, len(p.links)), faults...)
}

// Passed counts the data that has passed in one direction of a connection.
type Passed struct {
	Packets int
	Bytes   int64
}

// Passed returns the counts of a connection, numbered from 0, in a direction.
func (p *Proxy) Passed(connection int, d Direction) Passed {
	p.mu.Lock()
	defer p.mu.Unlock()
	if connection >= len(p.links) {
		return Passed{}
	}
	passed := &p.links[connection].passed[d]
	return Passed{int(passed.packets.Load()), passed.bytes.Load()}
}

// Connections returns the number of connections so far.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Struck reports whether the fault of a connection, numbered from 0, has happened.
func (p *Proxy) Struck(connection int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return connection < len(p.links) && p.links[connection].struck.Load()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		away := time.Now().Before(p.away)
		p.mu.Unlock()
		if away {
			client.Close()
			continue
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		l := &link{ends: [2]*net.TCPConn{client.(*net.TCPConn), server.(*net.TCPConn)}, stalled: make(chan struct{})}
		if n := len(p.links); n < len(p.faults) {
			l.fault = p.faults[n]
		}
		p.links = append(p.links, l)
		p.mu.Unlock()
		select {
		case <-p.done: // Close does not know it
			l.close()
		default:
		}
		for _, d := range []Direction{ToServer, FromServer} {
			p.work.Go(func() { l.carry(d) })
		}
	}
}

// A link is one connection.
type link struct {
	ends    [2]*net.TCPConn // the client's, and the server's
	fault   Fault
	struck  atomic.Bool
	stalled chan struct{} // closed when nothing passes any more
	passed  [2]struct {
		packets, bytes atomic.Int64
	}
}

func (l *link) close() {
	for _, end := range l.ends {
		end.Close()
	}
}

// carry carries one direction until its end.
func (l *link) carry(d Direction) {
	from, to := l.ends[d], l.ends[1-d]
	var at packets
	var waiting []byte // read, and not passed on
	buf := make([]byte, 16<<10)
	drips := 0
	for {
		if l.due(d, &at) {
			if !l.strike(from, to) {
				return
			}
			drips = dripBytes
		}
		if len(waiting) == 0 {
			n, err := from.Read(buf)
			if l.stops() {
				return
			}
			if n == 0 && err != nil {
				to.CloseWrite() // if the other end is gone, it needs no end
				return
			}
			waiting = buf[:n]
		}
		n := 1
		if drips > 0 {
			drips--
			time.Sleep(dripDelay)
			at.add(waiting[0])
		} else {
			n = l.room(d, &at, waiting)
		}
		if _, err := to.Write(waiting[:n]); err != nil || l.stops() {
			return
		}
		waiting = waiting[n:]
		l.passed[d].packets.Store(int64(at.count))
		l.passed[d].bytes.Add(int64(n))
	}
}

// due reports whether the place of the fault has been reached.
func (l *link) due(d Direction, at *packets) bool {
	f := l.fault
	here := at.count == f.Packets && at.since == f.Bytes
	if f.Packets == 0 {
		here = at.total == f.Bytes
	}
	return f.Kind != None && f.Direction == d && here && !l.struck.Load()
}

// room returns how many of the bytes pass before the fault is due.
func (l *link) room(d Direction, at *packets, b []byte) int {
	for i, c := range b {
		at.add(c)
		if l.due(d, at) {
			return i + 1
		}
	}
	return len(b)
}

// strike makes the fault happen. It reports whether this direction continues.
func (l *link) strike(from, to *net.TCPConn) bool {
	l.struck.Store(true)
	switch l.fault.Kind {
	case Cut:
		close(l.stalled)
		for _, end := range l.ends {
			end.CloseWrite()
		}
	case Reset:
		close(l.stalled)
		for _, end := range l.ends {
			end.SetLinger(0)
			end.Close()
		}
	case HalfClose:
		to.CloseWrite()
		io.Copy(io.Discard, from) // the sender does not notice
	case Stall:
		close(l.stalled)
	case Drip:
		return true
	}
	return false
}

// stops reports whether nothing passes any more.
func (l *link) stops() bool {
	select {
	case <-l.stalled:
		return true
	default:
		return false
	}
}
