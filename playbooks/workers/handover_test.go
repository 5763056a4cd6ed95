package workers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue/queuetest"
)

// handover returns the Handover of an operator with a key, and a list of others' keys.
func (s *site) handover(q *queue.JetStream, key string, operators ...string) (*Handover, *warnings) {
	t := s.t
	own, err := keyring.ReadKey(filepath.Join(s.dir, key))
	require.NoError(t, err)
	ring := keyring.Keyring{}
	for _, name := range operators {
		maps.Copy(ring, s.ring(name+".keys"))
	}
	records, err := q.Records(t.Context())
	require.NoError(t, err)
	w := &warnings{}
	return &Handover{Queue: q, Records: records, Key: own, Operators: ring, Holder: key + "@here (pid 1)", Warn: w.add}, w
}

// A forwarder takes the copy of a record before it is known who gets it.
type forwarder struct{ *Copy }

func (f *forwarder) Begin(h record.Header) { f.Copy.Begin(h) }
func (f *forwarder) Lines(text []byte)     { f.Copy.Lines(text) }
func (f *forwarder) End(e record.End)      { f.Copy.End(e) }

// shares has a coordinator share its run, whose events also go to a reporter. resumes is the lease of the run that it
// resumes, or nil.
func (s *site) shares(c *Coordinator, h *Handover, to *forwarder, resumes *Lease) {
	c.Share = func(ctx context.Context, name string) (<-chan struct{}, error) {
		copied, err := h.Share(ctx, c.Runner.Options.Run, "site.yaml", name, resumes)
		if err != nil {
			return nil, err
		}
		to.Copy = copied
		return copied.Lost(), nil
	}
}

// recorder records the run of a test.
func recorder(t *testing.T, store record.Store, to *forwarder) events.Reporter {
	h := record.Header{Run: "01JDXYZ0000000000000000000", Started: time.Now(), What: "site.yaml", Command: "apply", User: "canary"}
	return store.Recorder(h, func(text string) { t.Error(text) }).CopyTo(to)
}

// errCopied ends the reading of a copy that has what the test waits for.
var errCopied = errors.New("copied")

// TestTakenAway continues a run whose coordinator was out of reach for a while: the former coordinator stops, and
// reports that; the other one has the reports so far.
func TestTakenAway(t *testing.T) {
	manifest := `
name: one
ccm:
  resources:
    - exec: ["true": ]
    - exec: ["n=0; while test ! -e {{ Data.go }} && test $n -lt 600; do sleep 0.1; n=$((n+1)); done": {provider: shell}]
    - exec: ["echo last": ]
`
	s := newSite(t, manifest, "web1", "web2")
	free := filepath.Join(s.dir, "go")
	inv := strings.Replace(s.inventory(nil), "canary: everybody-knows", fmt.Sprintf("go: %q", free), 1)
	url := serve(t, s.dir).ClientURL()
	q := connect(t, url).(*queue.JetStream)
	s.work(connect(t, url), "worker", "")
	here, there := record.Store{Folder: filepath.Join(s.dir, "here")}, record.Store{Folder: filepath.Join(s.dir, "there")}
	to, got := &forwarder{}, &recorded{}
	r := s.runner(inv, recorder(t, here, to), got)
	c, _ := s.coordinator(q, r)
	mine, warned := s.handover(q, "coordinator", "stranger")
	s.shares(c, mine, to, nil)
	other, _ := s.handover(connect(t, url).(*queue.JetStream), "stranger", "coordinator")

	var taking sync.WaitGroup
	var once sync.Once
	var taken *Lease
	var shared *Shared
	got.hook = func(e events.Event) {
		if _, ok := e.(events.Result); !ok {
			return
		}
		once.Do(func() {
			taking.Go(func() {
				var err error
				shared, err = other.Find(t.Context(), r.Options.Run[:6])
				require.NoError(t, err)
				_, err = other.Take(t.Context(), shared)
				require.ErrorContains(t, err, "is coordinated by coordinator@here (pid 1) since ")
				// The record is copied some time after the events: a takeover right after the first result would find no event.
				require.ErrorIs(t, other.Read(t.Context(), shared, true, func(p Part) error {
					if bytes.Contains(p.Lines, []byte(`"event":"play_start"`)) {
						return errCopied
					}
					return nil
				}), errCopied)
				for ends := time.Now().Add(wait); time.Now().Before(ends); {
					shared.Held = false // as if nothing had been heard of it
					taken, err = other.Take(t.Context(), shared)
					if err == nil || !strings.Contains(err.Error(), "another controller has just continued it") {
						break
					}
					// Its coordinator has renewed the lease since then.
					shared, err = other.Find(t.Context(), r.Options.Run[:6])
					require.NoError(t, err)
				}
				require.NoError(t, err)
				require.NotNil(t, taken)
				require.NoError(t, os.WriteFile(free, nil, 0o600))
			})
		})
	}
	require.NoError(t, c.Begin(t.Context()))
	summary, err := r.Run(t.Context(), to.Lost())
	require.NoError(t, errors.Join(err, c.Close(t.Context()), to.Close(t.Context())))
	taking.Wait()
	require.True(t, summary.Interrupted)
	require.Equal(t, 2, summary.Totals.Hosts.Interrupted)
	require.Contains(t, warned.all(), "has taken over run 01JDXYZ0000000000000000000, so the run ends on this machine")

	// The run now belongs to the other machine, which reads the reports.
	found, err := mine.Find(t.Context(), r.Options.Run)
	require.NoError(t, err)
	require.True(t, found.Held)
	require.Equal(t, "stranger@here (pid 1)", found.Holder)
	require.NoError(t, other.Fetch(t.Context(), shared, there, "/clone"))
	run, err := there.Find(r.Options.Run)
	require.NoError(t, err)
	require.Equal(t, "/clone", run.Directory)
	require.Equal(t, record.Killed, run.Outcome())
	was, err := os.ReadFile(filepath.Join(here.FolderOf(run.Run), "events.jsonl"))
	require.NoError(t, err)
	copied, err := os.ReadFile(filepath.Join(there.FolderOf(run.Run), "events.jsonl"))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(was), string(copied)), "%s\n%s", was, copied)
	require.Contains(t, string(copied), `"event":"play_start"`)

	// After GiveBack, any machine may take it.
	require.NoError(t, taken.GiveBack(t.Context()))
	found, err = mine.Find(t.Context(), r.Options.Run)
	require.NoError(t, err)
	require.False(t, found.Held)
}

// TestLeaseOfAStranger claims a run with a key that is not on the list of operators: the claim is not accepted, and the
// stranger cannot read the data.
func TestLeaseOfAStranger(t *testing.T) {
	s := newSite(t, plays())
	q := connect(t, serve(t, s.dir).ClientURL()).(*queue.JetStream)
	stranger, _ := s.handover(q, "stranger", "coordinator")
	mine, warned := s.handover(q, "coordinator")
	his, err := stranger.Share(t.Context(), "01JDXYZ0000000000000000001", "evil.yaml", "name", nil)
	require.NoError(t, err)
	all, err := mine.All(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
	require.Contains(t, warned.all(), "it is signed by the key SHA256:")
	_, err = mine.Find(t.Context(), "01JDXYZ0000000000000000001")
	require.ErrorIs(t, err, record.ErrNone)

	own, err := mine.Share(t.Context(), "01JDXYZ0000000000000000002", "site.yaml", "name", nil)
	require.NoError(t, err)
	all, err = stranger.All(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1, "its own")
	// A claim whose answer was lost is our own, and one that cannot be read belongs to no one yet.
	data, err := mine.seal(own.own.said)
	require.NoError(t, err)
	own.own.mu.Lock()
	_, err = mine.Records.Claim(t.Context(), own.own.said.Run, data, own.own.claim)
	require.NoError(t, err)
	never, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = own.own.holder(never)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, own.own.say(t.Context()))
	require.False(t, own.own.taken)
	own.own.mu.Unlock()
	require.NoError(t, errors.Join(his.Close(t.Context()), own.Close(t.Context())))
	all, err = stranger.All(t.Context())
	require.NoError(t, err)
	require.Empty(t, all, "what has not begun is forgotten")
}

// TestDeletedLease ends runs while their lease is extended all the time: no other machine takes over data that they
// delete themselves. A claim that is deleted otherwise is reported as deleted.
func TestDeletedLease(t *testing.T) {
	s := newSite(t, plays())
	conn, err := nats.Connect(serve(t, s.dir).ClientURL())
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	q, err := queue.NewJetStream(conn, 40*time.Millisecond)
	require.NoError(t, err)
	h, warned := s.handover(q, "coordinator")
	for i := range 30 {
		run := fmt.Sprintf("01JDXYZ00000000000000000%02d", i)
		copied, err := h.Share(t.Context(), run, "site.yaml", "name", nil)
		require.NoError(t, err)
		copied.Begin(record.Header{Run: run})
		copied.End(record.End{})
		time.Sleep(time.Duration(i) * time.Millisecond)
		require.NoError(t, copied.Close(t.Context()))
		require.False(t, closed(copied.Lost()))
	}
	require.Empty(t, warned.all())
	run := "01JDXYZ0000000000000000099"
	copied, err := h.Share(t.Context(), run, "site.yaml", "name", nil)
	require.NoError(t, err)
	require.NoError(t, h.Records.Forget(t.Context(), run))
	<-copied.Lost()
	require.Contains(t, warned.all(), "run 01JDXYZ0000000000000000099 ends on this machine, because NATS has lost the data of the run")
	require.NotContains(t, warned.all(), "taken over")
	require.NoError(t, copied.Close(t.Context()))
}

// TestNotRenewed has the authority end in the midst of a run: it stops, and no host fails.
func TestNotRenewed(t *testing.T) {
	s := newSite(t, plays(), "web1", "web2", "db1")
	s.write("motd.jet", "x")
	q := queuetest.New(0)
	said := s.work(q, "worker", "")
	r := s.runner(s.inventory(nil))
	c, warned := s.coordinator(q, r)
	c.Size = 1
	certify, certified := c.Certify, 0
	c.Certify = func(ctx context.Context, of Certificate) ([]byte, time.Duration, error) {
		if certified++; certified > 1 {
			return nil, 0, errors.New("nobody has unlocked the agent")
		}
		text, _, err := certify(ctx, of)
		return text, 0, err // so that the next host needs another one
	}
	require.NoError(t, c.Begin(t.Context()))
	summary, err := r.Run(t.Context(), c.Halted())
	require.NoError(t, errors.Join(err, c.Close(t.Context())))
	require.True(t, summary.Interrupted)
	require.Zero(t, summary.Totals.Hosts.Failed+summary.Totals.Hosts.Unreachable, said.all())
	require.NotZero(t, summary.Totals.Hosts.NotStarted+summary.Totals.Hosts.Interrupted)
	require.Contains(t, warned.all(), "the key of a worker is not certified any more: nobody has unlocked the agent: no more hosts are started")
}
