package flight

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWindowStaysWithinBounds has anything happen.
func TestWindowStaysWithinBounds(t *testing.T) {
	for seed := range uint64(200) {
		chance := rand.New(rand.NewPCG(seed, 1))
		b := Bounds{Hosts: chance.IntN(3) * chance.IntN(300), Files: chance.IntN(2) * (1 + chance.IntN(1000)), Memory: int64(chance.IntN(2)) << 20}
		w := NewWindow(b)
		most := noBound
		for range 300 {
			require.Positive(t, w.Logins())
			require.LessOrEqual(t, w.Logins(), w.Hosts())
			for _, bound := range []int{b.Hosts, b.Files, most} {
				if bound > 0 {
					require.LessOrEqual(t, w.Hosts(), bound, "%+v", b)
				}
			}
			working := chance.IntN(w.Logins() + 1)
			s := Sample{
				Lag:       time.Duration(chance.ExpFloat64() * float64(20*time.Millisecond)),
				Exhausted: chance.IntN(100) == 0,
				Memory:    int64(chance.IntN(2 << 20)),
				Load: Load{
					LoggingIn: chance.IntN(working + 1), Working: working, Waiting: chance.IntN(2) * 1000,
					In: chance.IntN(20), Took: time.Duration(chance.IntN(int(time.Minute))),
				},
			}
			w.Observe(s)
			if s.Exhausted { // it is not forgotten
				most = min(most, max(1, working*3/4))
			}
		}
	}
}

func TestWindow(t *testing.T) {
	full := func(w *Window, s Sample) Sample {
		s.LoggingIn, s.Working, s.Waiting = w.Logins(), w.Logins(), 1000
		return s
	}
	in := Sample{Load: Load{In: 10, Took: 10 * 400 * time.Millisecond}}
	slow := Sample{Load: Load{In: 10, Took: 10 * 2 * time.Second}}
	stuck := Sample{Load: Load{In: 10, Took: 10 * 30 * time.Second}}
	for _, test := range []struct {
		name    string
		samples []Sample
		logins  int
	}{
		{"nobody has come in", []Sample{{}, {}, {}}, 64},
		{"each lets two come", []Sample{in, in}, 104},
		{"not while there is some lag", []Sample{in, {Lag: time.Second / 4, Load: in.Load}, in}, 84},
		{"too many", []Sample{in, {Lag: time.Second, Load: in.Load}}, 63},
		{"is seen late, so once in a while", []Sample{in, {Lag: time.Second, Load: in.Load}, {Lag: time.Second, Load: in.Load}}, 63},
		{"others are slower than these", []Sample{in, in, slow, slow, slow, slow, slow}, 124},
		{"they are not in before long", []Sample{in, stuck, stuck}, 64},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := NewWindow(Bounds{})
			for _, s := range test.samples {
				w.Observe(full(w, s))
			}
			require.Equal(t, test.logins, w.Logins())
		})
	}
}

// TestWindowWithoutNeed has fewer hosts on their way than may be: how many more would do is not known.
func TestWindowWithoutNeed(t *testing.T) {
	w := NewWindow(Bounds{})
	for range 100 {
		w.Observe(Sample{Load: Load{LoggingIn: 63, Working: 700, Waiting: 1000, In: 10, Took: time.Second}})
	}
	require.Equal(t, 64, w.Logins())
	require.Equal(t, noBound, w.Hosts())
}

func TestMemoryBound(t *testing.T) {
	w := NewWindow(Bounds{Memory: 100})
	w.Observe(Sample{Memory: 101, Load: Load{Working: 800}})
	require.Equal(t, 700, w.Hosts())
	w.Observe(Sample{Memory: 101, Load: Load{Working: 3}})
	require.Equal(t, leastHosts, w.Hosts())
	w.Observe(Sample{Memory: 99, Load: Load{Working: 3}})
	require.Equal(t, noBound, w.Hosts())
}

// TestWindowFindsTheMachine has hosts come in on machines of several kinds, which are calculated: each takes
// processor time in parts, and between them answers that take their time.
func TestWindowFindsTheMachine(t *testing.T) {
	for _, m := range []machine{
		{processors: 2, cpu: 2 * time.Millisecond, waits: 400 * time.Millisecond, hosts: 10_000},
		{processors: 2, cpu: 2 * time.Millisecond, waits: 20 * time.Millisecond, hosts: 10_000},
		{processors: 16, cpu: 2 * time.Millisecond, waits: 400 * time.Millisecond, hosts: 50_000},
		{processors: 2, cpu: 5 * time.Millisecond, waits: 2 * time.Second, hosts: 10_000},
	} {
		t.Run(fmt.Sprintf("%+v", m), func(t *testing.T) {
			took, peak := m.run()
			ideal := time.Duration(m.hosts) * m.cpu / time.Duration(m.processors)
			enough := int(m.waits/m.cpu) * m.processors // on their way at once
			t.Logf("%v, %.2f of the processors' time; %d hosts at once, %d are enough", took, float64(took)/float64(ideal), peak, enough)
			require.Less(t, took, ideal*115/100+4*m.waits)
			require.LessOrEqual(t, peak, max(600, 4*enough))
		})
	}
}

// A machine brings hosts in.
type machine struct {
	processors int
	cpu, waits time.Duration // total for each host
	hosts      int
}

// parts is the number of steps of a login on this machine.
const parts = 8

// run returns the time that it takes, and the largest number of logins at once.
func (m machine) run() (took time.Duration, peak int) {
	type host struct {
		began time.Duration
		parts int // completed steps
	}
	w := NewWindow(Bounds{})
	answers := map[time.Duration][]*host{} // that come in an interval
	var runnable []*host
	now, left, busy, inside := time.Duration(0), m.hosts, time.Duration(0), 0
	load := Load{}
	for done := 0; done < m.hosts; now += Interval {
		runnable = append(runnable, answers[now]...)
		delete(answers, now)
		for busy += Interval * time.Duration(m.processors); len(runnable) > 0 && busy >= m.cpu/parts; busy -= m.cpu / parts {
			h := runnable[0]
			runnable = runnable[1:]
			if h.parts++; h.parts < parts {
				at := (now + m.waits/parts).Truncate(Interval)
				at = max(at, now+Interval)
				answers[at] = append(answers[at], h)
				continue
			}
			inside--
			done++
			load.In++
			load.Took += now - h.began + Interval
		}
		if len(runnable) == 0 {
			busy = 0
		}
		for ; inside < w.Logins() && left > 0; left-- {
			inside++
			runnable = append(runnable, &host{began: now})
		}
		peak = max(peak, inside)
		load.LoggingIn, load.Working, load.Waiting = inside, inside, left
		w.Observe(Sample{Lag: time.Duration(len(runnable)) * m.cpu / parts / time.Duration(m.processors), Load: load})
		load = Load{}
	}
	return now, peak
}
