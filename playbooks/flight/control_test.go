package flight

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A crowd is a queue of hosts each of which is on its way in for a second.
type crowd struct {
	mu            sync.Mutex
	waiting       int
	logins, hosts int
	load          Load
	peak          int
	work          sync.WaitGroup
}

func (c *crowd) Run(logins, hosts int) {
	c.Resize(logins, hosts)
	c.work.Wait()
}

func (c *crowd) Resize(logins, hosts int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logins, c.hosts = logins, hosts
	c.fill()
}

func (c *crowd) fill() {
	for c.waiting > 0 && c.load.Working < min(c.logins, c.hosts) {
		c.waiting--
		c.load.Working++
		c.load.LoggingIn++
		c.peak = max(c.peak, c.load.Working)
		c.work.Go(func() {
			time.Sleep(time.Second)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.load.Working--
			c.load.LoggingIn--
			c.load.In++
			c.load.Took += time.Second
			c.fill()
		})
	}
}

func (c *crowd) Load() Load {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.load
	l.Waiting = c.waiting
	c.load.In, c.load.Took = 0, 0
	return l
}

// TestControl has the clock of a bubble, and the processors of this machine.
func TestControl(t *testing.T) {
	for _, most := range []int{0, 5, 100} {
		synctest.Test(t, func(t *testing.T) {
			c := &crowd{waiting: 3000}
			NewControl(Bounds{Hosts: most}).Run(c)
			require.Zero(t, c.waiting)
			require.Zero(t, c.load.Working)
			if most > 0 {
				require.LessOrEqual(t, c.peak, most)
			} else {
				require.GreaterOrEqual(t, c.peak, firstLogins)
			}
		})
	}
}

// A resized queue runs until it has been resized.
type resized struct{ signal chan struct{} }

func (r resized) Run(int, int) { <-r.signal }
func (r resized) Load() Load   { return Load{Waiting: 1} }
func (r resized) Resize(int, int) {
	select {
	case r.signal <- struct{}{}:
	default:
	}
}

// TestControlBeginsBeforeItSteers is for the race detector: what a queue begins with is not read while a sample changes it.
func TestControlBeginsBeforeItSteers(t *testing.T) {
	NewControl(Bounds{}).Run(resized{make(chan struct{})})
}

// TestMeter has more goroutines run than there are processors.
func TestMeter(t *testing.T) {
	m := NewMeter()
	require.Less(t, m.Sample(0).Lag, time.Minute)
	end := time.Now().Add(300 * time.Millisecond)
	var busy sync.WaitGroup
	for range 20 * runtime.GOMAXPROCS(0) {
		busy.Go(func() {
			for time.Now().Before(end) {
				runtime.Gosched()
				for i := 0; i < 1e5; i++ {
				}
			}
		})
	}
	busy.Wait()
	s := m.Sample(0)
	require.Positive(t, s.Lag)
	require.Positive(t, s.Memory)
	require.Equal(t, time.Hour, m.Sample(time.Hour).Lag)
}
