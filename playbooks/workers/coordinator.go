package workers

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

// A Coordinator has workers work on the hosts of one run. It implements [playbooks.Workers].
type Coordinator struct {
	Queue   queue.Queue
	Key     Key     // by which workers know it
	Workers Keyring // who may get hosts
	Recipe  Recipe
	Runner  *playbooks.Runner // of the run; what happens is reported to its events
	// Certify certifies a worker's key of the run for accounts.
	Certify func(ctx context.Context, sshKey []byte, accounts []string, jumps bool) (certificate []byte, valid time.Duration, err error)
	Warn    func(text string)
	// Size is how many hosts a shard has at most; 0 is as many as are right for so many hosts.
	Size int
	// Share has others able to go on with the run, of which the queue has a name; what it gives is closed
	// when somebody has. nil is that nobody can.
	Share func(ctx context.Context, name string) (lost <-chan struct{}, err error)

	run  queue.Run
	name string          // of the run in the queue
	lost <-chan struct{} // closed when the run is gone on with elsewhere; nil never is

	stopping, killing sync.Once
	halting           sync.Once
	halted            chan struct{} // closed when no more hosts can be handed out
	hearing           sync.WaitGroup
	answering         sync.WaitGroup
	gone              chan struct{} // closed when nothing is heard any more

	making sync.Mutex // one content of the run, or certificate, at a time
	whole  *runContent
	runs   map[string]*object // run contents, by the key that they are sealed to
	certs  map[string]certificate

	mu       sync.Mutex
	gathers  time.Duration         // how long hosts that begin together take to come together; 0 is gatherTime
	unheard  time.Duration         // how long a worker that watches hosts may be silent; 0 is unheardTime
	waiting  map[string]*gathering // by site
	shards   map[string]*shard     // that have not ended
	handed   map[handout]*handed
	told     map[toldOf]*told
	asked    map[[sha256.Size]byte]*askedTicket // by the question
	stopped  bool
	reminded map[string]bool // sites of which it was said that hosts wait
	err      error           // why nothing is heard any more
	// authority has signed the certificates of workers; uncertified is why it did not sign the first one.
	authority   ssh.PublicKey
	uncertified error
}

type toldOf struct {
	host string
	play int
	kind playbooks.TurnKind
}

// A gathering is hosts that are put together in a shard.
type gathering struct {
	turns []*turn
	timer *time.Timer
}

// A turn is a host that is waited for.
type turn struct {
	playbooks.Turn
	answer func(playbooks.Question) playbooks.Answer
	ended  chan playbooks.TurnEnd // gets one
}

// A shard is hosts of one play and one site.
type shard struct {
	id        string
	site      string
	turns     map[string]*turn // that have not ended
	submitted time.Time        // its ticket
	taken     int              // how often it was handed out
	current   *handed          // who has it; nil is nobody
	lost      bool             // since that one was lost
}

// handed is a shard at one worker.
type handed struct {
	shard  *shard
	reader *frameReader
	worker string
	sshKey []byte // of the worker, for this run
	certified
	asks    questions
	errands *errands
}

const (
	// minShard and maxShard bound how many hosts a shard has, and shardsWanted is into how many the hosts
	// of a run are cut.
	minShard     = 32
	maxShard     = 256
	shardsWanted = 16
	gatherTime   = 20 * time.Millisecond
	// unheeded is when it is said that no worker has taken a shard.
	unheeded = 15 * time.Second
	// ticketTime is how long a ticket is good for, unless the queue forgets it before.
	ticketTime = queue.KeptTime
	// killTime is how long workers have, after a kill, to say how hosts have ended.
	killTime = 20 * time.Second
	// closeTime is how long it may take to delete what there is of the run.
	closeTime = 20 * time.Second
)

// Begin opens the run in the queue. [Coordinator.Close] has to be called behind it.
func (c *Coordinator) Begin(ctx context.Context) error {
	var name [16]byte
	_, _ = rand.Read(name[:]) // it never fails
	c.name = hex.EncodeToString(name[:])
	c.waiting, c.shards, c.handed = map[string]*gathering{}, map[string]*shard{}, map[handout]*handed{}
	c.asked = map[[sha256.Size]byte]*askedTicket{}
	c.runs, c.certs, c.told, c.gone, c.halted = map[string]*object{}, map[string]certificate{}, map[toldOf]*told{}, make(chan struct{}), make(chan struct{})
	run, err := c.Queue.Open(ctx, c.name)
	if err != nil {
		return err
	}
	c.run = run
	if c.Share != nil {
		if c.lost, err = c.Share(ctx, c.name); err != nil {
			return errors.Join(err, c.delete(ctx))
		}
	}
	if err := run.Answer(context.WithoutCancel(ctx), c.answer); err != nil {
		return errors.Join(err, c.delete(ctx))
	}
	// What hosts do is heard to the end, also when they are killed.
	c.hearing.Go(func() { c.hear(context.WithoutCancel(ctx)) })
	return nil
}

// Halted is closed when the run has to stop, once it has begun: keys of workers are not certified any more.
func (c *Coordinator) Halted() <-chan struct{} { return c.halted }

// Close deletes what there is of the run.
func (c *Coordinator) Close(ctx context.Context) error {
	err := c.delete(ctx)
	c.hearing.Wait()
	c.answering.Wait()
	return err
}

func (c *Coordinator) delete(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	return c.run.Close(ctx)
}

// Take implements [playbooks.Workers].
func (c *Coordinator) Take(ctx context.Context, stop <-chan struct{}, t playbooks.Turn, answer func(playbooks.Question) playbooks.Answer) playbooks.TurnEnd {
	one := &turn{t, answer, make(chan playbooks.TurnEnd, 1)}
	c.gather(ctx, one)
	end := c.await(ctx, one, stop, nil)
	if end == nil && ctx.Err() == nil {
		c.stopping.Do(func() { c.stop(ctx) })
		var late <-chan time.Time
		if watches(t) { // nothing of it is lost if nobody says how it has ended
			late = time.After(killTime)
		}
		if end = c.await(ctx, one, nil, late); end == nil && ctx.Err() == nil {
			return playbooks.TurnEnd{Stopped: true}
		}
	}
	if end == nil {
		c.killing.Do(func() {
			c.stopping.Do(func() { c.stop(ctx) })
			c.order(ctx, order{Kill: true})
		})
		end = c.await(context.WithoutCancel(ctx), one, nil, time.After(killTime))
	}
	if end == nil {
		return c.notHeard(t)
	}
	return *end
}

// await waits for the end of a turn. It is nil if something else ends the waiting: ctx, the first signal on stop, or that it is late.
func (c *Coordinator) await(ctx context.Context, t *turn, stop <-chan struct{}, late <-chan time.Time) *playbooks.TurnEnd {
	var end playbooks.TurnEnd
	for {
		select {
		case end = <-t.ended:
		case <-c.gone:
			end = c.notHeard(t.Turn)
		case <-c.lost:
			end = c.elsewhere(ctx)
		case o := <-t.Orders:
			c.send(t.Host, o)
			continue
		case <-stop:
			return nil
		case <-ctx.Done():
			return nil
		case <-late:
			return nil
		}
		return &end
	}
}

// elsewhere is the end of a host of which others tell from now on: the run is gone on with elsewhere.
func (c *Coordinator) elsewhere(ctx context.Context) playbooks.TurnEnd {
	c.stopping.Do(func() { c.stop(ctx) })
	return playbooks.TurnEnd{Begun: true, Stopped: true}
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

// siteVariable is the variable of the inventory that says of which site a host is.
const siteVariable = "site"

// siteOf gives the site of a host; "" is none. The error is why no worker can reach it.
func (c *Coordinator) siteOf(name string) (string, error) {
	h := c.Runner.Inventory.Host(name)
	target, err := c.Runner.Connect.Target(c.Runner.Inventory, h, h.Connection())
	if err != nil {
		return "", err
	}
	for _, t := range append(slices.Clone(target.Jump), target) {
		switch {
		case t.Local:
			return "", fmt.Errorf("%s is the controller itself, which no worker reaches", t.Host)
		case t.ProxyCommand != "":
			return "", fmt.Errorf("%s is reached by a program of this machine (ProxyCommand), which workers do not have", t.Host)
		}
	}
	return c.site(name), nil
}

// site is what the inventory says of the site of a host.
func (c *Coordinator) site(name string) string {
	site, _ := c.Runner.Inventory.Host(name).Vars()[siteVariable].(string)
	return site
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
			s := &shard{id: rand.Text(), site: site, turns: map[string]*turn{}}
			for _, t := range some {
				s.turns[t.Host] = t
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
		time.AfterFunc(unheeded, func() { c.remind(s) })
	}
}

// submit has a ticket for a shard wait.
func (c *Coordinator) submit(ctx context.Context, s *shard) error {
	now := time.Now()
	c.mu.Lock()
	s.submitted = now
	c.mu.Unlock()
	text, err := sign(c.Key, ticketKind, ticket{Run: c.name, Shard: s.id, Until: now.Add(ticketTime)})
	if err != nil {
		return err
	}
	return c.run.Submit(ctx, s.site, text)
}

// remind says that no worker has taken a shard.
func (c *Coordinator) remind(s *shard) {
	c.mu.Lock()
	waits := c.shards[s.id] != nil && s.taken == 0 && !c.reminded[s.site]
	if waits {
		if c.reminded == nil {
			c.reminded = map[string]bool{}
		}
		c.reminded[s.site] = true
	}
	c.mu.Unlock()
	if !waits {
		return
	}
	of, flag := "", ""
	if s.site != "" {
		of, flag = fmt.Sprintf(" of the site %q", s.site), " --site "+s.site
	}
	c.Warn(fmt.Sprintf("hosts%s wait, and no worker has taken them yet: ccm-push worker --workers URL%s takes them", of, flag))
}

// failed is the end of a host that failed as a whole.
func (c *Coordinator) failed(t playbooks.Turn, phase, why, hint string) playbooks.TurnEnd {
	e := events.HostFailed{Host: t.Host, Phase: phase, Error: why, Hint: hint}
	if len(c.Runner.Plays) > 0 { // else it is asked something
		e.Play = c.Runner.Plays[t.Play].Name
	}
	return playbooks.TurnEnd{Begun: true, Failure: &events.Carried{Event: e}}
}

// notHeard is the end of a host of which no worker has said how it ended.
func (c *Coordinator) notHeard(t playbooks.Turn) playbooks.TurnEnd {
	c.mu.Lock()
	defer c.mu.Unlock()
	why := "its worker has not said how it ended"
	if c.err != nil {
		why += ": " + c.err.Error()
	}
	return c.failed(t, "lost", why, "the next run tells what was done there")
}

// fail has all hosts of a shard fail that have not ended.
func (c *Coordinator) fail(s *shard, why string) { c.failAll(s, "start", why, "") }

// lose has them fail since their worker was lost, and what it did is known to nobody.
func (c *Coordinator) lose(s *shard) {
	c.failAll(s, "lost", "its worker was lost, and the command may have run", "look at the host before it is run again")
}

func (c *Coordinator) failAll(s *shard, phase, why, hint string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for host, t := range s.turns {
		t.ended <- c.failed(t.Turn, phase, why, hint)
		delete(s.turns, host)
	}
	delete(c.shards, s.id)
}

// stop takes back what no worker has, and tells workers to stop after what is running.
func (c *Coordinator) stop(ctx context.Context) {
	c.mu.Lock()
	c.stopped = true
	for id, s := range c.shards {
		if s.taken > 0 && !s.lost {
			continue
		}
		for _, t := range s.turns {
			t.ended <- playbooks.TurnEnd{Stopped: true}
		}
		clear(s.turns)
		delete(c.shards, id)
	}
	c.mu.Unlock()
	timed, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	if err := c.run.Withdraw(timed); err != nil {
		c.Warn(err.Error())
	}
	c.order(ctx, order{Stop: true})
}

func (c *Coordinator) order(ctx context.Context, o order) {
	o.Run = c.name
	timed, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	text, err := sign(c.Key, orderKind, o)
	if err == nil {
		err = c.run.Order(timed, text)
	}
	if err != nil {
		c.Warn(err.Error())
	}
}

// hear takes what workers say until the run is closed.
func (c *Coordinator) hear(ctx context.Context) {
	defer close(c.gone)
	for {
		frame, err := c.run.Said(ctx)
		if err != nil {
			c.mu.Lock()
			c.err = err
			c.mu.Unlock()
			return
		}
		if err := c.heard(ctx, frame); err != nil {
			c.Warn(err.Error())
		}
	}
}

// heard takes a frame. Those of nobody who was handed anything are left out.
func (c *Coordinator) heard(ctx context.Context, frame []byte) error {
	if c.lost != nil && closed(c.lost) { // others tell
		return nil
	}
	of, ok := handoutOf(frame)
	c.mu.Lock()
	h := c.handed[of]
	c.mu.Unlock()
	if !ok || h == nil {
		return nil
	}
	text, err := h.reader.read(frame)
	if err != nil || text == nil {
		return err
	}
	var s said
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("the worker %s: %w", h.worker, err)
	}
	for _, w := range s.Warnings {
		c.Warn(w)
	}
	if all := c.untold(c.news(h, s.Events)); len(all) > 0 {
		c.register(ctx, h, all)
		c.Runner.Events.Report(all...)
	}
	if s.Failed != "" && c.has(h) {
		c.fail(h.shard, fmt.Sprintf("the worker %s: %s", h.worker, s.Failed))
	}
	c.ends(h, s)
	if s.Over {
		c.left(h)
	}
	return nil
}

// untold leaves out what hosts tell of earlier runs and is known here to have been told: workers do not know that.
func (c *Coordinator) untold(list []events.Event) (all []events.Event) {
	for _, e := range list {
		left := true
		if u, is := e.(events.Untold); is {
			e, left = c.Runner.Untold(u)
		}
		if left {
			all = append(all, e)
		}
	}
	return all
}

// has reports whether a worker has its hosts still: no other one has been given them.
func (c *Coordinator) has(h *handed) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return h.shard.current == h
}

// news are those of events that have not been told.
func (c *Coordinator) news(h *handed, list []events.Carried) (all []events.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range list {
		host := events.HostOf(one.Event)
		t := h.shard.turns[host]
		if t == nil { // it has ended, and told all
			continue
		}
		switch e := one.Event.(type) {
		case events.Untold:
			if e.Earlier == c.Runner.Options.Run {
				continue
			}
		case events.Result, events.Message:
			// A worker that was taken for lost comes late with them: the next one tells them, since the host has kept them.
			if h.shard.current != h {
				continue
			}
		}
		if watches(t.Turn) { // what is mended again is told again
			all = append(all, one.Event)
			continue
		}
		if !c.toldOf(t.Turn).isNew(one.Event) {
			continue
		}
		if r, ok := one.Event.(events.Result); ok && c.Runner.Options.Progress.Retold(t.Play, r) { // since the run that this one goes on with
			continue
		}
		all = append(all, one.Event)
	}
	return all
}

// register registers what resources ask for, and says where files are: workers reach neither.
func (c *Coordinator) register(ctx context.Context, h *handed, list []events.Event) {
	for i, e := range list {
		r, ok := e.(events.Result)
		if !ok {
			continue
		}
		r = c.Runner.Kept(r)
		list[i] = r
		if len(r.Registers) == 0 {
			continue
		}
		failed := c.Runner.Register(ctx, &r)
		list[i] = r
		c.mu.Lock()
		if t := h.shard.turns[r.Host]; t != nil && failed {
			c.toldOf(t.Turn).failed = true
		}
		c.mu.Unlock()
	}
}

// toldOf is what has been told of a host in a play, with the lock held.
func (c *Coordinator) toldOf(t playbooks.Turn) *told {
	of := toldOf{t.Host, t.Play, t.Kind}
	if c.told[of] == nil {
		c.told[of] = &told{}
	}
	return c.told[of]
}

// ends gives those hosts their ends that have ended. A worker that another one has been given the
// hosts after does not know how they end.
func (c *Coordinator) ends(h *handed, s said) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.shard.current != h {
		return
	}
	for host, end := range s.Ends {
		if t := h.shard.turns[host]; t != nil {
			if c.toldOf(t.Turn).failed {
				end.Failed = true
				if o := end.Found.Outcome; o != nil {
					o.Failed = true
				}
			}
			t.ended <- c.explained(end)
			delete(h.shard.turns, host)
			delete(c.told, toldOf{host, t.Play, t.Kind})
		}
	}
	if s.Over && c.stopped { // the others were not begun
		for host, t := range h.shard.turns {
			t.ended <- playbooks.TurnEnd{Stopped: true}
			delete(h.shard.turns, host)
		}
	}
	if len(h.shard.turns) == 0 {
		delete(c.shards, h.shard.id)
	}
}
