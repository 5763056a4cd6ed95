package workers

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

// A failing queue has a step for each call: "out" fails the worker, "away" is a ticket whose coordinator does not
// answer, and "there" one whose coordinator does. After the last step the worker is stopped.
type failing struct {
	queue.Queue
	t     *testing.T
	key   keyring.Key // key of the coordinator
	ring  keyring.Keyring
	steps []string
	step  string
	end   func()
}

// User implements [queue.Queue].
func (q *failing) User() string { return "any" }

// Announce implements [queue.Queue].
func (q *failing) Announce(context.Context, string, []byte) error { return nil }

// Lease implements [queue.Queue].
func (q *failing) Lease(ctx context.Context, _ string) (queue.Lease, error) {
	if len(q.steps) == 0 {
		q.end()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	q.step, q.steps = q.steps[0], q.steps[1:]
	if q.step == "out" {
		return nil, errors.New("it has no storage")
	}
	text, err := keyring.Sign(q.key, ticketKind, ticket{Run: "run1", Shard: "shard1", Until: time.Now().Add(time.Hour)})
	return failingLease(text), err
}

// Join implements [queue.Queue].
func (q *failing) Join(context.Context, string) (queue.Member, error) {
	return failingMember{gone{}, q}, nil
}

type failingMember struct {
	queue.Member
	q *failing
}

// Ask implements [queue.Member].
func (m failingMember) Ask(_ context.Context, text []byte) ([]byte, error) {
	if m.q.step == "away" {
		return nil, queue.ErrAway
	}
	var asked question
	_, err := keyring.Verify(m.q.ring, questionKind, text, &asked)
	require.NoError(m.q.t, err)
	return keyring.Sign(m.q.key, answerKind, answer{Nonce: asked.Nonce, Over: true})
}

type failingLease []byte

func (l failingLease) Ticket() []byte             { return l }
func (failingLease) Lasts() time.Duration         { return time.Hour }
func (failingLease) Extend(context.Context) error { return nil }
func (failingLease) Done(context.Context) error   { return nil }
func (failingLease) Return(context.Context) error { return nil }

// TestOutagesAreToldOnce has a queue fail, and a coordinator be away, again and again: each outage is reported once,
// and its end, too.
func TestOutagesAreToldOnce(t *testing.T) {
	s := newSite(t, "[]")
	key, err := keyring.ReadKey(filepath.Join(s.dir, "coordinator"))
	require.NoError(t, err)
	ring := s.ring("worker.keys")
	ctx, cancel := context.WithCancel(t.Context())
	q := &failing{t: t, key: key, ring: ring, end: cancel, steps: []string{"out", "out", "away", "away", "away", "there", "there", "out", "away"}}
	w, err := workerIn(s.dir, "worker", q)
	require.NoError(t, err)
	said := &warnings{}
	w.Say, w.Shards, w.Temp = said.add, 1, t.TempDir()
	require.NoError(t, w.Run(ctx, nil))
	const away = "request to the controller coordinator: the controller of the run does not answer"
	require.Equal(t, []string{
		"it has no storage", "the queue answers again", away, "the controller coordinator answers again",
		"it has no storage", "the queue answers again", away,
	}, said.list)
}

// TestOutagesEnd has runs be over whose coordinators were away: nothing is kept of them.
func TestOutagesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o outages
		away := errors.New("it is away")
		for _, run := range []string{"one", "two"} {
			require.True(t, o.isNew(run, away))
		}
		time.Sleep(outageTime)
		require.False(t, o.isNew("two", away))
		time.Sleep(time.Minute)
		require.False(t, o.isNew("two", away))
		require.Len(t, o.told, 1)
		require.True(t, o.isNew("one", away))
	})
}
