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
	"github.com/ccm-push/ccm-push/playbooks/workers/queue/queuetest"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// listed has a coordinator use a list of workers: each line is the options of a key of the site, by its name.
func (s *site) listed(c *Coordinator, options map[string]string, say func(string)) (path string) {
	s.writeList(options)
	path = filepath.Join(s.dir, "limited.keys")
	list, err := OpenWorkerList(path, say)
	require.NoError(s.t, err)
	c.Workers = list
	return path
}

func (s *site) writeList(options map[string]string) {
	var b strings.Builder
	for _, who := range []string{"stranger", "worker"} {
		if o, is := options[who]; is {
			key, err := ReadKey(filepath.Join(s.dir, who))
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
			require.Contains(t, said.all(), "its line in the list of workers there does not allow "+hostsOf(at))
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
	c.Workers = Keyring{key: {Name: "worker", At: "workers.keys:1", Sites: []string{"paris"}}}
	permits := func(key, host string) error {
		_, err := c.newRun(nil, nil).admission.permits(key, host)
		return err
	}
	require.ErrorContains(t, permits(key, "web1"), `workers.keys:1 allows only hosts of site "paris"`)
	require.ErrorContains(t, permits(key, "web1"), `site="paris,edge"`)
	c.Workers = Keyring{key: {Name: "worker", At: "workers.keys:1", Sites: []string{"paris", "edge"}}}
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
	key, err := ReadKey(filepath.Join(s.dir, "worker"))
	require.NoError(t, err)
	require.Regexp(t, "^"+regexp.QuoteMeta(path)+`:1: the worker worker may get hosts of every site\n  hint: if it may get only hosts of site "(paris|lyon)", write this line: site="(paris|lyon)" `+regexp.QuoteMeta(key.Public())+" worker$", warned.all())
}

// TestEntries reads lines with options.
func TestEntries(t *testing.T) {
	dir := t.TempDir()
	sshtest.WriteKey(t, filepath.Join(dir, "a"), "")
	key, err := ReadKey(filepath.Join(dir, "a"))
	require.NoError(t, err)
	long := strings.TrimSuffix(strings.Repeat("192.0.2.1,", maxAddresses+1), ",")
	for _, one := range []struct{ options, sites, from, err string }{
		{`site="paris"`, `["paris"]`, "[]", ""},
		{`site="paris, lyon",from="10.1.2.3/8,192.0.2.7"`, `["paris" "lyon"]`, "[10.0.0.0/8 192.0.2.7/32]", ""},
		{`SITE=""`, `[""]`, "[]", ""},
		{`site="",site="paris"`, `["" "paris"]`, "[]", ""},
		{`from="2001:db8::/32"`, `[]`, "[2001:db8::/32]", ""},
		{`site="paris,"`, "", "", `has an empty name: for hosts without a site write site="",site="OTHER"`},
		{`site=paris`, "", "", "write its value in double quotes"},
		{`site=paris,lyon`, "", "", "write its value in double quotes"},
		{`site`, "", "", "write its value in double quotes"},
		{`site="a\"b"`, "", "", "write its value in double quotes"},
		{`from=""`, "", "", "write an address such as"},
		{`from="!10.0.0.1"`, "", "", "write an address such as"},
		{`from="*.example.com"`, "", "", "write an address such as"},
		{`from="fe80::1%eth0"`, "", "", "write an address such as"},
		{`from="` + long + `"`, "", "", "has more than 32 addresses"},
		{`sites="paris"`, "", "", `the option "sites" is unknown`},
		{`no-pty,site="paris"`, "", "", `the option "no-pty" is unknown`},
	} {
		ring, err := parseKeyring("list", []byte(one.options+" "+key.Public()+" of a\n"), true)
		if one.err != "" {
			require.ErrorContains(t, err, one.err, one.options)
			require.ErrorContains(t, err, "list:1: ")
			continue
		}
		require.NoError(t, err, one.options)
		for _, e := range ring {
			require.Equal(t, one.sites, fmt.Sprintf("%q", e.Sites))
			require.Equal(t, one.from, fmt.Sprint(e.From))
			require.Equal(t, "of a", e.Name)
		}
		_, err = parseKeyring("list", []byte(one.options+" "+key.Public()+"\n"+key.Public()+"\n"), true)
		require.ErrorContains(t, err, "list:2: list:1 has the same key, and one of the two has options")
		_, err = parseKeyring("list", []byte(one.options+" "+key.Public()), false)
		require.ErrorContains(t, err, "list:1: options before a key have no meaning here")
	}
	for _, site := range []string{"a,b", `a"b`, `a\b`, " a", "a\nb"} {
		_, err := SiteOption(site)
		require.Error(t, err, site)
	}
}

// FuzzKeyring reads any list: a line never limits less than its options say.
func FuzzKeyring(f *testing.F) {
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ9Y7bpuC2RrBHHv5ZlYkjJD9mZ4q1S3dYbJ1xv6qgQY w1\n"
	for _, line := range []string{"", `site="paris" `, `site="",from="10.0.0.0/8,192.0.2.7" `, `from="::/0",site="a,b" `, `site="a `, `site=a,b `, "# "} {
		f.Add([]byte(line + key))
		f.Add([]byte(line + key + key))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		ring, err := parseKeyring("list", text, true)
		if err != nil {
			return
		}
		for blob, e := range ring {
			if e.Name == "" || e.At == "" || len(blob) == 0 {
				t.Fatalf("%+v", e)
			}
			if len(e.Sites) > 0 {
				if option, err := SiteOption(e.Sites...); err == nil {
					again := &Entry{}
					for part := range strings.SplitSeq(option, `",`) {
						if err := again.limit(strings.TrimSuffix(part, `"`) + `"`); err != nil {
							t.Fatal(option, err)
						}
					}
					for _, site := range e.Sites {
						if !again.allows(site) {
							t.Fatalf("%q: %s", site, option)
						}
					}
				}
			}
			for _, named := range []string{"0.0.0.0/0", "::/0", "10.1.0.0/16"} {
				list, ok := e.sources([]netip.Prefix{netip.MustParsePrefix(named)})
				if ok != (len(list) > 0) {
					t.Fatal("bound to nothing")
				}
				for _, p := range list {
					inside := len(e.From) == 0
					for _, allowed := range e.From {
						inside = inside || allowed.Bits() <= p.Bits() && allowed.Contains(p.Addr())
					}
					if !inside {
						t.Fatalf("%v is beyond %v", p, e.From)
					}
				}
			}
		}
	})
}

// A removedLine lists a worker the first time that it is read, and no worker later.
type removedLine struct{ ring Keyring }

func (r *removedLine) Ring() (now Keyring) {
	now, r.ring = r.ring, nil
	return now
}

// TestLineIsRemovedMeanwhile removes the line of a worker between two checks of one request: the limits of the line hold for all of the request.
func TestLineIsRemovedMeanwhile(t *testing.T) {
	ring := Keyring{"key": {Name: "w", From: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}}
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
