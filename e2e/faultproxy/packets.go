package faultproxy

import "encoding/binary"

const (
	newKeys   = 21 // the message after which packets are encrypted (RFC 4253, 7.3)
	gcmTag    = 16 // bytes after each encrypted packet
	maxPacket = 1 << 20
)

// packets finds the ends of SSH packets in one direction of a connection. With the cipher AES-GCM, the first choice of
// Go's client, their lengths can be read (RFC 5647, 7.2); with another one, encrypted packets have no known end.
type packets struct {
	count     int   // complete packets
	since     int64 // bytes after the last of them
	total     int64 // bytes
	encrypted bool
	lost      bool    // they are encrypted with another cipher
	head      [6]byte // begin of the packet: its length, and without encryption padding and type
	line      []byte  // before the first packet
	greeted   bool
	end       int64 // how long the packet is; 0 if that is not known yet
}

// add takes the next byte.
func (p *packets) add(b byte) {
	p.since++
	p.total++
	switch {
	case p.lost:
	case !p.greeted:
		p.addLine(b)
	default:
		p.addPacket(b)
	}
}

// addLine is for the lines before the first packet, the last of which begins with SSH-
// (RFC 4253, 4.2). They count as one packet.
func (p *packets) addLine(b byte) {
	if p.line = append(p.line, b); b != '\n' {
		return
	}
	if len(p.line) > 4 && string(p.line[:4]) == "SSH-" {
		p.greeted = true
		p.next()
	}
	p.line = nil
}

func (p *packets) addPacket(b byte) {
	if p.since <= int64(len(p.head)) {
		p.head[p.since-1] = b
	}
	if p.since == 4 {
		length := binary.BigEndian.Uint32(p.head[:4])
		if p.lost = length > maxPacket; p.lost {
			return
		}
		p.end = 4 + int64(length)
		if p.encrypted {
			p.end += gcmTag
		}
	}
	if p.since == p.end {
		p.encrypted = p.encrypted || p.head[5] == newKeys
		p.next()
	}
}

func (p *packets) next() {
	p.count++
	p.since, p.end = 0, 0
}
