package playbooks

import (
	"context"
	"errors"

	"github.com/ccm-push/ccm-push/playbooks/watch/watching"
)

// watchedAway has workers watch a host until stop ends, again and again. The end of ctx does not wait for them.
func (p *hostPlay) watchedAway(ctx, stop context.Context, orders <-chan WatchOrder, tell watching.Tell) {
	t := Turn{Kind: WatchTurn, Host: p.state.host.Name, Play: p.of.number, Orders: orders}
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

// watchedHere watches a host of this worker until it is stopped.
func (p *hostPlay) watchedHere(ctx context.Context) error {
	watched, end := p.untilStopped(ctx)
	defer end()
	state, host := p.state, p.state.host.Name
	w := &watcher{fleet: p.fleet, state: state, plays: state.plays, orders: p.runner.Orders(host)}
	w.tell = func(ctx context.Context, n WatchNews) {
		n.Mask(p.runner.Options.Catalog.Mask)
		p.asks.tell(ctx, host, Question{Watched: &n})
	}
	w.run(ctx, watched)
	return &stoppedError{}
}
