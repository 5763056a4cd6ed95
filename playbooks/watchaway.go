package playbooks

import (
	"context"
	"errors"

	"github.com/ccm-push/ccm-push/playbooks/secret"
	"github.com/ccm-push/ccm-push/playbooks/watch"
)

// tellOf gives what takes in what a host says, as long as hosts are watched.
func (w *watching) tellOf(h *watchedHost) func(context.Context, WatchNews) {
	return func(ctx context.Context, n WatchNews) {
		select {
		case w.news <- hostNews{h, n}:
		case <-ctx.Done():
		case <-w.gone:
		}
	}
}

// watchedAway has workers watch a host until stop ends, again and again. The end of ctx does not wait for them.
func (p *hostPlay) watchedAway(ctx, stop context.Context, orders <-chan WatchOrder, tell func(context.Context, WatchNews)) {
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
		n.mask(p.runner.Options.Catalog.Mask)
		p.asks.tell(ctx, host, Question{Watched: &n})
	}
	w.run(ctx, watched)
	return &stoppedError{}
}

// mask takes secrets out of what a host says.
func (n *WatchNews) mask(m *secret.Mask) {
	var verdicts []WatchVerdict
	switch {
	case n.Stood != nil:
		verdicts = n.Stood.Verdicts
	case n.Told != nil:
		verdicts = n.Told.Verdicts
	case n.Mended != nil:
		for i := range n.Mended.Failed {
			n.Mended.Failed[i].Error = m.Text(n.Mended.Failed[i].Error)
		}
		for i := range n.Mended.Found {
			maskVerdict(&n.Mended.Found[i].Verdict, m)
		}
	}
	for i := range verdicts {
		maskVerdict(&verdicts[i].Verdict, m)
	}
}

func maskVerdict(v *watch.Verdict, m *secret.Mask) {
	v.Message, v.Error = m.Text(v.Message), m.Text(v.Error)
	for i := range v.Changes {
		c := &v.Changes[i]
		c.From, c.To = m.Text(c.From), m.Text(c.To)
	}
}
