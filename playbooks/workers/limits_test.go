package workers

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue/queuetest"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// listed has a coordinator use a list of workers: each line is the options of a key of the site, by its name.
func (s *site) listed(c *Coordinator, options map[string]string, say func(string)) (path string) {
	s.writeList(options)
	path = filepath.Join(s.dir, "limited.keys")
	list, err := keyring.OpenWorkerList(path, say)
	require.NoError(s.t, err)
	c.Workers = list
	return path
}

func (s *site) writeList(options map[string]string) {
	var b strings.Builder
	for _, who := range []string{"stranger", "worker"} {
		if o, is := options[who]; is {
			key, err := keyring.ReadKey(filepath.Join(s.dir, who))
			require.NoError(s.t, err)
			fmt.Fprintf(&b, "%s\n", strings.TrimSpace(o+" "+key.Public()+" "+who))
		}
	}
	s.write("limited.keys", b.String())
}

// A certifying keeps the certificates that a coordinator has requested.
type certifying struct {
	mu   sync.Mutex
	list []Certificate
}

func certifies(c *Coordinator) *certifying {
	made, certify := &certifying{}, c.Certify
	c.Certify = func(ctx context.Context, of Certificate) ([]byte, time.Duration, error) {
		made.mu.Lock()
		made.list = append(made.list, of)
		made.mu.Unlock()
		return certify(ctx, of)
	}
	return made
}

func (m *certifying) all() []Certificate {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Certificate(nil), m.list...)
}

// TestWorkerOfAnotherSite has a worker whose line names the site lyon lease hosts of paris, and hosts without a site: it gets no file, no host
// and no certificate, and the hosts go to the worker whose line names their site.
func TestWorkerOfAnotherSite(t *testing.T) {
	for _, at := range []string{"paris", ""} {
		t.Run("site "+at, func(t *testing.T) {
			s := newSite(t, "ccm: {resources: [exec: [{'true': }]]}\n", "web1")
			q := connect(t, serve(t, s.dir).ClientURL())
			more := map[string]string{}
			if at != "" {
				more["web1"] = "site: " + at + ","
			}
			got := &recorded{}
			c, warned := s.coordinator(q, s.runner(s.inventory(more), got))
			made := certifies(c)
			path := s.listed(c, map[string]string{"stranger": `site="lyon"`, "worker": `site="` + at + `"`}, warned.add)
			said := s.work(q, "stranger", at)
			summary, over := s.begin(c)
			require.Eventually(t, func() bool { return strings.Contains(said.all(), "refuses this worker") || closed(over) }, wait, time.Millisecond)
			require.False(t, closed(over), "the run ended with the hosts at the wrong worker")
			require.Contains(t, said.all(), "the list of workers there does not allow this worker "+hostsOf(at))
			require.Contains(t, warned.all(), fmt.Sprintf("the worker stranger was refused %s: %s:1 allows only hosts of site \"lyon\"\n  hint: if it may get them, write before its key: ", hostsOf(at), path))
			require.Empty(t, made.all(), "it got a certificate")
			c.run.parcels.making.Lock()
			require.Empty(t, c.run.parcels.sent, "it got the files of the play")
			c.run.parcels.making.Unlock()
			c.run.ledger.mu.Lock()
			require.Empty(t, c.run.ledger.assigned)
			c.run.ledger.mu.Unlock()
			s.work(q, "worker", at)
			<-over
			require.Equal(t, 1, summary().Totals.Hosts.OK, warned.all())
			require.NotContains(t, strings.Join(got.lines(s), "\n"), "stranger")
			require.Equal(t, 1, strings.Count(warned.all(), "was refused"), warned.all())
		})
	}
}

// TestWorkerNamesMoreAddresses has workers name more addresses than their line allows: the certificates are bound to what both
// have, and a worker that names nothing of it gets none.
func TestWorkerNamesMoreAddresses(t *testing.T) {
	for _, one := range []struct {
		name, line, named string
		want              string // addresses of its certificates; empty if it is refused
	}{
		{"all", "127.0.0.0/8", "0.0.0.0/0", "127.0.0.0/8"},
		{"all of both families", "127.0.0.0/8,::1", "0.0.0.0/0 ::/0", "127.0.0.0/8 ::1/128"},
		{"none", "127.0.0.0/8,::1", "", "127.0.0.0/8 ::1/128"},
		{"one of them", "127.0.0.0/8", "127.0.0.1/32", "127.0.0.1/32"},
		{"one of them, and another", "127.0.0.0/8", "127.0.0.1/32 192.0.2.1/32", "127.0.0.1/32"},
		{"another", "127.0.0.0/8", "192.0.2.1/32", ""},
		{"all of another family", "127.0.0.0/8", "::/0", ""},
		{"the same, mapped", "127.0.0.0/8", "::ffff:127.0.0.1/128", ""},
	} {
		t.Run(one.name, func(t *testing.T) {
			s := newSite(t, "ccm: {resources: [exec: [{'true': }]]}\n", "web1")
			q := queuetest.New(0)
			c, warned := s.coordinator(q, s.runner(s.inventory(nil)))
			made := certifies(c)
			path := s.listed(c, map[string]string{"stranger": `site="",from="` + one.line + `"`, "worker": `site=""`}, warned.add)
			said := s.work(q, "stranger", "", func(w *Worker) {
				for _, text := range strings.Fields(one.named) {
					w.Addresses = append(w.Addresses, netip.MustParsePrefix(text))
				}
			})
			summary, over := s.begin(c)
			require.Eventually(t, func() bool { return strings.Contains(said.all(), "refuses this worker") || closed(over) }, wait, time.Millisecond)
			if one.want == "" {
				require.Contains(t, warned.all(), "the worker stranger was refused: "+path+":1 allows none of the addresses that it names (--worker-address)\n  hint: ")
				require.Empty(t, made.all())
				s.work(q, "worker", "")
			}
			<-over
			require.Equal(t, 1, summary().Totals.Hosts.OK, warned.all())
			if one.want != "" {
				require.NotEmpty(t, made.all())
				for _, of := range made.all() {
					require.Equal(t, "["+one.want+"]", fmt.Sprint(of.Sources))
				}
			}
		})
	}
}

// TestWorkerLosesItsSite has the line of a worker changed, or removed, while it has hosts: it gets no other certificate, and the hosts go
// to another worker.
func TestWorkerLosesItsSite(t *testing.T) {
	sshtest.NeedsOwnLock(t)
	for name, later := range map[string]map[string]string{
		"another site":    {"stranger": `site="lyon"`, "worker": `site="paris"`},
		"other addresses": {"stranger": `site="paris",from="192.0.2.1"`, "worker": `site="paris"`},
		"removed":         {"worker": `site="paris"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, waiting, "web1")
			q := queuetest.New(0)
			r := s.runner(s.inventory(map[string]string{"web1": fmt.Sprintf("site: paris, dir: %q,", s.dir)}))
			r.Options.NoLock = false
			c, warned := s.coordinator(q, r)
			s.numbered(c, 2*time.Second, func(uint64) error { return nil })
			made := certifies(c)
			s.listed(c, map[string]string{"stranger": `site="paris"`, "worker": `site="paris"`}, warned.add)
			s.work(q, "stranger", "paris", func(w *Worker) { w.Addresses = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")} })
			summary, over := s.begin(c)
			require.Eventually(t, s.exists("begun"), wait, time.Millisecond)
			require.Eventually(t, func() bool { return len(made.all()) > 2 }, wait, time.Millisecond, "it is renewed")
			s.writeList(later)
			require.Eventually(t, func() bool { return strings.Contains(warned.all(), "the worker stranger gets no other certificate") }, wait, time.Millisecond, warned.all())
			before := len(made.all())
			time.Sleep(3 * time.Second)
			require.Len(t, made.all(), before, "it got another certificate")
			s.write("go", "")
			s.work(q, "worker", "paris")
			<-over
			require.Equal(t, 1, summary().Totals.Hosts.OK, warned.all())
		})
	}
}

// TestLentHostOfAnotherSite has a play of a host of paris do something on a host of lyon: a worker of paris alone gets no certificate for that.
func TestLentHostOfAnotherSite(t *testing.T) {
	for _, sites := range []string{"paris", "paris,lyon"} {
		s := newSite(t, "hosts: web1\nccm: {resources: [exec: [{'true': {on: db1}}]]}\n", "web1", "db1")
		q := queuetest.New(0)
		got := &recorded{}
		c, warned := s.coordinator(q, s.runner(s.inventory(map[string]string{"web1": "site: paris,", "db1": "site: lyon,"}), got))
		made := certifies(c)
		s.listed(c, map[string]string{"worker": `site="` + sites + `"`}, warned.add)
		s.work(q, "worker", "paris")
		summary := s.run(c)
		text := strings.Join(got.lines(s), "\n") + warned.all()
		if sites != "paris" {
			require.Equal(t, 1, summary.Totals.Hosts.OK, text)
			continue
		}
		require.Equal(t, 1, summary.Totals.Hosts.Failed, text)
		require.Contains(t, text, `limited.keys:1 allows only hosts of site \"paris\"`)
		require.Contains(t, text, `site=\"paris,lyon\"`)
		for _, of := range made.all() {
			require.NotContains(t, strings.Join(of.Principals, " "), "@lyon")
		}
	}
}

// TestJumpHostOfAnotherSite has the way to a host of paris lead through a host of another site: its certificate is for both sites.
func TestJumpHostOfAnotherSite(t *testing.T) {
	s := newSite(t, "ccm: {resources: [exec: [{'true': }]]}\n")
	inv, err := inventory.Parse("hosts.yaml", []byte("all: {hosts: {web1: {site: paris, connect: {address: 192.0.2.1, user: u, jump: gate}}, gate: {site: edge, connect: {address: 192.0.2.2, user: u}}}}"))
	require.NoError(t, err)
	r := s.runner(s.inventory(nil))
	r.Inventory = inv
	c, _ := s.coordinator(queuetest.New(0), r)
	key := ""
	for one := range maps.Keys(s.ring("worker.keys")) {
		key = one
	}
	c.Workers = keyring.Keyring{key: {Name: "worker", At: "workers.keys:1", Sites: []string{"paris"}}}
	permits := func(key, host string) error {
		_, err := c.newRun(nil, nil).admission.permits(key, host)
		return err
	}
	require.ErrorContains(t, permits(key, "web1"), `workers.keys:1 allows only hosts of site "paris"`)
	require.ErrorContains(t, permits(key, "web1"), `site="paris,edge"`)
	c.Workers = keyring.Keyring{key: {Name: "worker", At: "workers.keys:1", Sites: []string{"paris", "edge"}}}
	require.NoError(t, permits(key, "web1"))
	require.Error(t, permits("another key", "web1"))
}

// TestLineWithoutASite has a worker of a line without options get hosts of two sites, with one warning that has the line to write.
func TestLineWithoutASite(t *testing.T) {
	s := newSite(t, "ccm: {resources: [exec: [{'true': }]]}\n", "web1", "web2")
	q := queuetest.New(0)
	c, warned := s.coordinator(q, s.runner(s.inventory(map[string]string{"web1": "site: paris,", "web2": "site: lyon,"})))
	path := s.listed(c, map[string]string{"worker": ""}, warned.add)
	s.work(q, "worker", "paris")
	s.work(q, "worker", "lyon")
	require.Equal(t, 2, s.run(c).Totals.Hosts.OK)
	key, err := keyring.ReadKey(filepath.Join(s.dir, "worker"))
	require.NoError(t, err)
	require.Regexp(t, "^"+regexp.QuoteMeta(path)+`:1: the worker worker may get hosts of every site\n  hint: if the worker may get only hosts of site "(paris|lyon)", write this line: site="(paris|lyon)" `+regexp.QuoteMeta(key.Public())+" worker$", warned.all())
}

// A removedLine lists a worker the first time that it is read, and no worker later.
type removedLine struct{ ring keyring.Keyring }

func (r *removedLine) Ring() (now keyring.Keyring) {
	now, r.ring = r.ring, nil
	return now
}

// TestLineIsRemovedMeanwhile removes the line of a worker between two checks of one request: the limits of the line hold for all of the request.
func TestLineIsRemovedMeanwhile(t *testing.T) {
	ring := keyring.Keyring{"key": {Name: "w", From: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}}
	elsewhere := []netip.Prefix{netip.MustParsePrefix("198.51.100.1/32")}
	m := &admission{workers: &removedLine{ring}, warn: func(string) {}}
	q, a := question{Addresses: elsewhere}, answer{}
	require.False(t, m.limit("w", "key", nil, &q, &a))
	require.Contains(t, a.Refused, "allows none of the addresses")

	m.workers = &removedLine{ring}
	_, err := m.renewable(&assignment{key: "key", errands: newErrandList()}, Certificate{Sources: elsewhere}, "")
	require.ErrorContains(t, err, "allows none of the addresses")
}

// TestTakenShardWaitsAnew takes hosts from a worker: they wait since then, and not since the run began or an earlier worker was lost.
func TestTakenShardWaitsAnew(t *testing.T) {
	before := time.Now().Add(-time.Hour)
	s := &shard{id: "1", site: "paris", taken: 2, since: before, last: &assignment{worker: "earlier", returned: before, errands: newErrandList()}}
	s.turns = map[string]*turn{"web1": {}}
	s.current = &assignment{shard: s, worker: "w", errands: newErrandList()}
	l := newLedger(nil)
	l.shards[s.id] = s
	shards, _ := l.takeFrom(func(*assignment) bool { return true })
	require.Equal(t, []*shard{s}, shards)
	state := (&attendance{queue: queuetest.New(0), ledger: l, routes: &routes{}, silence: silenceTime}).states()["paris"]
	require.Equal(t, []string{"web1"}, state.hosts)
	require.Empty(t, state.absent)
	require.WithinDuration(t, time.Now(), state.since, time.Minute)
}
