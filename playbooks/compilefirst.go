package playbooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/manifest"
)

// compileFirst makes the catalogs of a batch before any is applied. It returns false
// if that has failed for a host: then nothing is applied on any. The catalogs are
// held until then, and as many connections as between plays.
func (f *fleet) compileFirst(ctx context.Context, s *selection, hosts []*inventory.Host) bool {
	f.each(ctx, hosts, false, func(state *hostState) { f.playOn(s.whole(), state).makeReady(ctx) })
	return f.allReady(s.play, f.failures(hosts), len(hosts))
}

// failures returns how many of some hosts have failed.
func (f *fleet) failures(hosts []*inventory.Host) (failed int) {
	for _, h := range hosts {
		if f.failed(h) {
			failed++
		}
	}
	return failed
}

// A barrier holds the hosts of a batch at workers until all of them have been compiled. Then they continue, as many at
// once as --forks allows.
type barrier struct {
	next func() // begins the next host, in the place of one that waits here
	most int    // hosts that continue at once; 0 means no limit

	mu      sync.Mutex
	pending map[string]bool
	missing bool                     // a host has ended without that
	over    bool                     // no other host is begun any more
	line    []string                 // hosts that wait
	may     map[string]chan struct{} // closed when the host does not wait any more
	going   map[string]bool          // hosts that continue
}

func newBarrier(hosts []*inventory.Host, most int) *barrier {
	b := &barrier{most: most, pending: setOf(names(hosts)), line: names(hosts), may: map[string]chan struct{}{}, going: map[string]bool{}}
	for _, name := range b.line {
		b.may[name] = make(chan struct{})
	}
	return b
}

// ready reports that a host has been compiled. While it waits, the next one is compiled.
func (b *barrier) ready(host string) {
	b.mu.Lock()
	first := b.pending[host]
	delete(b.pending, host)
	b.goOn()
	b.mu.Unlock()
	if first {
		b.next()
	}
}

// goOn lets hosts continue while there are places, with the lock held. If they must not continue, it ends all waits.
func (b *barrier) goOn() {
	for len(b.line) > 0 && len(b.pending) == 0 && (b.missing || b.over || b.most == 0 || len(b.going) < b.most) {
		b.release(b.line[0], !b.missing && !b.over)
	}
}

// release ends the wait of a host, which continues if goes is true, with the lock held.
func (b *barrier) release(host string, goes bool) {
	i := slices.Index(b.line, host)
	if i < 0 {
		return
	}
	b.line = slices.Delete(b.line, i, i+1)
	if goes {
		b.going[host] = true
	}
	close(b.may[host])
}

// ended reports that a host has ended; with over, no other host begins any more.
func (b *barrier) ended(host string, over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.missing = b.missing || len(b.pending) > 0
	b.release(host, false)
	delete(b.pending, host)
	delete(b.going, host)
	if b.over = b.over || over; b.over {
		clear(b.pending)
	}
	b.goOn()
}

// start lets a host continue that others wait for, in the place of one of them.
func (b *barrier) start(host string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.pending) == 0 {
		b.release(host, true)
	}
}

// await waits until a host may continue. The error is [context.Canceled] if it must not.
func (b *barrier) await(ctx context.Context, host string) error {
	select {
	case <-b.may[host]:
	case <-ctx.Done():
		return ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.going[host] {
		return context.Canceled
	}
	return nil
}

// lacks reports whether a host has ended without having been made ready.
func (b *barrier) lacks() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.missing
}

// workReady has workers make a batch ready, and apply it once all of it is. It returns false if that has failed for a host.
func (f *fleet) workReady(ctx context.Context, s *selection, hosts []*inventory.Host, again bool) bool {
	f.barrier = newBarrier(hosts, f.runner.Options.Forks)
	f.each(ctx, hosts, again, func(state *hostState) {
		f.playOn(s.whole(), state).work(ctx)
		f.barrier.ended(state.host.Name, f.fatal.Load())
	})
	if !f.barrier.lacks() && ctx.Err() == nil {
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
	_, err := send(ctx, p.controller().wait(), p.state.host.Name, Ready{})
	p.state.times.idle += p.runner.Now().Sub(began)
	p.take()
	if errors.Is(err, context.Canceled) {
		return &stoppedError{}
	}
	return err
}

// allReady reports whether no host has failed, or else warns that the run ends.
func (f *fleet) allReady(play *manifest.Play, failed, hosts int) bool {
	if failed > 0 {
		f.runner.warn(fmt.Sprintf("play %q: %d of %d hosts could not be prepared; nothing was applied, and the run ends here", play.Name, failed, hosts))
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
	p.state.times.elapsed += p.runner.Now().Sub(start)
	p.leave()
}

// compileAhead makes the catalog, for compiled to give it.
func (p *hostPlay) compileAhead(ctx context.Context) (err error) {
	timed, done := p.runner.hostTime(ctx)
	defer done()
	p.state.compiled, err = p.compiled(timed)
	return late(timed, err)
}

// compiled starts the host program, and returns the catalog: the catalog that was compiled before, or else a new one.
func (p *hostPlay) compiled(ctx context.Context) (*catalog.Compiled, error) {
	if err := p.start(ctx); err != nil {
		return nil, err
	}
	state := p.state
	if made := state.compiled; made != nil {
		state.compiled = nil
		return made, nil
	}
	defer p.phase("compile", &state.times.phases.Compile)()
	if made := p.of.kept.take(p.of.compiler, state.host); made != nil {
		return made, nil
	}
	state.activity.At("compiling")
	made, err := compile(ctx, p.of.compiler, state.host, p.program.facts)
	if err != nil {
		return nil, errors.Join(ctx.Err(), &phaseError{phase: "compile", err: err})
	}
	return made, nil
}
