package share

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func never() bool { return false }

func hosts(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint("h", i))
	}
	return names
}

// TestQueue works on each host once, in their order, as many at once as there are places.
func TestQueue(t *testing.T) {
	for atOnce := 1; atOnce <= 5; atOnce++ {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var begun []string
			working, peak := 0, 0
			count := func(d int) {
				mu.Lock()
				defer mu.Unlock()
				working += d
				peak = max(peak, working)
			}
			NewQueue(hosts(4), func(host string, _ *WayIn) {
				count(1)
				mu.Lock()
				begun = append(begun, host)
				mu.Unlock()
				time.Sleep(time.Second) // in the bubble, every goroutine runs until it blocks
				count(-1)
			}, never).Run(100, atOnce)
			require.ElementsMatch(t, hosts(4), begun)
			require.Equal(t, min(atOnce, 4), peak)
			if atOnce == 1 {
				require.Equal(t, hosts(4), begun)
			}
		})
	}
}

// TestQueueStops begins no further host, neither in turn nor out of it.
func TestQueueStops(t *testing.T) {
	stopped := false
	var begun []string
	var q *Queue
	q = NewQueue(hosts(3), func(host string, _ *WayIn) {
		begun = append(begun, host)
		stopped = true
		q.StartNow("h2")
	}, func() bool { return stopped })
	q.Run(1, 1)
	require.Equal(t, []string{"h0"}, begun)
}

// TestQueueStartsNowOnce is of hosts that are begun already, or not there, or come too late.
func TestQueueStartsNowOnce(t *testing.T) {
	var mu sync.Mutex
	begun := map[string]int{}
	var q *Queue
	q = NewQueue(hosts(3), func(host string, _ *WayIn) {
		mu.Lock()
		begun[host]++
		mu.Unlock()
		for _, one := range append(hosts(3), "other") {
			q.StartNow(one)
		}
	}, never)
	q.Run(1, 1)
	q.StartNow("h1")
	require.Equal(t, map[string]int{"h0": 1, "h1": 1, "h2": 1}, begun)
}

// TestQueueStartsNow uses hosts that wait for others which have no place yet: with any number of places all of them
// end.
func TestQueueStartsNow(t *testing.T) {
	for forks := 1; forks <= 4; forks++ {
		synctest.Test(t, func(t *testing.T) {
			const n = 20
			var mu sync.Mutex
			ended := map[string]chan struct{}{}
			for _, name := range hosts(n) {
				ended[name] = make(chan struct{})
			}
			working, peak := 0, 0
			count := func(d int) {
				mu.Lock()
				defer mu.Unlock()
				working += d
				peak = max(peak, working)
			}
			var q *Queue
			q = NewQueue(hosts(n), func(host string, _ *WayIn) {
				defer close(ended[host])
				if i := slices.Index(hosts(n), host); i+1 < n { // waits for the one that comes after it
					next := fmt.Sprint("h", i+1)
					q.StartNow(next)
					<-ended[next]
				}
				count(1)
				synctest.Wait()
				count(-1)
			}, never)
			q.Run(forks, forks)
			require.Empty(t, q.waiting)
			require.Zero(t, q.load.Working)
			require.Zero(t, q.load.LoggingIn)
			require.Equal(t, 1, peak)
		})
	}
}

// TestQueueResizes changes the number of places while hosts are in progress.
func TestQueueResizes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(hosts(100), func(_ string, in *WayIn) {
			time.Sleep(time.Second / 10)
			in.In()
			time.Sleep(time.Second - time.Second/10)
		}, never)
		var running sync.WaitGroup
		running.Go(func() { q.Run(2, 5) })
		at := func(d time.Duration, loggingIn, working, waiting int) {
			time.Sleep(d)
			synctest.Wait()
			l := q.Load()
			require.Equal(t, []int{loggingIn, working, waiting}, []int{l.LoggingIn, l.Working, l.Waiting})
		}
		at(time.Millisecond, 2, 2, 98)
		at(time.Second/10, 2, 4, 96)
		at(time.Second/10, 1, 5, 95)
		q.Resize(10, 10)
		at(0, 6, 10, 90)
		q.Resize(1, 3) // no host ends because of it
		at(time.Second/10, 0, 10, 90)
		for range 30 {
			time.Sleep(time.Second)
			require.LessOrEqual(t, q.Load().Working, 3)
			require.LessOrEqual(t, q.Load().LoggingIn, 1)
		}
		q.Resize(0, 0) // one, all the same
		running.Wait()
		at(0, 0, 0, 0)
	})
}

// TestFirst moves some hosts before earlier ones; hosts that have begun or are not in the queue are ignored.
func TestFirst(t *testing.T) {
	var begun []string
	var q *Queue
	q = NewQueue(hosts(6), func(host string, _ *WayIn) {
		if begun = append(begun, host); host == "h1" {
			q.First([]string{"h4", "h0", "h3", "another", "h4"})
		}
	}, never)
	q.Run(1, 1)
	require.Equal(t, []string{"h0", "h1", "h4", "h3", "h2", "h5"}, begun)
}

// TestWayIn has hosts that take longer than others, each in its own way.
func TestWayIn(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(*WayIn)
		held time.Duration // the place
		in   int
	}{
		{"is in", func(w *WayIn) { time.Sleep(100 * time.Millisecond); w.In(); w.In() }, 100 * time.Millisecond, 1},
		{"does not answer", func(*WayIn) {}, unanswered, 0},
		{"answers, and is slow then", func(w *WayIn) { time.Sleep(100 * time.Millisecond); w.Answered() }, 100*time.Millisecond + answered, 0},
		{"is connected to, and says nothing", func(w *WayIn) { time.Sleep(100 * time.Millisecond); w.Connected() }, 100*time.Millisecond + unanswered, 0},
		{"says something then", func(w *WayIn) { w.Connected(); time.Sleep(100 * time.Millisecond); w.Answered() }, 100*time.Millisecond + answered, 0},
		{"answers too late", func(w *WayIn) { time.Sleep(time.Second); w.Answered() }, unanswered, 0},
		{"is sent the host program", func(w *WayIn) { w.Answered(); w.Keep(); time.Sleep(time.Minute); w.In() }, time.Minute, 1},
		{"waits for its relay", func(w *WayIn) {
			back := w.Apart()
			time.Sleep(time.Minute)
			back()
			w.In()
		}, 0, 1},
		{"is in late", func(w *WayIn) { time.Sleep(time.Second); w.In() }, unanswered, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var held time.Duration
				in := 0
				q := NewQueue(hosts(2), nil, never)
				q.work = func(host string, w *WayIn) {
					if host == "h1" {
						held = time.Since(began)
						return
					}
					test.do(w)
					time.Sleep(time.Hour)
					in += q.Load().In
				}
				q.Run(1, 2)
				require.Equal(t, test.held, held)
				require.Equal(t, test.in, in)
				require.Zero(t, q.Load().LoggingIn)
			})
		})
	}
	var nobody *WayIn
	nobody.Connected()
	nobody.Answered()
	nobody.Keep()
	nobody.Apart()()
	nobody.In()
}

// TestApart has a host come back that wants its place again before others begin.
func TestApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		at := map[string]time.Duration{}
		q := NewQueue(hosts(3), nil, never)
		q.work = func(host string, w *WayIn) {
			at[host] = time.Since(began)
			w.Answered()
			if host == "h0" {
				back := w.Apart()
				time.Sleep(time.Second)
				back()
				at["back"] = time.Since(began)
			}
			time.Sleep(2 * time.Second)
			w.In()
			w.Apart()() // it is in, and has nothing to come back to
		}
		q.Run(1, 3)
		require.Equal(t, map[string]time.Duration{"h0": 0, "h1": 0, "back": 2 * time.Second, "h2": 4 * time.Second}, at)
		load := q.Load()
		require.Equal(t, 3, load.In)
		require.Equal(t, 6*time.Second, load.Took, "what it has waited for its relay is no part of it")
		require.Zero(t, load.LoggingIn)
	})
}

// TestApartWhenStopped has hosts that want their places again need none when no other host begins any more.
func TestApartWhenStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var stopped atomic.Bool
		var mu sync.Mutex
		at := map[string]time.Duration{}
		q := NewQueue(hosts(3), nil, stopped.Load)
		q.work = func(host string, w *WayIn) {
			w.Answered()
			if host == "h0" {
				back := w.Apart()
				time.Sleep(time.Second)
				stopped.Store(true)
				back()
			} else {
				w.Keep()
				time.Sleep(time.Hour)
			}
			mu.Lock()
			defer mu.Unlock()
			at[host] = time.Since(began)
		}
		q.Run(1, 3)
		require.Equal(t, map[string]time.Duration{"h0": time.Second, "h1": time.Hour}, at)
	})
}
