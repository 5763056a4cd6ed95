package engine

import (
	"context"
	"sync/atomic"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/engine/schedule"
)

// A realHost is the host of a run, with the results of preloading.
type realHost struct {
	host     modules.Host
	preloads preloads
	changes  atomic.Int64 // counts what may have changed the host; see job.stable
	// scheduler runs jobs in parallel, and releases its lock while a job works on the host only. nil runs them in
	// order.
	scheduler *schedule.Scheduler
}

// newRealHost is the host before the first job. state is its State.
func newRealHost(host modules.Host, state func(ref string) (modules.State, bool)) *realHost {
	host.State = state
	return &realHost{host: host, preloads: preloads{}}
}

// present is the Host that Check sees in an applying run: the real one, as it is.
func (h *realHost) present(report modules.Reporter) modules.Host {
	seen := modules.ReadOnly(h.host)
	seen.Report = report
	seen.Commands = probing{seen.Commands, &h.changes}
	return seen
}

// outside has f work on the host, while others touch the run.
func (h *realHost) outside(f func()) { h.scheduler.Outside(f) }

// change has f change the host. While it does, nothing that is found out holds for
// others: it may be half done.
func (h *realHost) change(f func()) {
	h.forget()
	if h.scheduler == nil {
		f()
		return
	}
	h.scheduler.Change(f)
	h.forget()
}

// forget drops preloaded data before the host changes.
func (h *realHost) forget() {
	h.preloads.drop()
	h.changes.Add(1)
}

// preloads hold the preloaded data of types, by name of the type.
type preloads map[string]*preload

// A preload holds the data of one type.
type preload struct {
	asked  bool
	answer any // nil: nothing
	// singly makes the next resource query alone. After an Apply that is cheaper: if the next resource is applied, too,
	// the data for the others would be useless.
	singly bool
	drops  int // how often it was dropped
}

// drop forgets everything, since something is about to change the host.
func (p preloads) drop() {
	for _, of := range p {
		*of = preload{singly: true, drops: of.drops + 1}
	}
}

func (p preloads) of(typ string) *preload {
	if p[typ] == nil {
		p[typ] = &preload{}
	}
	return p[typ]
}

// probing are commands of a Check. They should only look, which is not certain.
type probing struct {
	modules.Commands
	changes *atomic.Int64
}

// Probe implements [modules.Commands].
func (p probing) Probe(ctx context.Context, c modules.Command) (modules.Exit, error) {
	p.changes.Add(1)
	return p.Commands.Probe(ctx, c)
}
