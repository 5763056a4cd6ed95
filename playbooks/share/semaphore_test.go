package share

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseSemaphores(t *testing.T) {
	for _, c := range []struct {
		specs []string
		want  []Claim
		err   string
	}{
		{nil, nil, ""},
		{[]string{"db"}, []Claim{{"db", 1}}, ""},
		{[]string{"web:3", "db"}, []Claim{{"db", 1}, {"web", 3}}, ""},
		{[]string{"db:5", "db:2"}, []Claim{{"db", 2}}, ""},
		{[]string{"db:0"}, nil, `semaphore "db:0": the number of hosts that may hold it at once must be from 1 to 1000000`},
		{[]string{"db:"}, nil, `semaphore "db:": the number of hosts that may hold it at once must be from 1 to 1000000`},
		{[]string{"db:x"}, nil, `semaphore "db:x": the number of hosts that may hold it at once must be from 1 to 1000000`},
		{[]string{"db:1000001"}, nil, `semaphore "db:1000001": the number of hosts that may hold it at once must be from 1 to 1000000`},
		{[]string{":2"}, nil, `semaphore ":2" has no name`},
	} {
		got, err := ParseSemaphores(c.specs)
		if c.err != "" {
			require.EqualError(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
}

func FuzzParseSemaphores(f *testing.F) {
	for _, spec := range []string{"db", "db:2", ":", "a:b:c", "x:-1", "x:999999999999999999999"} {
		f.Add(spec, "other:2")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		claims, err := ParseSemaphores([]string{a, b})
		if err != nil {
			return
		}
		var again []string
		for _, c := range claims {
			require.NotEmpty(t, c.name)
			require.True(t, c.most >= 1 && c.most <= maxHolders)
			again = append(again, fmt.Sprintf("%s:%d", c.name, c.most))
		}
		same, err := ParseSemaphores(again)
		require.NoError(t, err)
		require.Equal(t, claims, same)
	})
}

func claims(t *testing.T, specs ...string) []Claim {
	list, err := ParseSemaphores(specs)
	require.NoError(t, err)
	return list
}

func holds(turns ...*Turn) (all []bool) {
	for _, one := range turns {
		select {
		case <-one.granted:
			all = append(all, true)
		default:
			all = append(all, false)
		}
	}
	return all
}

func TestSemaphoresInOrder(t *testing.T) {
	var s Semaphores
	two := claims(t, "db:2")
	a, b, c, d, e := s.Request(two), s.Request(two), s.Request(two), s.Request(two), s.Request(two)
	require.Equal(t, []bool{true, true, false, false, false}, holds(a, b, c, d, e))
	c.Release() // while it waits
	b.Release()
	require.Equal(t, []bool{true, true, false}, holds(a, d, e))
	b.Release() // twice is once
	require.Equal(t, []bool{false}, holds(e))
	a.Release()
	require.Equal(t, []bool{true}, holds(e))
	d.Release()
	e.Release()
	require.Empty(t, s.byName, "what is not held is forgotten")
}

// TestSizesOfSemaphores has turns that do not agree how many may hold it: each is right
// for the time that it does.
func TestSizesOfSemaphores(t *testing.T) {
	var s Semaphores
	one := s.Request(claims(t, "db"))
	three := s.Request(claims(t, "db:3"))
	require.Equal(t, []bool{true, false}, holds(one, three))
	one.Release()
	more, alone := s.Request(claims(t, "db:3")), s.Request(claims(t, "db:1"))
	last := s.Request(claims(t, "db:3"))
	require.Equal(t, []bool{true, true, false, false}, holds(three, more, alone, last), "no turn overtakes")
	three.Release()
	more.Release()
	require.Equal(t, []bool{true, false}, holds(alone, last))
	alone.Release()
	require.Equal(t, []bool{true}, holds(last))
}

// TestLostHolder gives up a host that holds a semaphore without a deadline: a turn that needs its place fails, and
// others continue.
func TestLostHolder(t *testing.T) {
	var s Semaphores
	lost := s.Request(claims(t, "db:2"))
	other, waits := s.Request(claims(t, "a", "db:2")), s.Request(claims(t, "a", "db"))
	next := s.Request(claims(t, "a"))
	require.Equal(t, []bool{true, true, false, false}, holds(lost, other, waits, next))
	lost.Abandon("h001", "exec#crit", 0)
	require.Equal(t, []bool{true, false}, holds(other, waits), "the other place may come free")
	other.Release()
	require.Equal(t, []bool{true, true}, holds(waits, next), "a turn that fails gives back what it holds")
	require.EqualError(t, waits.Err(), "semaphore db: h001 may still hold it")
	require.NoError(t, next.Err())
	at := s.Request(claims(t, "db"))
	require.EqualError(t, at.Err(), "semaphore db: h001 may still hold it")
	more := s.Request(claims(t, "db:2"))
	require.Equal(t, []bool{true}, holds(more))
	for _, one := range []*Turn{waits, next, at, more} {
		one.Release()
		<-one.Released()
	}
	lost.Release() // the host is back, and has reported
	require.Empty(t, s.byName)
}

// TestLostHolderWithADeadline keeps the places of a host that was given up until its deadline has passed.
func TestLostHolderWithADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Semaphores
		defer s.Close()
		lost, waits := s.Request(claims(t, "db")), s.Request(claims(t, "db"))
		lost.Abandon("h001", "exec#crit", time.Minute)
		time.Sleep(59 * time.Second)
		require.Equal(t, []bool{false}, holds(waits))
		time.Sleep(2 * time.Second)
		require.Equal(t, []bool{true}, holds(waits))
		require.NoError(t, waits.Err())
		waits.Release()
		require.Empty(t, s.byName)
	})
}

// TestReserved holds more places than a semaphore has: no other turn gets one before all of them are returned.
func TestReserved(t *testing.T) {
	var s Semaphores
	one, two := s.Reserve(claims(t, "db")), s.Reserve(claims(t, "db"))
	waits := s.Request(claims(t, "db"))
	require.Equal(t, []bool{true, true, false}, holds(one, two, waits))
	one.Release()
	require.Equal(t, []bool{false}, holds(waits))
	two.Release()
	require.Equal(t, []bool{true}, holds(waits))
}

// TestManySemaphores checks an invariant with random requests: a semaphore never has more holders than allowed, and all
// turns end.
func TestManySemaphores(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 0))
			sizes := map[string]int{}
			var names []string
			for i := range 1 + rnd.IntN(5) {
				name := fmt.Sprintf("s%d", i)
				names, sizes[name] = append(names, name), 1+rnd.IntN(3)
			}
			var s Semaphores
			var mu sync.Mutex
			inside := map[string]int{}
			finished, killed := 0, 0
			enter := func(list []Claim, n int) {
				mu.Lock()
				defer mu.Unlock()
				for _, c := range list {
					inside[c.name] += n
					require.LessOrEqual(t, inside[c.name], c.most, c.name)
				}
			}
			var hosts sync.WaitGroup
			const n = 40
			for range n {
				var specs []string
				for range 1 + rnd.IntN(3) {
					name := names[rnd.IntN(len(names))]
					specs = append(specs, fmt.Sprintf("%s:%d", name, sizes[name]))
				}
				list, err := ParseSemaphores(specs)
				require.NoError(t, err)
				begin, work, dies := time.Duration(rnd.IntN(1000)), time.Duration(rnd.IntN(100)), rnd.IntN(4) == 0
				timeout := time.Duration(rnd.IntN(500))
				hosts.Go(func() {
					time.Sleep(begin)
					one := s.Request(list)
					defer one.Release()
					var died <-chan time.Time
					if dies {
						died = time.After(timeout)
					}
					select {
					case <-one.granted:
						enter(list, 1)
						time.Sleep(work)
						enter(list, -1)
						mu.Lock()
						finished++
						mu.Unlock()
					case <-died:
						mu.Lock()
						killed++
						mu.Unlock()
					}
				})
			}
			hosts.Wait() // a deadlock would fail the test
			require.Equal(t, n, finished+killed)
			require.Empty(t, s.byName)
		})
	}
}
