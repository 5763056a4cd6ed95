package playbooks

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// compileFirst makes the catalogs of a batch before any is applied. It returns false
// if that has failed for a host: then nothing is applied on any. The catalogs are
// held until then, and as many connections as between plays.
func (f *fleet) compileFirst(ctx context.Context, s *selection, hosts []*inventory.Host) bool {
	f.each(ctx, hosts, false, func(state *hostState) { f.playOn(s, state).makeReady(ctx) })
	return f.allReady(s.play, f.failures(hosts), len(hosts))
}

// failures is how many of some hosts have failed.
func (f *fleet) failures(hosts []*inventory.Host) (failed int) {
	for _, h := range hosts {
		if f.failed(h) {
			failed++
		}
	}
	return failed
}

// A barrier holds the hosts of a batch at workers until all of them have been made ready.
type barrier struct {
	mu      sync.Mutex
	pending map[string]bool
	missing bool          // a host has ended without that
	open    chan struct{} // closed when none is pending
}

func newBarrier(hosts []*inventory.Host) *barrier {
	return &barrier{pending: setOf(names(hosts)), open: make(chan struct{})}
}

// ready says that a host has been made ready, or that it never will be: also of one that was ready at a worker that was lost.
func (b *barrier) ready(host string, missing bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.pending) == 0 {
		return
	}
	delete(b.pending, host)
	b.missing = b.missing || missing
	if len(b.pending) == 0 {
		close(b.open)
	}
}

// await waits for all hosts. The error is [context.Canceled] if one is missing: then nothing is applied.
func (b *barrier) await(ctx context.Context) error {
	select {
	case <-b.open:
	case <-ctx.Done():
		return ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.missing {
		return context.Canceled
	}
	return nil
}

// workReady has workers make a batch ready, and apply it once all of it is. It returns false if that has failed for a host.
func (f *fleet) workReady(ctx context.Context, s *selection, hosts []*inventory.Host, again bool) bool {
	f.barrier = newBarrier(hosts)
	f.each(ctx, hosts, again, func(state *hostState) {
		f.playOn(s, state).work(ctx)
		f.barrier.ready(state.host.Name, true)
	})
	if f.barrier.await(ctx) == nil {
		return true
	}
	f.allReady(s.play, f.failures(hosts), len(hosts))
	return false
}

// awaitOthers makes the host, of this worker, ready, and waits until all others of its batch are.
func (p *hostPlay) awaitOthers(ctx context.Context) error {
	if err := p.compileAhead(ctx); err != nil {
		return err
	}
	p.leave()
	began := p.runner.Now()
	_, err := p.asks.wait(ctx, p.state.host.Name, Question{Ready: true})
	p.state.idle += p.runner.Now().Sub(began)
	p.take()
	if errors.Is(err, context.Canceled) {
		return &stoppedError{}
	}
	return err
}

// allReady reports whether no host has failed, or else warns that the run ends.
func (f *fleet) allReady(play *manifest.Play, failed, hosts int) bool {
	if failed > 0 {
		f.runner.warn(fmt.Sprintf("play %q: %d of %d hosts could not be made ready; nothing was applied, and the run ends here", play.Name, failed, hosts))
	}
	return failed == 0
}

// makeReady makes the catalog of the host, and leaves it in its state.
func (p *hostPlay) makeReady(ctx context.Context) {
	start := p.runner.Now()
	p.take()
	if err := p.compileAhead(ctx); err != nil {
		p.ended(ctx, start, err)
		return
	}
	p.state.elapsed += p.runner.Now().Sub(start)
	p.leave()
}

// compileAhead makes the catalog, for compiled to give it.
func (p *hostPlay) compileAhead(ctx context.Context) (err error) {
	timed, done := p.runner.hostTime(ctx)
	defer done()
	p.state.compiled, err = p.compiled(timed)
	return late(timed, err)
}

// compiled has the host program at work, and gives the catalog: the one that was made
// before, or a new one.
func (p *hostPlay) compiled(ctx context.Context) (*catalog.Compiled, error) {
	if err := p.start(ctx); err != nil {
		return nil, err
	}
	state := p.state
	if made := state.compiled; made != nil {
		state.compiled = nil
		return made, nil
	}
	defer p.phase("compile", &state.phases.Compile)()
	state.activity.At("compiling")
	made, err := compile(ctx, p.of.compiler, state.host, p.program.facts)
	if err != nil {
		return nil, errors.Join(ctx.Err(), &phaseError{phase: "compile", err: err})
	}
	return made, nil
}
