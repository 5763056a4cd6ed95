package workers

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"time"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/reach"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

const (
	// minShard and maxShard bound how many hosts a shard has, and shardsWanted is into how many the hosts
	// of a run are cut.
	minShard     = 32
	maxShard     = 256
	shardsWanted = 16
	gatherTime   = 20 * time.Millisecond
	// ticketTime is how long a ticket is good for, unless the queue forgets it before.
	ticketTime = queue.KeptTime
)

// A gathering is hosts that are put together in a shard.
type gathering struct {
	turns []*turn
	timer *time.Timer
}

// A shard is hosts of one play and one site.
type shard struct {
	id      string
	site    string
	turns   map[string]*turn // that have not ended
	until   time.Time        // what its ticket says
	taken   int              // how often it was handed out
	current *handed          // who has it; nil is nobody
	lost    bool             // since that one was lost
	last    *handed          // the worker that was lost
	since   time.Time        // when it began to wait
}

// gather puts a host together with others of its site that begin at the same time.
func (c *Coordinator) gather(ctx context.Context, t *turn) {
	site, err := c.siteOf(t.Host)
	if err != nil {
		t.ended <- c.failed(t.Turn, "start", err.Error(), "")
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		t.ended <- playbooks.TurnEnd{Stopped: true}
		return
	}
	g := c.waiting[site]
	if g == nil {
		g = &gathering{}
		c.waiting[site] = g
		g.timer = time.AfterFunc(cmp.Or(c.gathers, gatherTime), func() { c.cut(context.WithoutCancel(ctx), site) })
	} else {
		g.timer.Reset(cmp.Or(c.gathers, gatherTime))
	}
	g.turns = append(g.turns, t)
}

// siteOf gives the site of a host; "" is none. The error is why no worker can reach it.
func (c *Coordinator) siteOf(name string) (string, error) {
	h := c.Runner.Inventory.Host(name)
	target, err := c.Runner.Connect.Target(c.Runner.Inventory, h, h.Connection())
	if err != nil {
		return "", err
	}
	if _, err := reach.NewWireTarget(target); err != nil {
		return "", err
	}
	return c.site(name), nil
}

// site is what the inventory says of the site of a host.
func (c *Coordinator) site(name string) string {
	return playbooks.SiteOf(c.Runner.Inventory.Host(name))
}

// shardSize is how many hosts a shard of so many has.
func (c *Coordinator) shardSize(hosts int) int {
	return cmp.Or(c.Size, min(max((hosts+shardsWanted-1)/shardsWanted, minShard), maxShard))
}

// cut makes shards of the hosts of a site that have come together, and has tickets for them wait.
func (c *Coordinator) cut(ctx context.Context, site string) {
	c.mu.Lock()
	g := c.waiting[site]
	if g == nil { // the timer was set anew when it had just gone off
		c.mu.Unlock()
		return
	}
	turns := g.turns
	delete(c.waiting, site)
	if c.stopped {
		for _, t := range turns {
			t.ended <- playbooks.TurnEnd{Stopped: true}
		}
		turns = nil
	}
	byPlay := map[int][]*turn{}
	for _, t := range turns {
		byPlay[t.Play] = append(byPlay[t.Play], t)
	}
	var shards []*shard
	for _, turns := range byPlay {
		for some := range slices.Chunk(turns, c.shardSize(len(turns))) {
			s := &shard{id: rand.Text(), site: site, since: time.Now(), turns: map[string]*turn{}}
			for _, t := range some {
				s.turns[t.Host] = t
				t.waits(site)
			}
			shards = append(shards, s)
			c.shards[s.id] = s
		}
	}
	c.mu.Unlock()
	for _, s := range shards {
		if err := c.submit(ctx, s); err != nil {
			c.fail(s, err.Error())
			continue
		}
	}
}

// submit has a ticket for a shard wait.
func (c *Coordinator) submit(ctx context.Context, s *shard) error {
	until := time.Now().Add(ticketTime)
	c.mu.Lock()
	s.until = until
	c.mu.Unlock()
	text, err := sign(c.Key, ticketKind, ticket{Run: c.name, Shard: s.id, Until: until, Stamp: c.stamp()})
	if err != nil {
		return err
	}
	return c.run.Submit(ctx, s.site, text)
}

// resubmit has shards that nobody has get other tickets before the queue forgets theirs.
func (c *Coordinator) resubmit(ctx context.Context, now time.Time) {
	c.mu.Lock()
	var old []*shard
	for _, s := range c.shards {
		if s.current == nil && !s.until.IsZero() && s.until.Sub(now) < ticketTime/2 && !c.stopped {
			old = append(old, s)
		}
	}
	c.mu.Unlock()
	for _, s := range old {
		c.warnOf(c.submit(ctx, s))
	}
}
