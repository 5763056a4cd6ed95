package workers

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/playbooks/registry"
	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue/queuetest"
	"github.com/ccm-push/ccm-push/playbooks/workers/sealing"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// A badWorker is the queue of a worker whose messages a test changes: a program that was built to do harm, with a key that is on the list.
type badWorker struct {
	queue.Queue
	t        *testing.T
	of       *Coordinator
	dir      string          // folder of its key
	said     func(*said)     // changes its reports
	raw      []byte          // replaces its reports
	asks     string          // a further request, as JSON
	question func(*question) // changes its request for hosts
	// ended gets a function that sends requests, after the worker has reported the end of its hosts
	ended func(ask func(asked) answered)
}

func (b *badWorker) Join(ctx context.Context, name string) (queue.Member, error) {
	member, err := b.Queue.Join(ctx, name)
	return &badMember{Member: member, badWorker: b, reader: map[sealing.HandoutID]*sealing.FrameReader{}, writer: map[sealing.HandoutID]*sealing.FrameWriter{}}, err
}

type badMember struct {
	queue.Member
	*badWorker

	mu     sync.Mutex
	reader map[sealing.HandoutID]*sealing.FrameReader
	writer map[sealing.HandoutID]*sealing.FrameWriter
}

// Say implements [queue.Member].
func (b *badMember) Say(ctx context.Context, frame []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	of, _ := sealing.HandoutOf(frame)
	var err error
	if b.reader[of] == nil {
		b.reader[of], err = sealing.NewFrameReader(b.of.run.post.keyOf(of))
		require.NoError(b.t, err)
		b.writer[of], err = sealing.NewFrameWriter(b.of.run.post.keyOf(of), of)
		require.NoError(b.t, err)
	}
	text, err := b.reader[of].Read(frame)
	require.NoError(b.t, err)
	if text == nil {
		return nil
	}
	var s said
	require.NoError(b.t, json.Unmarshal(text, &s))
	if len(s.Events) > 0 && b.asks != "" {
		b.ask(ctx, of, asked{Number: 1_000_000, Host: events.HostOf(s.Events[0].Event), Text: []byte(b.asks)})
	}
	if len(s.Events)+len(s.Ends) > 0 && b.said != nil {
		b.said(&s)
	}
	if text, err = json.Marshal(s); len(s.Events) > 0 && b.raw != nil {
		text = b.raw
	}
	require.NoError(b.t, err)
	for _, one := range b.writer[of].Frames(text) {
		if err := b.Member.Say(ctx, one); err != nil {
			return err
		}
	}
	if len(s.Ends) > 0 && b.ended != nil {
		b.ended(func(q asked) answered { return b.ask(context.WithoutCancel(ctx), of, q) })
	}
	return nil
}

// Ask implements [queue.Member].
func (b *badMember) Ask(ctx context.Context, text []byte) ([]byte, error) {
	if b.question == nil || text[0] == asks {
		return b.Member.Ask(ctx, text)
	}
	key, err := keyring.ReadKey(filepath.Join(b.dir, "stranger"))
	require.NoError(b.t, err)
	var q question
	_, err = keyring.Verify(b.of.Workers.Ring(), questionKind, text, &q)
	require.NoError(b.t, err)
	b.question(&q)
	text, err = keyring.Sign(key, questionKind, q)
	require.NoError(b.t, err)
	return b.Member.Ask(ctx, text)
}

func (b *badMember) ask(ctx context.Context, of sealing.HandoutID, q asked) (a answered) {
	sealer, err := sealing.NewSealer(b.of.run.post.keyOf(of), of)
	require.NoError(b.t, err)
	sealed, err := sealer.Seal(sealing.ToCoordinator, q)
	require.NoError(b.t, err)
	text, err := b.Member.Ask(ctx, append(append([]byte{asks}, of[:]...), sealed...))
	if err != nil {
		return a
	}
	if text, err = sealer.Open(sealing.ToWorker, text); err == nil {
		require.NoError(b.t, sealing.Receive(text, &a))
	}
	return a
}

// TestBadWorkers has a worker whose key is on the list send messages that its hosts and their play do not allow. Only
// the worker fails: the messages have no effect, the run reports the fault, and another worker continues with the
// hosts.
func TestBadWorkers(t *testing.T) {
	sshtest.NeedsOwnLock(t)
	first := func(change func(*events.Result)) func(*said) {
		return func(s *said) {
			for i := range s.Events {
				if r, is := s.Events[i].Event.(events.Result); is {
					change(&r)
					s.Events[i].Event = r
				}
			}
		}
	}
	add := func(e events.Event) func(*said) {
		return func(s *said) { s.Events = append(s.Events, events.Carried{Event: e}) }
	}
	commands := `{"catalog":{"entries":[{"type":"file","name":"/x","health":[{"name":"x","argv":["sh","-c","touch $DIR/PWNED"],"tries":1,"timeout":1000000000}]}]}`
	for _, one := range []struct {
		name string
		bad  badWorker
		want string
	}{
		{"watched, of a host that is not", badWorker{asks: `{"watched":{}}`}, "sent a request about watched, which this turn does not allow"},
		{"a catalog for the controller", badWorker{asks: `{"here":` + commands + `,"index":0}}`}, `unknown field "catalog"`},
		{"a turn on the controller", badWorker{asks: `{"here":{"index":0}}`}, "requested that resource 0 of web1 run on the controller"},
		{"a file", badWorker{asks: `{"file":{"host":"web1","name":"/b","data":"YQ==","number":2,"keep":true}}`}, `handed over the file "/b" of web1, which the play does not fetch`},
		{"a host", badWorker{asks: `{"borrow":{"index":0,"on":"web2"}}`}, `requested "web2"`},
		{"a question that is no JSON", badWorker{asks: `{"`}, "is not readable"},
		{"a long question", badWorker{asks: `{"step":{"text":"` + strings.Repeat("x", 100<<10) + `"}}`}, "sent a question for a person"},
		{"a service", badWorker{said: first(func(r *events.Result) {
			r.Registers = []registry.Registration{{Cluster: "production", Service: "db", Protocol: "postgres", Address: "203.0.113.66", Priority: 1}}
		})}, "registers postgres db of production at 203.0.113.66"},
		{"a result of another host", badWorker{said: first(func(r *events.Result) { r.Host = "web2" })}, `reported something of "web2", which it was not given`},
		{"a result of another play", badWorker{said: first(func(r *events.Result) { r.Play = "other" })}, `reported an event of the play "other"`},
		{"a file in the record", badWorker{said: first(func(r *events.Result) { r.Fetched = "/etc/shadow" })}, "that the play does not fetch"},
		{"an event of the run", badWorker{said: add(events.RunStart{Hosts: 1})}, `reported something of ""`},
		{"the end of a host", badWorker{said: add(events.HostDone{Host: "web1"})}, "reported a events.HostDone, which only the coordinator reports"},
		{"many warnings", badWorker{said: func(s *said) { s.Warnings = make([]string, 5000) }}, "sent 5000 warnings at once"},
		{"an end that fails another host", badWorker{said: func(s *said) {
			for host, end := range s.Ends {
				end.Failure = &events.Carried{Event: events.HostFailed{Host: "web2", Play: "one"}}
				s.Ends[host] = end
			}
		}}, `of "web2" as the failure of web1`},
		{"what is no JSON", badWorker{raw: []byte("\x1b[31m")}, "is not readable"},
		{"more fields", badWorker{raw: []byte(`{"catalog":1}`)}, `unknown field "catalog"`},
	} {
		t.Run(one.name, func(t *testing.T) {
			s := newSite(t, "name: one\nccm: {resources: [exec: [{'true': }, {'echo done >done': {provider: shell, cwd: '{{ Data.home }}', creates: '{{ Data.home }}/done'}}]]}\n", "web1")
			q := connect(t, serve(t, s.dir).ClientURL())
			got, registered := &recorded{}, &services{}
			r := s.runner(s.inventory(map[string]string{}), got)
			r.Options.NoLock, r.Registry = false, registered
			r.Fetched = record.Store{Folder: filepath.Join(s.dir, "state")}.Fetched(r.Options.Run)
			c, warned := s.coordinator(q, r)
			others := s.ring("stranger.keys")
			maps.Copy(others, s.ring("worker.keys"))
			c.Workers = others
			c.Runner.Workers = entered{c}
			bad := one.bad
			bad.Queue, bad.t, bad.of = q, t, c
			bad.asks = strings.ReplaceAll(bad.asks, "$DIR", s.dir)
			said := s.work(&bad, "stranger", "")
			summary, over := s.begin(c)
			require.Eventually(t, func() bool {
				return strings.Contains(warned.all(), "broke the protocol of this run") || closed(over)
			}, wait, 10*1e6, "%s", warned.all())
			require.Contains(t, warned.all(), one.want)
			s.work(q, "worker", "")
			<-over
			text := strings.Join(got.lines(s), "\n")
			require.Equal(t, 1, summary().Totals.Hosts.OK, "%s\n%s", warned.all(), text)
			require.NotContains(t, text, "web2")
			require.NotContains(t, text, `"fetched":"/`)
			require.Empty(t, registered.list)
			require.NoFileExists(t, filepath.Join(s.dir, "PWNED"))
			require.NoFileExists(t, filepath.Join(s.dir, "state", r.Options.Run, "fetched"))
			require.Equal(t, 1, strings.Count(warned.all(), "broke the protocol of this run"), warned.all())
			require.FileExists(t, filepath.Join(s.hosts["web1"].Home, "done"))
			_ = said
		})
	}
}

// TestWorkerWithBadKeys has a worker request hosts with keys that nothing can be certified for, or sealed to: it is refused, no host fails,
// the run continues, and another worker gets the hosts.
func TestWorkerWithBadKeys(t *testing.T) {
	ca := sshtest.NewKey(t, "")
	for name, one := range map[string]struct {
		question func(*question)
		want     string
	}{
		"no key": {func(q *question) { q.SSHKey = nil }, "is not a public key of the type ssh-ed25519"},
		"junk":   {func(q *question) { q.SSHKey = []byte("\x00\x00\x00\x01x") }, "is not a public key of the type ssh-ed25519"},
		"a certificate": {func(q *question) {
			key, err := ssh.ParsePublicKey(q.SSHKey)
			require.NoError(t, err)
			c := &ssh.Certificate{Key: key, CertType: ssh.UserCert, ValidPrincipals: []string{"root"}, ValidBefore: ssh.CertTimeInfinity}
			require.NoError(t, c.SignCert(rand.Reader, ca))
			q.SSHKey = c.Marshal()
		}, "is not a public key of the type ssh-ed25519"},
		"a plugin of age": {func(q *question) { q.Recipient = "age1yubikey1qwerty" }, "is not a public key of age"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, "ccm: {resources: [exec: [{'true': }]]}\n", "web1")
			q := queuetest.New(0)
			c, warned := s.coordinator(q, s.runner(s.inventory(nil)))
			s.listed(c, map[string]string{"stranger": "", "worker": ""}, nil)
			s.work(&badWorker{Queue: q, t: t, of: c, dir: s.dir, question: one.question}, "stranger", "")
			summary, over := s.begin(c)
			require.Eventually(t, func() bool { return strings.Contains(warned.all(), one.want) || closed(over) }, wait, 10*time.Millisecond, warned.all())
			require.False(t, closed(over), warned.all())
			s.work(q, "worker", "")
			<-over
			require.Equal(t, 1, summary().Totals.Hosts.OK, warned.all())
		})
	}
}

// TestNoCertificateAfterTheEnd has a worker request certificates after its hosts have ended, while another worker still has hosts of the run.
func TestNoCertificateAfterTheEnd(t *testing.T) {
	s := newSite(t, waiting, "web1", "web2")
	s.write("free/go", "")
	q := queuetest.New(0)
	c, warned := s.coordinator(q, s.runner(s.inventory(map[string]string{
		"web1": fmt.Sprintf("site: paris, dir: %q,", filepath.Join(s.dir, "free")), "web2": fmt.Sprintf("dir: %q,", s.dir),
	})))
	ended := make(chan func(asked) answered, 10)
	bad := &badWorker{Queue: q, t: t, of: c, ended: func(ask func(asked) answered) { ended <- ask }}
	s.work(bad, "worker", "paris")
	s.work(q, "worker", "")
	summary, over := s.begin(c)
	ask, n := <-ended, 1_000_000
	require.Eventually(t, func() bool {
		n++
		return ask(asked{Number: n, Answered: n, Renew: true}).Over
	}, wait, 10*time.Millisecond, "it gets certificates")
	require.False(t, closed(over), "the run has ended")
	s.write("go", "")
	<-over
	require.Equal(t, 2, summary().Totals.Hosts.OK, warned.all())
}

// ring reads a list of keys.
func (s *site) ring(name string) keyring.Keyring {
	ring, err := ringIn(filepath.Join(s.dir, name))
	require.NoError(s.t, err)
	return ring
}

// TestExcludedMeanwhile excludes a worker while it is given hosts: it does not get them, and another worker does.
func TestExcludedMeanwhile(t *testing.T) {
	t.Parallel()
	s := newSite(t, "hosts: all\nccm:\n  resources:\n    - file:\n        - '{{ Data.home }}/a': {content: a, mode: '0600'}\n", "web1")
	q := queuetest.New(0)
	c, warned := s.coordinator(q, s.runner(s.inventory(nil)))
	s.listed(c, map[string]string{"worker": "", "stranger": ""}, nil)
	key, err := keyring.ReadKey(filepath.Join(s.dir, "worker"))
	require.NoError(t, err)
	certify, excluded := c.Certify, make(chan struct{})
	exclude := sync.OnceFunc(func() {
		c.run.transfers.exclude(t.Context(), &assignment{key: string(key.PublicKey().Marshal()), worker: "worker", errands: newErrandList()}, errors.New("it lied"))
		close(excluded)
	})
	c.Certify = func(ctx context.Context, of Certificate) ([]byte, time.Duration, error) {
		exclude()
		return certify(ctx, of)
	}
	summary, over := s.begin(c)
	said := s.work(q, "worker", "")
	<-excluded
	s.work(q, "stranger", "")
	select {
	case <-over:
	case <-time.After(wait):
		require.Fail(t, "the excluded worker still has the hosts", warned.all())
	}
	require.Equal(t, 1, summary().Totals.Hosts.OK, warned.all())
	require.Contains(t, said.all(), "it broke the protocol of this run: it lied")
}
