package start

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A farHost has taken all data that was sent before the request that it answers.
type farHost struct {
	trip  time.Duration
	sent  int
	taken atomic.Int64
	most  int // largest amount that was sent and not taken
}

// ahead returns the number of bytes that were sent and not taken.
func (h *farHost) ahead() int { return h.sent - int(h.taken.Load()) }

func (h *farHost) ask() <-chan error {
	came, behind, trip := make(chan error, 1), int64(h.sent), h.trip
	go func() { // until the trip is over, in the bubble of the test
		time.Sleep(trip)
		h.taken.Store(behind) // requests are sent one after the other
		came <- nil
	}()
	return came
}

func (h *farHost) send(p *pace, chunks, chunk int) time.Duration {
	began := time.Now()
	p.sent(0)
	for range chunks {
		h.sent += chunk
		h.most = max(h.most, h.ahead())
		p.sent(chunk)
	}
	return time.Since(began)
}

func TestPace(t *testing.T) {
	const chunks, size = 70, 70 * writeChunk // about a host program
	for trip, within := range map[time.Duration]time.Duration{
		200 * time.Microsecond: 72 * 200 * time.Microsecond, // half of leastAhead for each
		50 * time.Millisecond:  200 * time.Millisecond,      // 100 Mbit/s are 184 ms
		time.Second:            time.Second,                 // all may be on its way
	} {
		synctest.Test(t, func(t *testing.T) {
			h := &farHost{trip: trip}
			p := pace{ask: h.ask}
			took := h.send(&p, chunks, writeChunk)
			require.LessOrEqual(t, took, within, trip)
			if trip < 5*time.Millisecond {
				require.LessOrEqual(t, h.most, leastAhead+writeChunk, trip)
			}
			require.Equal(t, size, h.sent)
			synctest.Wait()
			time.Sleep(2 * trip) // the remaining data arrives
		})
	}
}

// TestPaceOfAnyHost uses random arrivals: the amount ahead stays within its limit, and sending continues.
func TestPaceOfAnyHost(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			h := &farHost{}
			p := pace{ask: func() <-chan error {
				h.trip = time.Duration(rng.IntN(4000)) * time.Microsecond
				return h.ask()
			}}
			p.sent(0)
			for range 100 {
				n := rng.IntN(writeChunk) + 1
				h.sent += n
				require.LessOrEqual(t, h.ahead(), max(leastAhead, int((4*time.Millisecond).Seconds()*aheadRate))+writeChunk)
				p.sent(n)
			}
			time.Sleep(time.Second)
		})
	}
}

// A connection that has ended, and the controller itself, are not waited for.
func TestPaceOfNobody(t *testing.T) {
	asked := 0
	p := pace{ask: func() <-chan error {
		asked++
		came := make(chan error, 1)
		came <- errors.New("lost")
		return came
	}}
	nobody := pace{}
	for range 100 {
		p.sent(writeChunk)
		nobody.sent(writeChunk)
	}
	require.Equal(t, 1, asked)
}
