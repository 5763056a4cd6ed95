package dial

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/transport"
)

// TestStartups has many come to a few sshds, and some of them give up: never are there more than may
// be, whoever stays gets in, in the order of coming, and nothing is left behind.
func TestStartups(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			chance := rand.New(rand.NewPCG(seed, 1))
			var s startups
			var mu sync.Mutex
			inside, peak, in := map[string]int{}, map[string]int{}, 0
			var all sync.WaitGroup
			stays := 0
			for range 200 {
				key, takes := fmt.Sprint(chance.IntN(3)), time.Duration(chance.IntN(1000))*time.Millisecond
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if chance.IntN(3) == 0 {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(chance.IntN(3000))*time.Millisecond)
				} else {
					stays++
				}
				all.Go(func() {
					defer cancel()
					leave, err := s.enter(ctx, key)
					if err != nil {
						return
					}
					mu.Lock()
					inside[key]++
					peak[key] = max(peak[key], inside[key])
					if ctx == t.Context() {
						in++
					}
					mu.Unlock()
					time.Sleep(takes)
					mu.Lock()
					inside[key]--
					mu.Unlock()
					leave()
					leave()
				})
			}
			all.Wait()
			require.Equal(t, map[string]int{"0": maxStartups, "1": maxStartups, "2": maxStartups}, peak)
			require.Equal(t, stays, in)
			require.Empty(t, s.at)
		})
	}
}

// TestCrowdedStartups halves what an sshd gets at once that has dropped some, and remembers that.
func TestCrowdedStartups(t *testing.T) {
	var s startups
	enter := func() (n int) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for ; ; n++ {
			leave, err := s.enter(ctx, "gate")
			if err != nil {
				return n
			}
			defer leave()
		}
	}
	for _, most := range []int{8, 4, 2, 1, 1} {
		require.Equal(t, most, enter())
		s.crowded("gate")
	}
	leave, err := s.enter(t.Context(), "other")
	require.NoError(t, err)
	leave()
	require.Len(t, s.at, 1)
}

// TestLoginsAtOneAddress has forty hosts of one address, and of another one, dialled at once; both are
// slow. No clock of a host runs while it waits in line.
func TestLoginsAtOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, peak := map[string]int{}, map[string]int{}
		d := &Dialer{Retries: -1, DialContext: func(_ context.Context, _, addr string) (net.Conn, error) {
			mu.Lock()
			now[addr]++
			peak[addr] = max(peak[addr], now[addr])
			mu.Unlock()
			time.Sleep(9 * time.Second) // of 10 that a dial may take
			mu.Lock()
			now[addr]--
			mu.Unlock()
			return nil, syscall.EACCES
		}}
		began := time.Now()
		var all sync.WaitGroup
		for i := range 80 {
			target := transport.Target{Host: fmt.Sprint("web", i), Address: fmt.Sprint("w", i%2), User: "u", KnownHosts: []string{"/dev/null"}}
			all.Go(func() {
				if _, err := d.Dial(t.Context(), target); err == nil || err.Error() != fmt.Sprintf("%s: dial %s: permission denied", target.Host, target.Addr()) {
					t.Errorf("%s: %v", target.Host, err)
				}
			})
		}
		all.Wait()
		require.Equal(t, map[string]int{"w0:22": maxStartups, "w1:22": maxStartups}, peak)
		require.Equal(t, 40/maxStartups*9*time.Second, time.Since(began))
	})
}

func TestStartupKey(t *testing.T) {
	gate := transport.Target{Address: "gate", User: "me"}
	for _, test := range []struct {
		target transport.Target
		key    string
	}{
		{transport.Target{Address: "web1"}, "web1:22"},
		{transport.Target{Address: "web1", Port: 2222}, "web1:2222"},
		{transport.Target{Address: "10.0.0.1", Jump: []transport.Target{gate}}, "me@gate:22 10.0.0.1:22"},
		{transport.Target{Address: "web1", ProxyCommand: "exec /usr/bin/ssh -W web1:22 gate"}, "exec /usr/bin/ssh -W %h:%p gate"},
		{transport.Target{Address: "web2", ProxyCommand: "ssh gate nc web2 22"}, "ssh gate nc %h 22"},
		{transport.Target{Address: "web1", ProxyCommand: "nc -X connect -x proxy:3128 web1 22"}, ""},
		{transport.Target{Address: "web1", ProxyCommand: "aws ssm start-session --target web1 --document-name AWS-StartSSHSession"}, ""},
	} {
		require.Equal(t, test.key, startupKey(test.target))
	}
}

// TestPace has many dialled through a jump host at the same moment.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pace
		began := time.Now()
		var all sync.WaitGroup
		for range 101 {
			all.Go(func() {
				if !p.turn(t.Context()) {
					t.Error("it had time")
				}
			})
		}
		all.Wait()
		require.Equal(t, 100*openInterval, time.Since(began))
		time.Sleep(time.Second)
		began = time.Now()
		require.True(t, p.turn(t.Context()))
		require.Zero(t, time.Since(began))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.False(t, p.turn(ctx))
		require.False(t, p.turn(ctx))
	})
}
