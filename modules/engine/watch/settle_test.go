package watch

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSettling(t *testing.T) {
	start := time.Unix(1000, 0)
	const s = time.Second
	for name, tc := range map[string]struct {
		pace  pace
		hints []time.Duration // after the start
		due   time.Duration
	}{
		"one hint":                 {pace{2 * s, 30 * s}, []time.Duration{0}, 2 * s},
		"a later one puts it off":  {pace{2 * s, 30 * s}, []time.Duration{0, s}, 3 * s},
		"but not for ever":         {pace{2 * s, 4 * s}, []time.Duration{0, s, 2 * s, 3 * s}, 4 * s},
		"not sooner than settle":   {pace{5 * s, s}, []time.Duration{0}, 5 * s},
		"nor later, if no time is": {pace{5 * s, s}, []time.Duration{0, s}, 5 * s},
		"at once":                  {pace{0, 0}, []time.Duration{s}, s},
	} {
		t.Run(name, func(t *testing.T) {
			h := hinted{}
			paceOf := func(int) pace { return tc.pace }
			for _, d := range tc.hints {
				h.hint(7, start.Add(d))
			}
			require.Equal(t, start.Add(tc.due), h.next(paceOf))
			require.Empty(t, h.take(start.Add(tc.due-1), paceOf))
			require.Equal(t, []int{7}, h.take(start.Add(tc.due), paceOf))
			require.Empty(t, h)
			require.True(t, h.next(paceOf).IsZero())
		})
	}
}

func TestSettlingIsOfEachEntry(t *testing.T) {
	start := time.Unix(1000, 0)
	paceOf := func(i int) pace { return pace{time.Duration(i) * time.Second, time.Minute} }
	h := hinted{}
	for _, i := range []int{1, 2, 3} {
		h.hint(i, start)
	}
	require.Equal(t, start.Add(time.Second), h.next(paceOf))
	due := h.take(start.Add(2*time.Second), paceOf)
	slices.Sort(due)
	require.Equal(t, []int{1, 2}, due)
	require.Contains(t, h, 3)
}

// TestPolling holds that every entry is polled once in its time, whatever that is, and that the
// host is not woken for each.
func TestPolling(t *testing.T) {
	start := time.Unix(1000, 0)
	for name, every := range map[string][]time.Duration{
		"a thousand": slices.Repeat([]time.Duration{10 * time.Minute}, 1000),
		"three":      {time.Minute, 2 * time.Minute, 10 * time.Minute},
		"one":        {time.Second},
		"none":       {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPolling(start, every)
			counts, wakes := make([]int, len(every)), 0
			last := slices.Max(every)
			for now := p.next(); !now.IsZero() && !now.After(start.Add(3*last)); now = p.next() {
				wakes++
				due := p.take(now)
				require.NotEmpty(t, due)
				for _, i := range due {
					counts[i]++
				}
				require.True(t, p.next().After(now))
			}
			for i, d := range every {
				if d == 0 {
					require.Zero(t, counts[i])
					continue
				}
				require.InDelta(t, 3*int(last/d), counts[i], 1, "entry %d", i)
			}
			if len(every) == 1000 {
				require.Less(t, wakes, 3*(together+2))
			}
		})
	}
}

func TestPollingAfterALongTime(t *testing.T) {
	start := time.Unix(1000, 0)
	p := newPolling(start, []time.Duration{time.Minute, time.Minute})
	now := start.Add(24 * time.Hour)
	require.Equal(t, []int{0, 1}, p.take(now))
	require.Empty(t, p.take(now), "once, however often it was its turn")
	require.True(t, p.next().After(now))
	require.False(t, p.next().After(now.Add(time.Minute)))
}
