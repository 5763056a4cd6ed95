package start

import "time"

// A pace keeps what has been sent to a host, and may not have reached its process yet, to about what 100 Mbit/s
// need. sshd has what a process does not read in a buffer of up to 2 MB, which it copies as a whole into
// a larger one with every packet (OpenSSH, sshbuf.c, sshbuf_allocate): with all of a host program on its way, that
// takes half as long as to unpack it. How much has come is known by asking for signs of life behind it.
type pace struct {
	ask    func() <-chan error // sends for a sign of life; nil where there is nothing to ask
	sign   <-chan error        // of what is under way; nil if none is
	asked  time.Time           // when that was sent for
	behind int                 // bytes sent before it
	ahead  int                 // bytes sent since the last sign that has come was sent for
	trip   time.Duration       // the shortest that one took; 0 is not known
}

const (
	// leastAhead is what may always be ahead, in bytes: as much as a pipe holds. A buffer of 128 KB and more is
	// memory that sshd's malloc gets from the kernel for each packet anew.
	leastAhead = 64 << 10
	// aheadRate is what may be ahead for the time of a sign of life, in bytes per second. What is ahead is asked
	// about in halves, so it is twice the rate that this is for.
	aheadRate = 2 * 100e6 / 8
)

// sent notes that n bytes have been sent, and waits until more may be. A connection that ends is left to the
// next write.
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
