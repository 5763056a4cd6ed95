package workers

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

const (
	// minShard and maxShard bound the hosts of a shard, and shardsWanted is the wanted number of shards of a run.
	minShard     = 32
	maxShard     = 256
	shardsWanted = 16
	gatherTime   = 20 * time.Millisecond
	// ticketTime is the validity of a ticket. The queue may forget it earlier.
	ticketTime = queue.KeptTime
)

// An intake gathers the hosts that begin together, cuts them into shards, and submits a ticket for each shard.
type intake struct {
	post   *post
	ledger *ledger
	routes *routes
	warn   func(string)
	size   int           // limit of the hosts of a shard; 0 derives it from the number of hosts
	wait   time.Duration // time for hosts that begin together

	mu      sync.Mutex // locked before the lock of the ledger
	waiting map[string]*gathering
}

// A gathering is hosts of one site that will be cut into shards.
type gathering struct {
	turns []*turn
	timer *time.Timer
}

// gather adds a host to the hosts of its site that begin at the same time.
func (n *intake) gather(ctx context.Context, t *turn) {
	site, err := n.routes.reachable(t.Host)
	if err != nil {
		t.ended <- n.ledger.failure(t.Turn, "start", err.Error(), "")
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ledger.isStopped() {
		t.ended <- notBegun(t.Turn)
		return
	}
	g := n.waiting[site]
	if g == nil {
		g = &gathering{}
		n.waiting[site] = g
		g.timer = time.AfterFunc(n.wait, func() { n.cut(context.WithoutCancel(ctx), site) })
	} else {
		g.timer.Reset(n.wait)
	}
	g.turns = append(g.turns, t)
}

// cut makes shards of the gathered hosts of a site, and submits their tickets.
func (n *intake) cut(ctx context.Context, site string) {
	for _, s := range n.take(site) {
		if err := n.submit(ctx, s); err != nil {
			n.ledger.fail(s, err.Error())
		}
	}
}

// take moves the gathered hosts of a site into the ledger, and returns their shards.
func (n *intake) take(site string) (shards []*shard) {
	n.mu.Lock()
	defer n.mu.Unlock()
	g := n.waiting[site]
	if g == nil { // the timer was reset just after it had fired
		return nil
	}
	delete(n.waiting, site)
	byPlay := map[int][]*turn{}
	for _, t := range g.turns {
		byPlay[t.Play] = append(byPlay[t.Play], t)
	}
	n.ledger.mu.Lock()
	defer n.ledger.mu.Unlock()
	if n.ledger.stopped {
		g.cancel()
		return nil
	}
	for _, turns := range byPlay {
		for some := range slices.Chunk(turns, n.shardSize(len(turns))) {
			s := &shard{id: rand.Text(), site: site, since: time.Now(), turns: map[string]*turn{}}
			for _, t := range some {
				s.turns[t.Host] = t
				t.waits(site)
			}
			shards = append(shards, s)
			n.ledger.shards[s.id] = s
		}
	}
	return shards
}

// cancel ends the hosts of a gathering: none of them has begun.
func (g *gathering) cancel() {
	for _, t := range g.turns {
		t.ended <- notBegun(t.Turn)
	}
}

// shardSize returns the limit of the hosts of a shard.
func (n *intake) shardSize(hosts int) int {
	return cmp.Or(n.size, min(max((hosts+shardsWanted-1)/shardsWanted, minShard), maxShard))
}

// submit submits a new ticket for a shard.
func (n *intake) submit(ctx context.Context, s *shard) error {
	until := time.Now().Add(ticketTime)
	n.ledger.mu.Lock()
	s.until = until
	n.ledger.mu.Unlock()
	return n.post.submit(ctx, s.site, s.id, until)
}

// renewTickets submits new tickets for shards that have no worker, before the queue forgets the old ones.
func (n *intake) renewTickets(ctx context.Context, now time.Time) {
	if n.ledger.isStopped() {
		return
	}
	var old []*shard
	n.ledger.each(func(s *shard) {
		if s.current == nil && !s.until.IsZero() && s.until.Sub(now) < ticketTime/2 {
			old = append(old, s)
		}
	})
	for _, s := range old {
		warnOf(n.warn, n.submit(ctx, s))
	}
}

// untaken returns the sites with hosts that no worker has ever taken.
func (n *intake) untaken() map[string]bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	sites := map[string]bool{}
	for site := range n.waiting {
		sites[site] = true
	}
	n.ledger.each(func(s *shard) {
		if s.taken == 0 {
			sites[s.site] = true
		}
	})
	return sites
}

// cancelAll ends all unfinished hosts. A worker that has one of them may continue, but its report is ignored.
func (n *intake) cancelAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for site, g := range n.waiting {
		g.timer.Stop()
		g.cancel()
		delete(n.waiting, site)
	}
	n.ledger.each(func(s *shard) { n.ledger.finish(s, notBegun) })
}
