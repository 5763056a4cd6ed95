package start

import "time"

// A pace limits the data that has been sent but may not have reached the process on the host. The limit is about the
// amount that 100 Mbit/s need. sshd keeps unread data in a buffer of up to 2 MB, and copies the whole buffer with every
// packet (OpenSSH, sshbuf.c, sshbuf_allocate). If the buffer contained a whole host program, this would take half as
// long as unpacking the program. The answers to keepalive requests show how much has arrived.
type pace struct {
	ask    func() <-chan error // sends a keepalive request; nil if none can be sent
	sign   <-chan error        // answer to the current request, or nil
	asked  time.Time           // when that was sent for
	behind int                 // bytes sent before it
	ahead  int                 // bytes sent since the last sign that has come was sent for
	trip   time.Duration       // the shortest that one took; 0 is not known
}

const (
	// leastAhead is always allowed, in bytes: the capacity of a pipe. For a buffer of 128 KB or more, sshd's malloc
	// gets memory from the kernel with each packet.
	leastAhead = 64 << 10
	// aheadRate is the amount allowed during a round trip, in bytes per second. It is twice 100 Mbit/s, since a request
	// is sent after each half.
	aheadRate = 2 * 100e6 / 8
)

// sent adds n sent bytes, and waits until more may be sent. If the connection ends, the next write reports it.
func (p *pace) sent(n int) {
	p.ahead += n
	for p.ask != nil {
		most := max(leastAhead, int(p.trip.Seconds()*aheadRate))
		switch {
		case p.sign == nil && (p.trip == 0 || p.ahead >= most/2):
			p.sign, p.asked, p.behind = p.ask(), time.Now(), p.ahead
		case p.sign == nil:
			return
		case p.ahead >= most:
			p.came(<-p.sign)
		default:
			select {
			case err := <-p.sign:
				p.came(err)
			default:
				return
			}
		}
	}
}

// came notes that a sign of life has come.
func (p *pace) came(err error) {
	if err != nil {
		p.ask = nil
		return
	}
	took := max(time.Since(p.asked), 1)
	if p.trip == 0 || took < p.trip {
		p.trip = took
	}
	p.ahead, p.behind, p.sign = p.ahead-p.behind, 0, nil
}
