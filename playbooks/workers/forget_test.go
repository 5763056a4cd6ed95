package workers

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue/queuetest"
	"github.com/ccm-push/ccm-push/playbooks/workers/sealing"
)

// A client is a worker whose requests and reports a test chooses.
type client struct {
	*shift
	t       *testing.T
	c       *Coordinator
	text    []byte // its question about the ticket
	content shardContent
	writer  *sealing.FrameWriter
}

// client returns a worker with a key of its own for the run, which has requested the hosts of a ticket.
func (s *site) client(q queue.Queue, c *Coordinator, of ticket) (*client, *answer) {
	t := s.t
	t.Helper()
	w, err := workerIn(s.dir, "worker", q)
	require.NoError(t, err)
	w.BuildID = s.buildID
	j, err := w.newJob(t.Context(), c.run.post.name)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, j.folder.remove()) })
	k := &client{shift: &shift{worker: w, job: j, rename: func(text []byte) []byte { return text }}, t: t, c: c}
	k.text, err = keyring.Sign(w.Key, questionKind, question{
		Ticket: of, Nonce: "n", Recipient: j.identity.Recipient().String(), SSHKey: j.public, Build: w.BuildID, Version: w.Version,
	})
	require.NoError(t, err)
	a := k.askAgain()
	if a.Shard != nil {
		require.NoError(t, j.fetch(t.Context(), a.Shard, &k.content))
		k.sealer, err = sealing.NewSealer(k.content.Key, k.content.Handout)
		require.NoError(t, err)
		k.writer, err = sealing.NewFrameWriter(k.content.Key, k.content.Handout)
		require.NoError(t, err)
	}
	return k, a
}

// askAgain repeats the request for the ticket.
func (k *client) askAgain() *answer {
	k.t.Helper()
	var a answer
	_, err := keyring.Verify(k.worker.Coordinators.Ring(), answerKind, k.c.run.answer(k.t.Context(), k.text), &a)
	require.NoError(k.t, err)
	return &a
}

// asks sends a request as a shift does.
func (k *client) asks(q asked) answered {
	k.t.Helper()
	a, err := k.askOnce(k.t.Context(), q)
	require.NoError(k.t, err)
	return a
}

// says sends a report to the coordinator.
func (k *client) says(s said) {
	k.t.Helper()
	text, err := json.Marshal(s)
	require.NoError(k.t, err)
	for _, frame := range k.writer.Frames(text) {
		require.NoError(k.t, k.job.member.Say(k.t.Context(), frame))
	}
	require.NoError(k.t, k.c.run.inbox.catchUp(k.t.Context()))
}

// answers is a handler that takes everything that is reported.
type answers func(playbooks.Question) playbooks.Answer

func (a answers) Answer(q playbooks.Question) (playbooks.Answer, error) { return a(q), nil }
func (answers) Check(e events.Event) (events.Event, error)              { return e, nil }
func (answers) CheckEnd(playbooks.TurnEnd) error                        { return nil }

// submitted submits a host, and returns its ticket.
func (s *site) submitted(q queue.Queue, c *Coordinator, answer func(playbooks.Question) playbooks.Answer) (*turn, ticket) {
	one := &turn{playbooks.Turn{Request: playbooks.PlayRequest{}, Host: "web1"}, answers(answer), make(chan playbooks.TurnEnd, 1)}
	c.run.intake.gather(s.t.Context(), one)
	return one, s.leased(q, c)
}

// leased leases a ticket of a coordinator.
func (s *site) leased(q queue.Queue, c *Coordinator) (of ticket) {
	s.t.Helper()
	lease, err := q.Lease(s.t.Context(), "")
	require.NoError(s.t, err)
	_, err = keyring.Verify(keyring.Keyring{string(c.Key.PublicKey().Marshal()): {Name: "it"}}, ticketKind, lease.Ticket(), &of)
	require.NoError(s.t, err)
	return of
}

// TestForgets hands out a shard again and again. The shard does not end, like a shard of watched hosts. Data about
// workers that have lost it are dropped, and later requests and reports of these workers have no effect.
func TestForgets(t *testing.T) {
	queues(t, func(t *testing.T, open func(dir string) queue.Queue) {
		s := newSite(t, plays(), "web1")
		s.write("motd.jet", "x")
		q, got := open(s.dir), &recorded{}
		r := s.runner(s.inventory(nil), got)
		r.Options.NoLock = false
		c, warned := s.coordinator(q, r)
		require.NoError(t, c.Begin(t.Context()))
		defer func() { require.NoError(t, c.Close(t.Context())) }()
		answers := 0
		host, of := s.submitted(q, c, func(playbooks.Question) playbooks.Answer {
			answers++
			return playbooks.Answer{Error: strings.Repeat("x", maxAsked)}
		})
		var clients []*client
		var objects []string // objects of each of them
		var heard func()     // first request of the last of them
		for range 3 {
			k, a := s.client(q, c, of)
			require.NotNil(t, a.Shard)
			_, heard = k.asked.next()
			long := k.asks(asked{Number: 1, Host: "web1", Text: []byte(`{"ready":{}}`)})
			require.Equal(t, long.Object.Name, k.asks(asked{Number: 1, Host: "web1", Text: []byte(`{"ready":{}}`)}).Object.Name, "it lies there once")
			require.Len(t, long.Answer.Error, maxAsked)
			clients, objects = append(clients, k), append(objects, a.Run.Name, a.Shard.Name, long.Object.Name)
		}
		first, last := clients[0], clients[2]
		there := func() (all []string) {
			for _, name := range objects {
				if _, err := first.job.member.Get(t.Context(), name); err == nil {
					all = append(all, name)
				}
			}
			return all
		}
		require.Equal(t, 3, answers)
		require.Equal(t, 2, strings.Count(warned.all(), "was lost before 1 host ended; "))
		require.Equal(t, objects, there())
		c.run.forget(t.Context(), time.Now())
		require.Equal(t, objects, there(), "it has just been over")
		require.Len(t, c.run.dispatcher.asked, 3)

		c.run.post.began = c.run.post.began.Add(-2 * time.Hour)
		later := time.Now().Add(2 * time.Hour)
		last.asked.next()
		heard()
		objects = append(objects, last.asks(asked{Number: 2, Host: "web1", Text: []byte(`{"ready":{}}`)}).Object.Name)
		c.run.forget(t.Context(), later)
		require.Equal(t, append(objects[6:8:8], objects[9]), there(), "what the last worker needs")
		require.Len(t, c.run.ledger.assigned, 1)
		require.Len(t, c.run.parcels.sent, 1)
		require.Empty(t, c.run.dispatcher.asked)
		require.Empty(t, c.run.authority.certs)

		// A late request is recognised.
		answers = 0
		a := first.askAgain()
		require.True(t, a.Stale)
		require.Nil(t, a.Shard)
		require.True(t, first.asks(asked{Number: 2, Host: "web1", Text: []byte(`{"ready":{}}`)}).Over)
		first.says(said{Events: []events.Carried{{Event: events.Untold{Host: "web1", Earlier: "another"}}}, Ends: map[string]playbooks.TurnEnd{"web1": {}}})
		last.asks(asked{Number: 1, Host: "web1", Text: []byte(`{"ready":{}}`)})
		require.Zero(t, answers)
		require.Empty(t, got.lines(s))
		require.Empty(t, host.ended)
		require.Equal(t, 3, c.run.ledger.shards[of.Shard].taken)

		last.says(said{Ends: map[string]playbooks.TurnEnd{"web1": {Begun: true}}})
		require.True(t, (<-host.ended).Begun)
		c.run.forget(t.Context(), time.Now().Add(2*time.Hour))
		require.Empty(t, there())
		require.Empty(t, c.run.ledger.assigned)
		require.Empty(t, c.run.parcels.sent)
		require.Empty(t, c.run.ledger.told)
		require.Empty(t, c.run.ledger.shards)
	})
}

// TestForgetsWhatWasTold has a host that fails as a whole, and one that ends since the run is stopped, after some of
// its results have been reported.
func TestForgetsWhatWasTold(t *testing.T) {
	for name, end := range map[string]func(c *Coordinator, k *client){
		"failed": func(_ *Coordinator, k *client) { k.says(said{Failed: "the disk is full"}) },
		"lost":   func(c *Coordinator, k *client) { c.run.ledger.abandon(c.run.ledger.assigned[k.content.Handout].shard) },
		"left": func(c *Coordinator, k *client) {
			c.run.ledger.conclude(c.run.ledger.assigned[k.content.Handout].shard, notBegun)
		},
		"taken":   func(c *Coordinator, _ *client) { c.run.intake.cancelAll() },
		"stopped": func(c *Coordinator, k *client) { c.run.stop(k.t.Context()); k.says(said{Over: true}) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, plays(), "web1")
			s.write("motd.jet", "x")
			q, got := queuetest.New(0), &recorded{}
			c, _ := s.coordinator(q, s.runner(s.inventory(nil), got))
			require.NoError(t, c.Begin(t.Context()))
			defer func() { require.NoError(t, c.Close(t.Context())) }()
			host, of := s.submitted(q, c, nil)
			k, _ := s.client(q, c, of)
			k.says(said{Events: []events.Carried{{Event: events.Result{Host: "web1", Type: "exec", Name: "true", Status: events.Changed}}}})
			require.Len(t, got.lines(s), 1)
			require.Len(t, c.run.ledger.told, 1)
			end(c, k)
			require.Len(t, host.ended, 1)
			require.Empty(t, c.run.ledger.told)
			require.Empty(t, c.run.ledger.shards)
			c.run.forget(t.Context(), time.Now().Add(2*time.Hour))
			require.Empty(t, c.run.ledger.assigned)
		})
	}
}

// TestStamps sends a request late: without a new stamp the coordinator returns one, and the worker repeats the request.
func TestStamps(t *testing.T) {
	s := newSite(t, "ccm: {resources: [exec: [{\"true\": }]]}\n", "web1")
	q := queuetest.New(0)
	c, _ := s.coordinator(q, s.runner(s.inventory(nil)))
	require.NoError(t, c.Begin(t.Context()))
	defer func() { require.NoError(t, c.Close(t.Context())) }()
	require.True(t, c.run.post.isFresh(c.run.post.stamp()))
	old := c.run.post.stamp()
	_, of := s.submitted(q, c, nil)
	c.run.post.began = c.run.post.began.Add(-stampTime)
	require.False(t, c.run.post.isFresh(old))
	forged := c.run.post.stamp()
	forged[0]++
	for _, stamp := range [][]byte{nil, {1}, forged, append(c.run.post.stamp(), 1)} {
		require.False(t, c.run.post.isFresh(stamp))
	}
	k, a := s.client(q, c, of)
	require.True(t, a.Stale)
	require.True(t, k.askAgain().Stale)
	a, err := k.worker.ask(t.Context(), k.job, of)
	require.NoError(t, err)
	require.NotNil(t, a.Shard)
	require.Equal(t, 1, c.run.ledger.shards[of.Shard].taken)
}

// TestTicketsEnd uses two cases: a worker that watches hosts ends after the queue has dropped their ticket, and a shard
// waits until then. Each gets another ticket, and the old ticket is invalid.
func TestTicketsEnd(t *testing.T) {
	s := newSite(t, watchedFiles(), "web1")
	q := queuetest.New(0)
	r := s.runner(s.inventory(map[string]string{"web1": "token: x,"}))
	r.Options.NoLock = false
	c, _ := s.coordinator(q, r)
	require.NoError(t, c.Begin(t.Context()))
	defer func() { require.NoError(t, c.Close(t.Context())) }()
	var told []playbooks.Question
	c.run.intake.gather(t.Context(), &turn{
		playbooks.Turn{Host: "web1", Request: playbooks.WatchRequest{}},
		answers(func(q playbooks.Question) playbooks.Answer {
			told = append(told, q)
			return playbooks.Answer{}
		}),
		make(chan playbooks.TurnEnd, 1),
	})
	first := s.leased(q, c)
	k, a := s.client(q, c, first)
	require.NotNil(t, a.Shard)
	late := time.Now().Add(ticketTime)
	c.run.intake.renewTickets(t.Context(), late)
	require.True(t, c.run.ledger.shards[first.Shard].until.Equal(first.Until), "it is watched")
	k.says(said{Over: true})
	require.Len(t, told, 1)
	require.NotNil(t, told[0].(playbooks.Watched).Lost)
	c.run.intake.renewTickets(t.Context(), time.Now())
	require.True(t, c.run.ledger.shards[first.Shard].until.Equal(first.Until), "the queue has its ticket still")
	for range 2 {
		c.run.intake.renewTickets(t.Context(), late)
		second := s.leased(q, c)
		require.Equal(t, first.Shard, second.Shard)
		require.True(t, second.Until.After(first.Until))
		_, a = s.client(q, c, first)
		require.True(t, a.Over, "it is not handed out by two tickets")
		first = second
	}
	_, a = s.client(q, c, first)
	require.NotNil(t, a.Shard)
}
