package playbooks

import (
	"context"
	"errors"

	"github.com/ccm-push/ccm-push/playbooks/watch/watching"
)

// watchedAway has workers watch a host until stop ends, again and again. The end of ctx does not wait for them.
func (p *hostPlay) watchedAway(ctx, stop context.Context, orders <-chan WatchOrder, tell watching.Tell) {
	t := Turn{Request: WatchRequest{Orders: orders}, Host: p.state.host.Name, Play: p.of.number}
	for _, later := range p.state.plays[1:] {
		t.Later = append(t.Later, later.number)
	}
	watchAgain(stop, p.of.selection, p.state, tell, func() (stood bool, err error) {
		err = p.handOver(ctx, stop.Done(), t).err()
		if err == nil || errors.Is(err, errStopped) {
			err = errors.New("its worker does not watch it any more")
		}
		return false, err
	})
}

// WatchRequest watches the host, with all its plays, until the run is stopped.
type WatchRequest struct {
	// Orders are the repairs of the host. The worker receives them from its [Controller].
	Orders <-chan WatchOrder `json:"-"`
}

func (WatchRequest) do(ctx context.Context, p *hostPlay) (nothing, error) {
	watched, end := p.untilStopped(ctx)
	defer end()
	state, host := p.state, p.state.host.Name
	w := &watcher{fleet: p.fleet, state: state, plays: state.plays, orders: p.controller().Orders(host)}
	w.tell = func(ctx context.Context, n WatchNews) {
		n.Mask(p.runner.Options.Catalog.Mask)
		p.controller().tell(ctx, host, Watched{n})
	}
	w.run(ctx, watched)
	return nothing{}, &stoppedError{}
}
