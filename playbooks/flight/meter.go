package flight

import (
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// A Meter measures this process.
type Meter struct {
	samples   []metrics.Sample
	before    []uint64 // the histogram of scheduling latencies, at the sample before
	exhausted atomic.Bool
}

// The metrics of the runtime: how long goroutines that could run have waited for a processor, and
// what of the memory the system has given is in use.
const (
	latencies = "/sched/latencies:seconds"
	mapped    = "/memory/classes/total:bytes"
	released  = "/memory/classes/heap/released:bytes"
	liveHeap  = "/gc/heap/live:bytes"
	gcPercent = "/gc/gogc:percent"
)

// NewMeter begins to measure.
func NewMeter() *Meter {
	m := &Meter{samples: []metrics.Sample{{Name: latencies}, {Name: mapped}, {Name: released}, {Name: liveHeap}, {Name: gcPercent}}}
	m.read()
	return m
}

// Sample returns the measurements of this process since the last sample. late is its delay: the whole process may have
// waited.
func (m *Meter) Sample(late time.Duration) Sample {
	lag := m.read()
	return Sample{
		Lag: max(lag, late), Exhausted: m.exhausted.Swap(false),
		Memory: int64(m.samples[1].Value.Uint64() - m.samples[2].Value.Uint64()),
	}
}

// live returns the live size of the heap at its last collection, in bytes, and by how many percent it may grow until
// the next one.
func (m *Meter) live() (bytes int64, percent uint64) {
	return int64(m.samples[3].Value.Uint64()), m.samples[4].Value.Uint64()
}

// read reads the metrics, and returns the lag: nine of ten goroutines have waited less.
func (m *Meter) read() time.Duration {
	metrics.Read(m.samples)
	h := m.samples[0].Value.Float64Histogram()
	if m.before == nil {
		m.before = make([]uint64, len(h.Counts))
	}
	total := uint64(0)
	for i, n := range h.Counts {
		total += n - m.before[i]
	}
	lag, longer := time.Duration(0), uint64(0)
	for i := len(h.Counts) - 1; i >= 0; i-- {
		if longer += h.Counts[i] - m.before[i]; longer*10 > total {
			if i > 0 { // the first bucket begins with minus infinity
				lag = time.Duration(h.Buckets[i] * float64(time.Second))
			}
			break
		}
	}
	copy(m.before, h.Counts)
	return lag
}
