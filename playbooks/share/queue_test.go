package share

import (
	"fmt"
	"slices"
	"sync"
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
			NewQueue(hosts(4), func(host string) {
				count(1)
				mu.Lock()
				begun = append(begun, host)
				mu.Unlock()
				time.Sleep(time.Second) // of the bubble: all that can work do
				count(-1)
			}, never).Run(atOnce)
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
	q = NewQueue(hosts(3), func(host string) {
		begun = append(begun, host)
		stopped = true
		q.StartNow("h2")
	}, func() bool { return stopped })
	q.Run(1)
	require.Equal(t, []string{"h0"}, begun)
}

// TestQueueStartsNowOnce is of hosts that are begun already, or not there, or come too late.
func TestQueueStartsNowOnce(t *testing.T) {
	var mu sync.Mutex
	begun := map[string]int{}
	var q *Queue
	q = NewQueue(hosts(3), func(host string) {
		mu.Lock()
		begun[host]++
		mu.Unlock()
		for _, one := range append(hosts(3), "other") {
			q.StartNow(one)
		}
	}, never)
	q.Run(1)
	q.StartNow("h1")
	require.Equal(t, map[string]int{"h0": 1, "h1": 1, "h2": 1}, begun)
}

// TestQueueStartsNow has hosts that wait for others which have no place yet: with any number of
// places all come to their end.
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
			q = NewQueue(hosts(n), func(host string) {
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
			q.Run(forks)
			require.Empty(t, q.waiting)
			require.Zero(t, q.running)
			require.Equal(t, 1, peak)
		})
	}
}
