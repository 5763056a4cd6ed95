package workers

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/ccm-push/ccm-push/inventory"
	"github.com/ccm-push/ccm-push/modules/builds"
	"github.com/ccm-push/ccm-push/modules/builds/buildtest"
	"github.com/ccm-push/ccm-push/modules/builtin"
	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/manifest/load"
	"github.com/ccm-push/ccm-push/playbooks/natsconn/natstest"
	"github.com/ccm-push/ccm-push/playbooks/record"
	"github.com/ccm-push/ccm-push/playbooks/registry"
	"github.com/ccm-push/ccm-push/playbooks/secret"
	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
	"github.com/ccm-push/ccm-push/playbooks/workers/parcel"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue/queuetest"
	"github.com/ccm-push/ccm-push/transport/dial"
	"github.com/ccm-push/ccm-push/transport/sshtest"
	"github.com/ccm-push/ccm-push/transport/start"
)

// wait is longer than anything here takes.
const wait = 5 * time.Minute

// workerVariable makes the test program a worker: its value is the folder with the files that the test has written for
// it.
const workerVariable = "CCM_PUSH_TEST_WORKER"

func TestMain(m *testing.M) {
	if folder := os.Getenv(workerVariable); folder != "" {
		if err := workIn(folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if where := os.Getenv(serverVariable); where != "" {
		if err := serveAlone(where); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A site is hosts that trust an authority, and the keys of a coordinator and a worker.
type site struct {
	t         *testing.T
	dir       string // with the manifest, and all else
	authority ssh.Signer
	locked    string // see [site.lockedAuthority]
	hosts     map[string]*sshtest.Server
	strangers map[string]bool              // hosts that trust another authority
	old       bool                         // hosts know accounts alone, and no sites
	admits    func(*ssh.Certificate) error // check of the certificates; nil accepts all certificates of the authority
	builds    []start.Build
	full      []start.Build // full host programs, for watched hosts; nil until [site.withFull]
	buildID   string

	mu    sync.Mutex
	files []string // files that the plays were read from
}

func (s *site) note(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files = append(s.files, path)
}

func (s *site) read() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.files)
}

// newSite starts hosts that accept only logins with a certificate of the authority.
func newSite(t *testing.T, manifest string, names ...string) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir(), hosts: map[string]*sshtest.Server{}}
	authority, err := ssh.NewSignerFromKey(sshtest.WriteKey(t, filepath.Join(s.dir, "authority"), ""))
	require.NoError(t, err)
	s.authority = authority
	for _, name := range names {
		s.hosts[name] = sshtest.Start(t, sshtest.Outlive(), sshtest.Auth(func(c *ssh.ServerConfig) {
			c.PublicKeyCallback = func(m ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
				if s.strangers[name] {
					return nil, errors.New("it trusts another authority")
				}
				return s.letsIn(m, key)
			}
		}))
	}
	s.write("site.yaml", manifest)
	for _, who := range []string{"coordinator", "worker", "stranger"} {
		sshtest.WriteKey(t, filepath.Join(s.dir, who), "")
		key, err := keyring.ReadKey(filepath.Join(s.dir, who))
		require.NoError(t, err)
		s.write(who+".keys", "# who may act\n"+key.Public()+" "+who+"\n")
	}
	s.findBuilds()
	return s
}

// findBuilds takes the host program of this machine.
func (s *site) findBuilds() {
	for _, b := range buildtest.Own(s.t) {
		s.buildID = b.ID
		s.builds = append(s.builds, sent(b))
		s.install(b)
	}
}

// withFull takes the full host program too.
func (s *site) withFull() {
	for _, b := range buildtest.Both(s.t) {
		if b.Full {
			s.full = append(s.full, sent(b))
			s.install(b)
		}
	}
}

// install puts a host program where an earlier run leaves it.
func (s *site) install(b builds.Build) {
	for _, srv := range s.hosts {
		buildtest.Install(s.t, srv.Home, b)
	}
}

func sent(b builds.Build) start.Build {
	return start.Build{
		OS: b.OS, Arch: b.Arch, SHA256: b.SHA256, Size: b.Size, Compressed: b.Compressed, CompressedSize: b.CompressedSize, CompressedSHA256: b.CompressedSHA256,
	}
}

// letsIn accepts logins with a certificate of the authority.
func (s *site) letsIn(m ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
	if cert, is := key.(*ssh.Certificate); is && s.admits != nil {
		if err := s.admits(cert); err != nil {
			return nil, err
		}
	}
	checker := &ssh.CertChecker{
		IsUserAuthority:          func(key ssh.PublicKey) bool { return bytes.Equal(key.Marshal(), s.authority.PublicKey().Marshal()) },
		SupportedCriticalOptions: []string{"source-address"},
	}
	cert, is := key.(*ssh.Certificate)
	if !is || s.old || !checker.IsUserAuthority(cert.SignatureKey) {
		return checker.Authenticate(m, key)
	}
	for _, name := range cert.ValidPrincipals { // as AuthorizedPrincipalsFile lists them; sites are for tests with a real sshd
		if strings.HasPrefix(name, m.User()+"@") {
			return &cert.Permissions, checker.CheckCert(name, cert)
		}
	}
	return nil, errors.New("its principals are none of the file")
}

// bound are the critical options of a certificate.
func bound(of Certificate) ssh.Permissions {
	p := ssh.Permissions{CriticalOptions: map[string]string{}}
	var from []string
	for _, one := range of.Sources {
		from = append(from, one.String())
	}
	if len(from) > 0 {
		p.CriticalOptions["source-address"] = strings.Join(from, ",")
	}
	return p
}

func (s *site) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(s.t, os.WriteFile(path, []byte(text), 0o600))
}

// inventory is the text of one, with more variables for hosts.
func (s *site) inventory(more map[string]string) string {
	var b strings.Builder
	b.WriteString("all:\n  vars: {canary: everybody-knows}\n  hosts:\n")
	for name, srv := range s.hosts {
		fmt.Fprintf(&b, "    %s: {home: %q, %s connect: {address: %q, port: %d, user: %s, known_hosts: %q}}\n",
			name, srv.Home, more[name], srv.Host, srv.Port, srv.User, srv.KnownHosts)
	}
	return b.String()
}

// runner returns the runner of a coordinator, or of a run without one.
func (s *site) runner(inv string, to ...events.Reporter) *playbooks.Runner {
	t := s.t
	s.write("hosts.yaml", inv)
	parsed, err := inventory.Load(t.Context(), []string{filepath.Join(s.dir, "hosts.yaml")}, inventory.Options{})
	require.NoError(t, err)
	plays, err := load.Files(t.Context(), []string{filepath.Join(s.dir, "site.yaml")}, builtin.Types(), load.WithNote(s.note))
	require.NoError(t, err)
	tally := &events.Tally{}
	r := &playbooks.Runner{
		Inventory: parsed, Plays: plays, Dialer: &dial.Dialer{}, Builds: s.builds, FullBuilds: s.full, BuildID: s.buildID, Tally: tally,
		Options: playbooks.Options{Run: "01JDXYZ0000000000000000000", Holder: "tester@here (pid 1)", Reconnect: time.Minute, Version: "test", NoLock: true}, // for root, all hosts on one machine have one lock
		Now:     time.Now, NewNonce: rand.Text,
	}
	r.Options.Catalog.Mask = &secret.Mask{}
	r.Options.Catalog.Environ = map[string]any{}
	r.Events = events.NewStream(r.Options.Run, time.Now, append([]events.Reporter{tally}, to...)...).WithMask(r.Options.Catalog.Mask)
	t.Cleanup(func() { r.Dialer.Close() })
	return r
}

func (s *site) paths(names ...string) (paths []string) {
	for _, name := range names {
		paths = append(paths, filepath.Join(s.dir, name))
	}
	return paths
}

// coordinator is one for a run.
func (s *site) coordinator(q queue.Queue, r *playbooks.Runner) (*Coordinator, *warnings) {
	t := s.t
	key, err := keyring.ReadKey(filepath.Join(s.dir, "coordinator"))
	require.NoError(t, err)
	ring := s.ring("worker.keys")
	for key, e := range ring { // it may get all hosts of the run, without a warning
		e.Sites = []string{""}
		for _, h := range r.Inventory.Hosts() {
			e.Sites = append(e.Sites, playbooks.SiteOf(h))
		}
		ring[key] = e
	}
	w := &warnings{}
	c := &Coordinator{
		Queue: q, Key: key, Workers: ring, Runner: r, Warn: w.add,
		Recipe: parcel.Recipe{
			Paths: []string{filepath.Join(s.dir, "site.yaml")}, Folder: s.dir, Files: s.read,
			Without: s.paths("hosts.yaml", "coordinator", "worker", "authority", "server", "here", "there", buildsFile, programFile+"0", programFile+"1"),
		},
		Certify: func(ctx context.Context, of Certificate) ([]byte, time.Duration, error) {
			public, err := ssh.ParsePublicKey(of.SSHKey)
			require.NoError(t, err)
			cert := &ssh.Certificate{
				Key: public, CertType: ssh.UserCert, KeyId: "worker", ValidPrincipals: of.Principals, Permissions: bound(of),
				ValidAfter: uint64(time.Now().Add(-time.Minute).Unix()), ValidBefore: uint64(time.Now().Add(time.Hour).Unix()),
			}
			require.NoError(t, cert.SignCert(rand.Reader, s.authority))
			return ssh.MarshalAuthorizedKey(cert), time.Hour, nil
		},
	}
	r.Workers = c
	return c, w
}

// ringIn reads a list of keys.
func ringIn(path string) (keyring.Keyring, error) {
	list, err := keyring.OpenKeyFile(path, nil)
	if err != nil {
		return nil, err
	}
	return list.Ring(), nil
}

type warnings struct {
	mu   sync.Mutex
	list []string
}

func (w *warnings) add(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, text)
}

func (w *warnings) all() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.list, "\n")
}

// workerIn makes a worker from the files that a test has written to a folder.
func workerIn(folder, key string, q queue.Queue) (*Worker, error) {
	own, err := keyring.ReadKey(filepath.Join(folder, key))
	if err != nil {
		return nil, err
	}
	ring, err := ringIn(filepath.Join(folder, "coordinator.keys"))
	return &Worker{Queue: q, Key: own, Coordinators: ring, Registry: builtin.Types(), Version: "test", Temp: folder}, err
}

// work has a worker work until the test ends.
func (s *site) work(q queue.Queue, key, at string, options ...func(*Worker)) *warnings {
	w, err := workerIn(s.dir, key, q)
	require.NoError(s.t, err)
	said := &warnings{}
	w.Builds, w.FullBuilds, w.BuildID, w.Site, w.Say, w.Temp = s.builds, s.full, s.buildID, at, said.add, s.t.TempDir()
	for _, set := range options {
		set(w)
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	stop := make(chan struct{})
	var working sync.WaitGroup
	working.Go(func() { _ = w.Run(ctx, stop) })
	s.t.Cleanup(func() {
		close(stop)
		cancel()
		working.Wait()
		left, err := filepath.Glob(filepath.Join(w.Temp, "*"))
		require.NoError(s.t, err)
		require.Empty(s.t, left, "a worker leaves nothing on its disk")
	})
	return said
}

// A recorded keeps the reported events.
type recorded struct {
	mu   sync.Mutex
	list []events.Event
	hook func(events.Event)
}

func (r *recorded) Report(e events.Event) {
	r.mu.Lock()
	r.list = append(r.list, e)
	r.mu.Unlock()
	if r.hook != nil {
		r.hook(e)
	}
}

// lines returns the reports about each host, in their order, without times and homes.
func (r *recorded) lines(s *site) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	byHost := map[string][]string{}
	for _, e := range r.list {
		host := events.HostOf(e)
		if host == "" {
			continue
		}
		var line bytes.Buffer
		events.NewJSON(&line).Report(e)
		var m map[string]any
		require.NoError(s.t, json.Unmarshal(line.Bytes(), &m))
		for _, key := range []string{"time", "duration_ms", "phases_ms"} {
			delete(m, key)
		}
		text, err := json.Marshal(m)
		require.NoError(s.t, err)
		byHost[host] = append(byHost[host], strings.ReplaceAll(string(text), s.hosts[host].Home, "HOME"))
	}
	var all []string
	for _, host := range slices.Sorted(maps.Keys(byHost)) {
		all = append(all, byHost[host]...)
	}
	return all
}

// run runs a coordinator's run.
func (s *site) run(c *Coordinator) events.Summary {
	s.t.Helper()
	summary, _ := s.begin(c)
	return summary()
}

// begin begins a coordinator's run, and returns a function that waits for its summary. Over is closed at the end of the
// run.
func (s *site) begin(c *Coordinator) (summary func() events.Summary, over <-chan struct{}) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), wait)
	if err := c.Begin(ctx); err != nil {
		cancel()
		require.NoError(s.t, err)
	}
	var result events.Summary
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer cancel()
		result, err = c.Runner.Run(ctx, nil)
		err = errors.Join(err, c.Close(ctx))
	}()
	return func() events.Summary {
		s.t.Helper()
		<-ended
		require.NoError(s.t, err)
		return result
	}, ended
}

const twoPlays = `
- name: one
  data: {greeting: hello}
  ccm:
    pre_message: "{{ Data.greeting }}"
    resources:
      - file: ["{{ Data.home }}/motd": {content: "{{ jet('motd.jet') }}", owner: "%[1]d", group: "%[1]d", mode: "0644"}]
      - exec: ["touch made": {cwd: "{{ Data.home }}", creates: "{{ Data.home }}/made"}]
      - exec: ["echo {{ Groups.all | len() }} hosts; test {{ Host.name }} != web3": {provider: shell}]
- name: two
  ccm: {resources: [exec: [{"echo {{ Data.canary }}": }]]}
`

func plays() string { return fmt.Sprintf(twoPlays, os.Getuid()) }

// queues has a test be done with each kind of queue.
func queues(t *testing.T, test func(t *testing.T, q func(dir string) queue.Queue)) {
	t.Run("in process", func(t *testing.T) {
		q := queuetest.New(0)
		test(t, func(string) queue.Queue { return q })
	})
	t.Run("JetStream", func(t *testing.T) {
		test(t, func(dir string) queue.Queue { return connect(t, serve(t, dir).ClientURL()) })
	})
}

func serve(t *testing.T, dir string) *server.Server { return serveAt(t, dir, -1) }

func serveAt(t *testing.T, dir string, port int) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: filepath.Join(dir, "server"), NoSigs: true, NoLog: true})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() { natstest.Stop(t, s) })
	require.True(t, s.ReadyForConnections(wait))
	return s
}

func connect(t *testing.T, url string) queue.Queue {
	t.Helper()
	conn, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	q, err := queue.NewJetStream(conn, testLease)
	require.NoError(t, err)
	return q
}

// TestRun takes a run over hosts of two sites by three workers: all reports are as without workers.
func TestRun(t *testing.T) {
	queues(t, func(t *testing.T, open func(dir string) queue.Queue) {
		s := newSite(t, plays(), "web1", "web2", "web3", "db1", "db2")
		s.write("motd.jet", "[[ Host.name ]] runs [[ Facts.host.info.os ]]\n")
		inv := s.inventory(map[string]string{"db1": "site: far,", "db2": "site: far,"})
		q := open(s.dir)
		for _, at := range []string{"", "", "far"} {
			s.work(q, "worker", at)
		}
		for _, check := range []bool{true, false, false} {
			got := &recorded{}
			r := s.runner(inv, got)
			r.Options.Check = check
			c, warned := s.coordinator(q, r)
			summary := s.run(c)
			failed := 1 // which a check does not foretell
			if check {
				failed = 0
			}
			require.Equal(t, len(s.hosts)-failed, summary.Totals.Hosts.OK)
			require.Equal(t, failed, summary.Totals.Hosts.Failed)
			require.Empty(t, warned.all())
			require.Len(t, got.lines(s), len(s.hosts)*6-failed)
		}
		for name, srv := range s.hosts {
			motd, err := os.ReadFile(filepath.Join(srv.Home, "motd"))
			require.NoError(t, err)
			require.Equal(t, name+" runs linux\n", string(motd))
		}
	})
}

// services are the registrations of a test. Services of the cluster nowhere cannot be registered.
type services struct {
	mu   sync.Mutex
	list []string
}

func (s *services) Ready(context.Context) error { return nil }

func (s *services) Register(_ context.Context, list []registry.Registration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range list {
		if one.Cluster == "nowhere" {
			return errors.New("refused")
		}
		s.list = append(s.list, one.String())
	}
	return nil
}

// TestRegistration has the coordinator register what workers have brought about: only it reaches the registry.
func TestRegistration(t *testing.T) {
	s := newSite(t, `
- name: one
  ccm:
    resources:
      - exec:
          - "true": {register_when_stable: [{cluster: "{{ Host.name == 'web2' ? 'nowhere' : 'eu' }}", service: "{{ Host.name }}", protocol: http, address: 192.0.2.3, priority: 1}]}
- name: two
  ccm: {resources: [exec: [{"true": }]]}
`, "web1", "web2")
	q := queuetest.New(0)
	s.work(q, "worker", "")
	got, registered := &recorded{}, &services{}
	r := s.runner(s.inventory(nil), got)
	r.Registry = registered
	c, warned := s.coordinator(q, r)
	s.run(c)
	require.Empty(t, warned.all())
	require.Equal(t, []string{"http web1 of eu at 192.0.2.3"}, registered.list)
	text := strings.Join(got.lines(s), "\n")
	require.Contains(t, text, `"text":"registered: http web1 of eu at 192.0.2.3"`)
	require.Contains(t, text, `"error":"refused"`)
	require.Equal(t, 1, strings.Count(text, `"play":"two"`), "a host that has failed enters no further play")
}

const sharing = `
- name: one
  ccm:
    resources:
      - exec: ["echo token of {{ Host.name }}": {provider: shell, alias: token, export: [stdout], sema: ["door:1"]}]
      - exec: ["true": {once: true, alias: first}]
      - file:
          - "{{ Data.home }}/got":
              owner: "%[1]d"
              group: "%[1]d"
              mode: "0600"
              control: {if: "Host.name != 'web1'"}
              recv: {content: {host: web1, from: exec#token.stdout}}
      - exec: ["echo {{ Host.name }} >>{{ Data.log }}": {provider: shell, on: db1}]
      - exec: ["echo {{ Host.name }} >>{{ Data.log }}": {provider: shell, on: controller, alias: here, control: {if: "Host.name == 'db2'"}}]
- name: two
  hosts: "!db1"
  rollout:
    batches: [2, 100%%]
    soak: 1s
    drain: {before: [exec: [{"echo {{ Host.name }} out >>{{ Data.log }}": {provider: shell, on: db1}}]]}
  ccm: {resources: [exec: [{"touch rolled": {cwd: "{{ Data.home }}", creates: "{{ Data.home }}/rolled"}}]]}
`

// TestShared has hosts of many shards wait for each other at workers that work on one shard at a time, and
// come in a rollout.
func TestShared(t *testing.T) {
	queues(t, func(t *testing.T, open func(dir string) queue.Queue) {
		s := newSite(t, fmt.Sprintf(sharing, os.Getuid()), "web1", "web2", "web3", "db1", "db2")
		log := filepath.Join(s.dir, "log")
		inv := strings.Replace(s.inventory(map[string]string{"db1": "site: far,", "db2": "site: far,"}), "canary: everybody-knows", fmt.Sprintf("log: %q", log), 1)
		q := open(s.dir)
		for _, at := range []string{"", "far"} {
			s.work(q, "worker", at, func(w *Worker) { w.Shards = 1 })
		}
		got := &recorded{}
		r := s.runner(inv, got)
		c, warned := s.coordinator(q, r)
		c.Size = 1
		summary := s.run(c)
		require.Equal(t, len(s.hosts), summary.Totals.Hosts.OK, "%s\n%s", strings.Join(got.lines(s), "\n"), warned.all())
		for name, srv := range s.hosts {
			if name != "db1" {
				require.FileExists(t, filepath.Join(srv.Home, "rolled"))
			}
			if name != "web1" {
				text, err := os.ReadFile(filepath.Join(srv.Home, "got"))
				require.NoError(t, err)
				require.Equal(t, "token of web1\n", string(text))
			}
		}
		results := slices.DeleteFunc(got.lines(s), func(line string) bool { return strings.Contains(line, `"event":"resource_start"`) })
		lines := strings.Join(results, "\n")
		require.NotContains(t, lines, `"status":"failed"`)
		require.Equal(t, len(s.hosts)-1, strings.Count(lines, `"alias":"first"`)-strings.Count(lines, `"name":"true","once"`), lines)
		text, err := os.ReadFile(log)
		require.NoError(t, err)
		done := strings.Split(strings.TrimSpace(string(text)), "\n")
		slices.Sort(done)
		require.Equal(t, []string{"db1", "db2", "db2", "db2 out", "web1", "web1 out", "web2", "web2 out", "web3", "web3 out"}, done)
	})
}

// TestStranger has a worker that is on no list, and a coordinator that a worker does not obey.
func TestStranger(t *testing.T) {
	queues(t, func(t *testing.T, open func(dir string) queue.Queue) {
		s := newSite(t, plays(), "web1")
		s.write("motd.jet", "x")
		q := open(s.dir)
		got := &recorded{}
		r := s.runner(s.inventory(nil), got)
		c, warned := s.coordinator(q, r)
		said := s.work(q, "stranger", "")
		stop := make(chan struct{})
		go func() {
			defer close(stop)
			require.Eventually(t, func() bool {
				return strings.Contains(said.all(), "refuses this worker: its key is not on the list of workers there (--workers-list)")
			}, wait, time.Millisecond)
		}()
		require.NoError(t, c.Begin(t.Context()))
		summary, err := r.Run(t.Context(), stop)
		require.NoError(t, errors.Join(err, c.Close(t.Context())))
		require.Equal(t, []string{"web1"}, summary.NotStarted)
		require.Regexp(t, "^a worker was refused: it is signed by the key SHA256:[^ ]{43}, which is not on the list\n  hint: if this key may get hosts, add it to the file of --workers-list, which is read again at once: ssh-ed25519 AAAA", warned.all())
		require.EqualValues(t, 0, s.hosts["web1"].Stats().Connections)
	})
}

// TestStrangerBesideAWorker has workers be there that may not work for a run: the one that may gets all hosts, and soon.
func TestStrangerBesideAWorker(t *testing.T) {
	queues(t, func(t *testing.T, open func(dir string) queue.Queue) {
		s := newSite(t, "ccm: {resources: [exec: [{'true': }]]}\n", "web1", "web2", "web3")
		q := open(s.dir)
		said := s.work(q, "stranger", "")
		c, warned := s.coordinator(q, s.runner(s.inventory(nil)))
		c.Size = 1
		began := time.Now()
		summary, over := s.begin(c)
		require.Eventually(t, func() bool { return strings.Contains(warned.all(), "a worker was refused") }, wait, time.Millisecond)
		s.work(q, "worker", "")
		<-over
		require.Equal(t, 3, summary().Totals.Hosts.OK, warned.all())
		require.Less(t, time.Since(began), queue.LeaseTime/2)
		require.Equal(t, 1, strings.Count(warned.all(), "a worker was refused"), warned.all())
		require.Equal(t, 1, strings.Count(said.all(), "refuses this worker"), said.all())
	})
}

// TestNothingInTheClear looks for canaries in all data that the server has on its disk during a run.
func TestNothingInTheClear(t *testing.T) {
	s := newSite(t, plays(), "web1", "web2")
	s.write("motd.jet", "canary-of-a-template [[ Data.token ]]\n")
	inv := s.inventory(map[string]string{"web1": "token: !secret canary-of-web1,", "web2": "token: !secret canary-of-web2,"})
	srv := serve(t, s.dir)
	q := connect(t, srv.ClientURL())
	s.work(q, "worker", "")
	var found []string
	var once sync.Once
	look := func() {
		_ = filepath.WalkDir(filepath.Join(s.dir, "server"), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil
			}
			data, _ := os.ReadFile(path)
			for _, word := range []string{"canary", "web1", "web2", "exec", "touch made", s.hosts["web1"].Home, "BEGIN OPENSSH", "everybody-knows", "hello", "site.yaml", "01JDXYZ", "coordinator@here"} {
				if bytes.Contains(data, []byte(word)) {
					found = append(found, path+": "+word)
				}
			}
			return nil
		})
	}
	got := &recorded{}
	size := 0
	got.hook = func(e events.Event) {
		if r, ok := e.(events.Result); ok && r.Play == "two" {
			once.Do(func() {
				look()
				_ = filepath.WalkDir(filepath.Join(s.dir, "server"), func(path string, d fs.DirEntry, err error) error {
					if err == nil && d.Type().IsRegular() {
						info, _ := d.Info()
						size += int(info.Size())
					}
					return nil
				})
			})
		}
	}
	to := &forwarder{}
	store := record.Store{Folder: filepath.Join(s.dir, "state")}
	c, _ := s.coordinator(q, s.runner(inv, got, recorder(t, store, to)))
	h, _ := s.handover(q.(*queue.JetStream), "coordinator", "stranger")
	s.shares(c, h, to, nil)
	summary := s.run(c)
	require.Equal(t, 2, summary.Totals.Hosts.OK)
	all, err := h.All(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1, "the record and its lease are there to be looked at")
	look()
	require.NoError(t, to.Close(t.Context()))
	look()
	all, err = h.All(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
	require.Empty(t, found)
	require.Greater(t, size, 2000, "the content of the run was there to be looked at")
	motd, err := os.ReadFile(filepath.Join(s.hosts["web1"].Home, "motd"))
	require.NoError(t, err)
	require.Contains(t, string(motd), "canary-of-web1")
}

// workIn is a worker that is a process of its own.
func workIn(folder string) error {
	url, err := os.ReadFile(filepath.Join(folder, "url"))
	if err != nil {
		return err
	}
	its, err := givenBuilds(folder)
	if err != nil {
		return err
	}
	conn, err := nats.Connect(string(url), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	if err != nil {
		return err
	}
	q, err := queue.NewJetStream(conn, testLease)
	if err != nil {
		return err
	}
	w, err := workerIn(folder, "worker", q)
	if err != nil {
		return err
	}
	if os.Getenv(stillVariable) != "" {
		w.Queue = still{q}
	}
	w.Shards = 1 // its shard has ended when it takes another one
	w.BuildID, w.Builds, w.FullBuilds = its.id, its.lean, its.full
	w.Say = func(text string) { fmt.Fprintln(os.Stderr, text) }
	return w.Run(context.Background(), nil)
}

// Files about the host programs for a separate process, next to the files of the run: their descriptions, and the
// programs themselves, compressed.
const (
	buildsFile  = "builds.json"
	programFile = "program-" // and the number of the build
)

// A theirBuild describes a host program.
type theirBuild struct {
	ID               string
	Full             bool
	OS, Arch, SHA256 string
	Size             int64
	CompressedSize   int64
	CompressedSHA256 string
}

// giveBuilds writes the host programs into the folder of the site.
func (s *site) giveBuilds() {
	var list []theirBuild
	for i, b := range slices.Concat(s.builds, s.full) {
		compressed, err := b.Compressed()
		require.NoError(s.t, err)
		s.write(programFile+strconv.Itoa(i), string(compressed))
		list = append(list, theirBuild{s.buildID, i >= len(s.builds), b.OS, b.Arch, b.SHA256, b.Size, b.CompressedSize, b.CompressedSHA256})
	}
	text, err := json.Marshal(list)
	require.NoError(s.t, err)
	s.write(buildsFile, string(text))
}

// given are host programs that were written for a process of its own.
type given struct {
	id         string
	lean, full []start.Build
}

// givenBuilds reads what giveBuilds has written.
func givenBuilds(folder string) (all given, err error) {
	var list []theirBuild
	text, err := os.ReadFile(filepath.Join(folder, buildsFile))
	if err := errors.Join(err, json.Unmarshal(text, &list)); err != nil {
		return all, err
	}
	for i, its := range list {
		b := start.Build{
			OS: its.OS, Arch: its.Arch, SHA256: its.SHA256, Size: its.Size, CompressedSize: its.CompressedSize, CompressedSHA256: its.CompressedSHA256,
			Compressed: func() ([]byte, error) { return os.ReadFile(filepath.Join(folder, programFile+strconv.Itoa(i))) },
		}
		if all.id = its.ID; its.Full {
			all.full = append(all.full, b)
		} else {
			all.lean = append(all.lean, b)
		}
	}
	return all, nil
}

// testLease is how long a lease of JetStream lasts here: the loss of a killed worker is noticed after that.
const testLease = 3 * time.Second

// process starts a worker that can be killed.
func (s *site) process(url string, env ...string) *exec.Cmd {
	t := s.t
	if _, err := os.Stat(filepath.Join(s.dir, buildsFile)); err != nil { // else another one may be reading it
		s.write("url", url)
		s.giveBuilds()
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), workerVariable+"="+s.dir), env...)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// TestKilledWorker kills a worker in the middle of its hosts. Another one continues: the changes of hosts, and the
// reports about them, are as in a run without a loss.
func TestKilledWorker(t *testing.T) {
	sshtest.NeedsOwnLock(t)
	manifest := `
name: one
ccm:
  resources:
    - exec: ["echo first >> log": {provider: shell, cwd: "{{ Data.home }}"}]
    - exec: ["echo second >> log; n=0; while test ! -e {{ Data.go }} && test $n -lt 600; do sleep 0.1; n=$((n+1)); done; echo third >> log": {provider: shell, cwd: "{{ Data.home }}"}]
    - exec: ["echo fourth >> log": {provider: shell, cwd: "{{ Data.home }}"}]
`
	s := newSite(t, manifest, "web1", "web2", "web3")
	free := filepath.Join(s.dir, "go")
	inv := strings.Replace(s.inventory(nil), "canary: everybody-knows", fmt.Sprintf("go: %q", free), 1)
	srv := serve(t, s.dir)
	q := connect(t, srv.ClientURL())
	first := s.process(srv.ClientURL())
	got := &recorded{}
	var once sync.Once
	results := 0
	got.hook = func(e events.Event) {
		if _, ok := e.(events.Result); !ok {
			return
		}
		if results++; results < 3 {
			return
		}
		once.Do(func() { // all hosts are at the second resource, or about to be
			require.NoError(t, first.Process.Kill())
			s.process(srv.ClientURL())
			require.NoError(t, os.WriteFile(free, nil, 0o600))
		})
	}
	r := s.runner(inv, got)
	r.Options.NoLock = false // so that hosts keep their results
	c, warned := s.coordinator(q, r)
	summary := s.run(c)
	require.Equal(t, 3, summary.Totals.Hosts.OK, "%s", warned.all())
	for name, srv := range s.hosts {
		log, err := os.ReadFile(filepath.Join(srv.Home, "log"))
		require.NoError(t, err)
		require.Equal(t, "first\nsecond\nthird\nfourth\n", string(log), name)
	}
	lines := got.lines(s)
	require.Equal(t, 9, summary.Totals.Resources.Changed, "%s\n%s", strings.Join(lines, "\n"), warned.all())
	require.Contains(t, warned.all(), "was lost before 3 hosts ended")
	require.Len(t, lines, 3*4)
	for i := range 3 {
		for n := range 3 {
			require.Contains(t, lines[4*i+n], `"status":"changed"`)
		}
	}
}

// entered is a coordinator that does not check whether workers can log in to hosts.
type entered struct{ *Coordinator }

func (entered) Enter(context.Context, <-chan struct{}, []playbooks.Turn) error { return nil }

// TestLostCommand loses a worker at a command that hosts keep nothing of: no other worker runs it again.
func TestLostCommand(t *testing.T) {
	s := newSite(t, "ccm: {resources: [exec: [{\"true\": }]]}\n", "web1", "web2")
	got := &recorded{}
	q := queuetest.New(0)
	c, _ := s.coordinator(q, s.runner(s.inventory(nil), got))
	c.Runner.Workers = entered{c}
	handed := make(chan struct{})
	go func() { // a worker that takes hosts, and is lost
		lease, err := q.Lease(t.Context(), "")
		require.NoError(t, err)
		var of ticket
		_, err = keyring.Verify(keyring.Keyring{string(c.Key.PublicKey().Marshal()): {Name: "it"}}, ticketKind, lease.Ticket(), &of)
		require.NoError(t, err)
		c.run.ledger.mu.Lock()
		c.run.ledger.shards[of.Shard].taken++
		c.run.ledger.mu.Unlock()
		require.NoError(t, lease.Return(t.Context()))
		close(handed)
	}()
	go func() {
		<-handed
		s.work(q, "worker", "")
	}()
	summary := s.run(c)
	require.Equal(t, 2, summary.Totals.Hosts.Failed)
	lines := strings.Join(got.lines(s), "\n")
	require.Equal(t, 2, strings.Count(lines, `"phase":"lost"`), lines)
	require.NotContains(t, lines, `"event":"result"`)
}

// TestRestartedServer ends the server of NATS in the midst of a run, and starts it again.
func TestRestartedServer(t *testing.T) {
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
	srv := serve(t, s.dir)
	port := srv.Addr().(*net.TCPAddr).Port
	q := connect(t, srv.ClientURL())
	s.work(connect(t, srv.ClientURL()), "worker", "")
	got := &recorded{}
	r := s.runner(inv, got)
	c, warned := s.coordinator(q, r)
	var restarting sync.WaitGroup
	var once sync.Once
	got.hook = func(e events.Event) {
		if _, ok := e.(events.Result); ok {
			once.Do(func() {
				restarting.Go(func() {
					srv.Shutdown()
					srv.WaitForShutdown()
					serveAt(t, s.dir, port)
					require.NoError(t, os.WriteFile(free, nil, 0o600))
				})
			})
		}
	}
	summary := s.run(c)
	restarting.Wait()
	require.Equal(t, 2, summary.Totals.Hosts.OK, "%s", warned.all())
	require.Len(t, got.lines(s), 2*4)
}

// TestAskedTwice repeats a question of a worker, as a worker does without an answer: its hosts are handed out once.
func TestAskedTwice(t *testing.T) {
	s := newSite(t, plays(), "web1")
	s.write("motd.jet", "x")
	q := queuetest.New(0)
	c, warned := s.coordinator(q, s.runner(s.inventory(nil)))
	require.NoError(t, c.Begin(t.Context()))
	defer func() { require.NoError(t, c.Close(t.Context())) }()
	c.run.intake.gather(t.Context(), &turn{playbooks.Turn{Request: playbooks.PlayRequest{}, Host: "web1"}, nil, make(chan playbooks.TurnEnd, 1)})
	lease, err := q.Lease(t.Context(), "")
	require.NoError(t, err)
	w, err := workerIn(s.dir, "worker", q)
	require.NoError(t, err)
	w.BuildID = s.buildID
	j, err := w.newJob(t.Context(), c.run.post.name)
	require.NoError(t, err)
	var of ticket
	_, err = keyring.Verify(w.Coordinators.Ring(), ticketKind, lease.Ticket(), &of)
	require.NoError(t, err)
	text, err := keyring.Sign(w.Key, questionKind, question{Ticket: of, Nonce: "n", Recipient: j.identity.Recipient().String(), SSHKey: j.public, Build: w.BuildID, Version: w.Version})
	require.NoError(t, err)
	answers := make(chan []byte, 2)
	for range 2 {
		go func() { answers <- c.run.answer(t.Context(), text) }()
	}
	require.Equal(t, <-answers, <-answers)
	require.Empty(t, warned.all())
	c.run.ledger.mu.Lock()
	defer c.run.ledger.mu.Unlock()
	require.Equal(t, 1, c.run.ledger.shards[of.Shard].taken)
}

// TestCutTwice ends the waiting time of gathered hosts twice: a timer that is set again may have fired already.
func TestCutTwice(t *testing.T) {
	s := newSite(t, plays(), "web1")
	s.write("motd.jet", "x")
	c, _ := s.coordinator(queuetest.New(0), s.runner(s.inventory(nil)))
	require.NoError(t, c.Begin(t.Context()))
	defer func() { require.NoError(t, c.Close(t.Context())) }()
	one := &turn{playbooks.Turn{Request: playbooks.PlayRequest{}, Host: "web1"}, nil, make(chan playbooks.TurnEnd, 1)}
	c.run.intake.gather(t.Context(), one)
	c.run.intake.cut(t.Context(), "")
	c.run.intake.cut(t.Context(), "")
	require.Len(t, c.run.ledger.shards, 1)
	late := &turn{playbooks.Turn{Request: playbooks.PlayRequest{}, Host: "web1"}, nil, make(chan playbooks.TurnEnd, 1)}
	c.run.intake.gather(t.Context(), late)
	c.run.stop(t.Context())
	c.run.intake.cut(t.Context(), "")
	require.Equal(t, playbooks.TurnEnd{Stopped: true}, <-one.ended)
	require.Equal(t, playbooks.TurnEnd{Stopped: true}, <-late.ended)
	require.Empty(t, c.run.ledger.shards)
}
