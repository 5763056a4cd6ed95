package sshtest

import (
	"io"
	"net"
	"sync"
	"time"
)

// delayed gives an end of conn that is d away: bytes take d in each direction,
// however many are under way.
func delayed(conn net.Conn, d time.Duration, work *sync.WaitGroup) net.Conn {
	if d <= 0 {
		return conn
	}
	near, far := net.Pipe()
	work.Go(func() { carry(far, conn, d) })
	work.Go(func() { carry(conn, far, d) })
	return near
}

type parcel struct {
	bytes []byte
	due   time.Time
}

// carry copies from src to dst, each read after d, and then closes dst.
func carry(dst io.WriteCloser, src io.Reader, d time.Duration) {
	parcels := make(chan parcel, 4096)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(parcels)
		for {
			b := make([]byte, 32<<10)
			n, err := src.Read(b)
			if n > 0 {
				parcels <- parcel{b[:n], time.Now().Add(d)}
			}
			if err != nil {
				return
			}
		}
	})
	failed := false
	for p := range parcels {
		time.Sleep(time.Until(p.due))
		if _, err := dst.Write(p.bytes); err != nil && !failed {
			failed = true
			dst.Close() // makes the other direction end, and with it src
		}
	}
	dst.Close()
	reading.Wait()
}
