package main

import (
	"io"
	"time"
)

// A sink takes what a link delivers.
type sink interface {
	io.Writer
	CloseWrite() error
}

// Limits of a link's buffer: 16 MiB, far above a window of SSH.
const (
	packetSize  = 64 << 10
	packetCount = 256
)

// A packet is under way until it is due.
type packet struct {
	due  time.Time
	data []byte // empty: the end
}

// A link is one direction: each byte, and the end, comes out delay after it went
// in. Packets do not wait for each other.
type link struct {
	delay   time.Duration
	packets chan packet
	closed  chan struct{} // no more packets are read
}

func newLink(delay time.Duration) link {
	return link{delay, make(chan packet, packetCount), make(chan struct{})}
}

// send reads from until it ends or the link is closed. For the other side, a broken connection looks like an ended one.
func (l link) send(from io.Reader) {
	for {
		buf := make([]byte, packetSize)
		n, err := from.Read(buf)
		if n > 0 && !l.put(buf[:n]) {
			return
		}
		if err != nil {
			l.put(nil)
			return
		}
	}
}

func (l link) put(data []byte) bool {
	select {
	case l.packets <- packet{time.Now().Add(l.delay), data}:
		return true
	case <-l.closed:
		return false
	}
}

// deliver writes packets when they are due, until the end or until to has gone,
// and closes the link.
func (l link) deliver(to sink) {
	defer close(l.closed)
	for {
		p := <-l.packets
		time.Sleep(time.Until(p.due))
		if len(p.data) == 0 {
			to.CloseWrite()
			return
		}
		if _, err := to.Write(p.data); err != nil {
			return
		}
	}
}
