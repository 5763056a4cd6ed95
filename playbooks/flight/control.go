package flight

import (
	"sync"
	"time"
)

// A Queue is hosts that begin as places are free.
type Queue interface {
	// Run begins with at most so many hosts logging in and in progress, and waits for all.
	Run(logins, hosts int)
	// Resize has so many at most from now on.
	Resize(logins, hosts int)
	// Load returns the counts of its hosts since the last call.
	Load() Load
}

// A Control has the queues of a run, one after the other, grow and shrink under one window.
type Control struct {
	window *Window
	meter  *Meter
}

// NewControl begins to measure.
func NewControl(b Bounds) *Control { return &Control{NewWindow(b), NewMeter()} }

// Exhausted notes that a host was not dialled for want of something that this machine has too few of,
// such as open files.
func (c *Control) Exhausted() { c.meter.exhausted.Store(true) }

// Run processes all hosts of a queue.
func (c *Control) Run(q Queue) {
	logins, hosts := c.window.Logins(), c.window.Hosts() // before it is steered
	done := make(chan struct{})
	var steering sync.WaitGroup
	steering.Go(func() { c.steer(q, done) })
	q.Run(logins, hosts)
	close(done)
	steering.Wait()
}

// steer resizes a queue until all of its hosts have begun, or done is closed.
func (c *Control) steer(q Queue, done <-chan struct{}) {
	ticks := time.NewTicker(Interval)
	defer ticks.Stop()
	last := time.Now()
	for {
		select {
		case <-ticks.C:
		case <-done:
			return
		}
		s := c.meter.Sample(time.Since(last) - Interval)
		spare(c.meter.live())
		last = time.Now()
		if s.Load = q.Load(); s.Waiting == 0 {
			return
		}
		c.window.Observe(s)
		q.Resize(c.window.Logins(), c.window.Hosts())
	}
}
