package workers

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/workers/sealing"
)

// A turn is a host that the run waits for.
type turn struct {
	playbooks.Turn
	handler playbooks.TurnHandler
	ended   chan playbooks.TurnEnd // gets one
}

// waits shows that a host waits for a worker of its site.
func (t *turn) waits(site string) {
	what := "waiting for a worker"
	if site != "" {
		what += " of site " + site
	}
	t.at(what)
}

// at shows the activity of a host.
func (t *turn) at(what string) {
	if t.At != nil {
		t.At(what)
	}
}

// A shard is hosts of one play and one site. The lock of the ledger protects it.
type shard struct {
	id      string
	site    string
	turns   map[string]*turn // unfinished hosts
	until   time.Time        // end of its ticket
	taken   int              // number of assignments
	current *assignment      // its worker; nil means none
	lost    bool             // the last worker was lost
	last    *assignment      // the lost worker
	since   time.Time        // start of its wait for a worker
}

// watched returns the turns whose hosts are watched.
func (s *shard) watched() (all []*turn) {
	for _, t := range s.turns {
		if playbooks.Requests[playbooks.WatchRequest](t.Turn) {
			all = append(all, t)
		}
	}
	return all
}

// plain returns the turns as a worker gets them.
func (s *shard) plain() (all []playbooks.Turn) {
	for _, t := range s.turns {
		all = append(all, t.Turn)
	}
	return all
}

// An assignment is a shard at one worker. The lock of the ledger protects lent, returned and closed; asks and errands have their own locks,
// only the inbox uses reader, and the other fields do not change.
type assignment struct {
	shard     *shard
	reader    *sealing.FrameReader
	worker    string
	key       string          // key of the worker, on the list
	hosts     map[string]bool // hosts that it got
	sshKey    []byte          // SSH key of the worker, for this run
	recipient string          // age key of the worker, for this run
	object    string          // name of the object with its content
	certified Certificate
	addresses []netip.Prefix         // addresses of the worker; empty means unknown
	lent      map[string]Certificate // certificates for lent hosts
	asks      questions
	errands   *errandList
	since     time.Time
	returned  time.Time // when the worker returned its remaining hosts; zero means not yet
	closed    time.Time // when the worker lost the shard, or the shard ended; zero means not yet
}

// A ledger lists the unfinished hosts of a run, the workers that have them, and the events that were reported of them.
type ledger struct {
	runner *playbooks.Runner

	mu       sync.Mutex
	shards   map[string]*shard // unfinished shards, by id
	assigned map[sealing.HandoutID]*assignment
	told     map[toldOf]*told
	stopped  bool
	watching bool // the plays have ended, and hosts are watched
}

func newLedger(r *playbooks.Runner) *ledger {
	return &ledger{runner: r, shards: map[string]*shard{}, assigned: map[sealing.HandoutID]*assignment{}, told: map[toldOf]*told{}}
}

// each calls a function for each unfinished shard, with the lock held.
func (l *ledger) each(do func(*shard)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.shards {
		do(s)
	}
}

// isStopped reports whether no further hosts begin.
func (l *ledger) isStopped() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopped
}

// isWatching reports whether the plays have ended, and hosts are watched: that continues without an authority.
func (l *ledger) isWatching() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.watching
}

// watch notes that the plays have ended, and hosts are watched.
func (l *ledger) watch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watching = true
}

// stop ends the hosts that no worker has, and lets no further hosts begin.
func (l *ledger) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	for _, s := range l.shards {
		switch h := s.current; {
		case s.taken == 0 || s.lost:
			l.finish(s, notBegun)
		case !h.returned.IsZero(): // it has reported everything
			l.finish(s, func(t playbooks.Turn) playbooks.TurnEnd {
				return playbooks.TurnEnd{Begun: len(l.history(t).now.results) > 0, Stopped: true}
			})
		}
	}
}

// find returns the assignment with that id, or nil.
func (l *ledger) find(id sealing.HandoutID) *assignment {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.assigned[id]
}

// remaining returns the shard of a ticket with its unfinished hosts, and whether a worker had it before. It is nil if the shard has ended,
// or has another ticket now.
func (l *ledger) remaining(t ticket) (s *shard, turns []playbooks.Turn, again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s = l.shards[t.Shard]
	if s == nil || !t.Until.Equal(s.until) || l.stopped && s.taken == 0 {
		return nil, nil, false
	}
	return s, s.plain(), s.taken > 0
}

// owns reports whether a worker still has its hosts.
func (l *ledger) owns(h *assignment) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return h.shard.current == h
}

// turnOf returns the turn of a host that a worker reports; nil if it has ended. The error means that the worker did not get the host.
func (l *ledger) turnOf(h *assignment, host string) (*turn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !h.hosts[host] {
		return nil, fmt.Errorf("it reported something of %.100q, which it was not given", host)
	}
	return h.shard.turns[host], nil
}

// release takes the watched hosts from a worker, and returns their turns.
func (l *ledger) release(h *assignment) []*turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.shard.current != h || l.stopped {
		return nil
	}
	turns := h.shard.watched()
	if len(turns) > 0 {
		h.shard.current, h.shard.last, h.shard.lost, h.closed = nil, h, true, time.Now()
	}
	return turns
}

// takeFrom takes shards from workers, and returns them with the watched hosts.
func (l *ledger) takeFrom(which func(*assignment) bool) (shards []*shard, watched []*turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.shards {
		one := s.current
		if one == nil || !which(one) {
			continue
		}
		one.closed = time.Now()
		s.current, s.last, s.lost, s.since = nil, nil, true, one.closed
		for _, t := range s.turns {
			l.history(t.Turn).again()
			t.waits(s.site)
		}
		shards, watched = append(shards, s), append(watched, s.watched()...)
	}
	return shards, watched
}

// failure returns the end of a host that failed as a whole.
func (l *ledger) failure(t playbooks.Turn, phase, why, hint string) playbooks.TurnEnd {
	e := events.HostFailed{Host: t.Host, Phase: phase, Error: why, Hint: hint}
	if len(l.runner.Plays) > 0 { // without plays hosts only answer queries
		e.Play = l.runner.Plays[t.Play].Name
	}
	return playbooks.TurnEnd{Begun: true, Failure: &events.Carried{Event: e}}
}

// fail ends the unfinished hosts of a shard that could not start.
func (l *ledger) fail(s *shard, why string) {
	l.conclude(s, func(t playbooks.Turn) playbooks.TurnEnd { return l.failure(t, "start", why, "") })
}

// abandon fails the hosts of a shard whose worker was lost, and that keep no notes about its work.
func (l *ledger) abandon(s *shard) {
	l.conclude(s, func(t playbooks.Turn) playbooks.TurnEnd {
		return l.failure(t, "lost", "its worker was lost, and the command may have run", "check the host before you run it again")
	})
}

// conclude ends the unfinished hosts of a shard, and returns their number.
func (l *ledger) conclude(s *shard, how func(playbooks.Turn) playbooks.TurnEnd) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	hosts := len(s.turns)
	l.finish(s, how)
	return hosts
}

// notBegun is the end of a host that has not begun, or has not ended.
func notBegun(playbooks.Turn) playbooks.TurnEnd { return playbooks.TurnEnd{Stopped: true} }

// settle ends a host of a shard, and with its last host the shard. The caller holds the lock.
func (l *ledger) settle(s *shard, t *turn, how playbooks.TurnEnd) {
	t.ended <- how
	delete(s.turns, t.Host)
	delete(l.told, toldOf{t.Host, t.Play, t.Kind()})
	if len(s.turns) > 0 {
		return
	}
	delete(l.shards, s.id)
	if s.current != nil {
		s.current.closed = time.Now()
	}
}

// finish ends the unfinished hosts of a shard. The caller holds the lock.
func (l *ledger) finish(s *shard, how func(playbooks.Turn) playbooks.TurnEnd) {
	for _, t := range s.turns {
		l.settle(s, t, how(t.Turn))
	}
}

// history returns the reports of a host in a play. The caller holds the lock.
func (l *ledger) history(t playbooks.Turn) *told {
	of := toldOf{t.Host, t.Play, t.Kind()}
	if l.told[of] == nil {
		l.told[of] = &told{}
	}
	return l.told[of]
}

// forget forgets assignments that closed long ago. It returns their objects, and the recipients of the other assignments.
func (l *ledger) forget(now time.Time) (recipients map[string]bool, objects []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	recipients = map[string]bool{}
	for id, h := range l.assigned {
		over := !h.closed.IsZero() && now.Sub(h.closed) > lateTime
		objects = append(objects, h.asks.spentObjects(over)...)
		if !over {
			recipients[h.recipient] = true
			continue
		}
		objects = append(objects, h.object)
		delete(l.assigned, id)
	}
	return recipients, objects
}
