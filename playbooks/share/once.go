package share

import (
	"context"
	"slices"
	"sync"

	"github.com/ccm-push/ccm-push/modules/wire"
)

// Once has the resources of a batch that run on one of its hosts: the first that has them and reaches them. The other
// hosts wait for the result.
type Once struct {
	waits *Waits

	mu      sync.Mutex
	hosts   []string // hosts of the batch, in order
	here    map[string]*onceHost
	runs    map[string]*onceRun
	changed chan struct{}     // closed, and replaced, when something here changes
	start   func(host string) // begins a host of the batch at once
}

// A onceHost is the state of a host of the batch.
type onceHost struct {
	compiled, over bool
	lost           bool            // its end is not known: a resource that it began may still run
	has            map[string]bool // resources that it has, and that are not excluded
}

// A onceRun is one resource. It has a result once it has run.
type onceRun struct {
	passed map[string]bool // hosts that have skipped it
	host   string          // host that runs it, or has run it; empty means not known yet
	began  bool            // host has received the order to run it, or may have
	result *wire.Result
}

// NewOnce returns the Once of a run; waits has the waits between its hosts.
func NewOnce(waits *Waits) *Once { return &Once{waits: waits, changed: make(chan struct{})} }

// Begin begins a batch. again is set if it has the same hosts as the batch before, in two parts: resources that have
// run for that one do not run again.
func (o *Once) Begin(hosts []string, again bool, start func(host string)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, run := range o.runs {
		if run.result == nil && !o.isLost(run) { // its host has ended without beginning it
			run.host, run.began = "", false
		}
	}
	o.hosts, o.start, o.here = hosts, start, map[string]*onceHost{}
	if !again {
		o.runs = map[string]*onceRun{}
	}
	for _, h := range hosts {
		o.here[h] = &onceHost{}
	}
}

// Compiled records which of these resources a host has.
func (o *Once) Compiled(host string, has map[string]bool) {
	o.tell(func() {
		if h := o.here[host]; h != nil { // else it is only looked at
			h.compiled, h.has = true, has
		}
	})
}

// Over records that a host is done with the play, or will never begin it. If it was lost, a resource that it began may
// still run there: its outcome is unknown, for all hosts.
func (o *Once) Over(host string, lost bool) {
	o.tell(func() {
		if h := o.here[host]; h != nil {
			h.over, h.lost = true, lost
		}
	})
}

// Began records that a resource began on a host in the run that this one resumes, which does not know its outcome. No
// other host runs it.
func (o *Once) Began(host, resource string) {
	o.tell(func() {
		if run := o.run(resource); run.result == nil {
			run.host, run.began = host, true
		}
	})
}

// Ended records the result of a resource on the host that runs it. A skipped one is left to the next host.
func (o *Once) Ended(host, resource string, result *wire.Result) {
	o.tell(func() {
		if run := o.run(resource); result.Status == wire.Skipped {
			run.passed[host] = true
		} else if run.result == nil {
			run.host, run.result = host, result
		}
	})
}

func (o *Once) tell(do func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	do()
	close(o.changed)
	o.changed = make(chan struct{})
}

func (o *Once) run(resource string) *onceRun {
	run := o.runs[resource]
	if run == nil {
		run = &onceRun{passed: map[string]bool{}}
		o.runs[resource] = run
	}
	return run
}

// Await waits for the result of a resource, and returns where it ran; result is nil if the calling host has to run it.
// The wait ends with ctx, and is refused if it would close a circle of waiting hosts.
func (o *Once) Await(ctx context.Context, host, resource string) (on string, result *wire.Result, err error) {
	for {
		o.mu.Lock()
		run, changed, start := o.run(resource), o.changed, o.start
		first := o.first(run, resource)
		if run.result == nil && o.isLost(run) {
			run.result = &wire.Result{Status: wire.Failed, Unknown: true, Error: run.host + " was lost after it had begun this, and has not reported the outcome"}
		}
		if first == host && run.result == nil {
			run.host, run.began = host, true
		}
		on, result = run.host, run.result
		o.mu.Unlock()
		switch {
		case result != nil:
			return on, result, nil
		case first == host:
			return "", nil, nil
		}
		end, err := o.waits.begin(wait{host, first, true})
		if err != nil {
			return "", nil, err
		}
		start(first)
		select {
		case <-changed:
			end()
		case <-ctx.Done():
			end()
			return "", nil, ctx.Err()
		}
	}
}

// isLost reports whether the host that had begun a resource will not report its outcome.
func (o *Once) isLost(run *onceRun) bool {
	if !run.began || run.passed[run.host] {
		return false
	}
	h := o.here[run.host]
	return h == nil || h.over && h.lost
}

// first returns the host that runs a resource, as far as that is known. The choice does not change, even if another
// host has the resource in a later stage.
func (o *Once) first(run *onceRun, resource string) string {
	if h := o.here[run.host]; h != nil && !h.over && !run.passed[run.host] {
		return run.host
	}
	i := slices.IndexFunc(o.hosts, func(name string) bool {
		h := o.here[name]
		return !h.over && !run.passed[name] && (!h.compiled || h.has[resource])
	})
	return o.hosts[max(0, i)]
}
