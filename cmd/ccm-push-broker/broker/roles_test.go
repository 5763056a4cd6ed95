package broker

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/playbooks/natsconn"
	"github.com/ccm-push/ccm-push/playbooks/natsdata"
	"github.com/ccm-push/ccm-push/playbooks/registry"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

// second is a second worker.
const second Role = "worker2"

// limited is a worker that serves the site lyon only.
const limited Role = "worker3"

// people has a connection for each role at one broker, and the requests that were refused.
type people struct {
	t      *testing.T
	broker *running
	users  []User
	seeds  string                  // folder with the seed of each user
	links  map[Role]*natsconn.Link // keyed by the name of the user

	mu      sync.Mutex
	refused map[Role][]string
}

func admitAll(t *testing.T) *people { return admitAt(t, false) }

// onBoth runs a test with the server of a broker, and with a separate nats-server (--server).
func onBoth(t *testing.T, test func(t *testing.T, plain bool)) {
	t.Run("broker", func(t *testing.T) { test(t, false) })
	t.Run("nats-server", func(t *testing.T) { test(t, true) })
}

// plainServer runs a nats-server with the configuration that a broker prints for its users, and returns its address.
func plainServer(t *testing.T, b *Broker) string {
	t.Helper()
	var config bytes.Buffer
	require.NoError(t, b.WriteConfig(&config))
	file := filepath.Join(t.TempDir(), "nats.conf")
	config.WriteString("listen: 127.0.0.1:-1\njetstream { store_dir: " + strconv.Quote(t.TempDir()) + " }\n")
	require.NoError(t, os.WriteFile(file, config.Bytes(), 0o600))
	opts, err := server.ProcessConfigFile(file)
	require.NoError(t, err)
	opts.NoSigs, opts.NoLog = true, true
	srv, err := server.NewServer(opts)
	require.NoError(t, err)
	srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	require.True(t, srv.ReadyForConnections(time.Minute))
	return srv.Addr().String()
}

func admitAt(t *testing.T, plain bool) *people {
	t.Helper()
	b := &Broker{Dir: filepath.Join(t.TempDir(), "broker"), Listen: "127.0.0.1:0"}
	seeds := t.TempDir()
	for _, role := range Roles {
		require.NoError(t, b.AddUser(string(role), role, filepath.Join(seeds, string(role))))
	}
	require.NoError(t, b.AddUser(string(second), Worker, filepath.Join(seeds, string(second))))
	require.NoError(t, b.AddUser(string(limited), Worker, filepath.Join(seeds, string(limited)), "lyon"))
	if plain {
		b.Server = plainServer(t, b)
	}
	r := run(t, b)
	users, err := r.Users()
	require.NoError(t, err)
	p := &people{t: t, seeds: seeds, broker: r, users: users, links: map[Role]*natsconn.Link{}, refused: map[Role][]string{}}
	for _, role := range append([]Role{second, limited}, Roles...) {
		p.links[role] = natsconn.New(natsconn.Config{Servers: "tls://" + r.address, CA: r.CA(), NKey: filepath.Join(seeds, string(role)), Warn: func(text string) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.refused[role] = append(p.refused[role], text)
		}})
		t.Cleanup(p.links[role].Close)
	}
	return p
}

func (p *people) conn(role Role) *nats.Conn {
	p.t.Helper()
	conn, err := p.links[role].Conn(p.t.Context())
	require.NoError(p.t, err)
	return conn
}

func (p *people) jetStream(role Role) jetstream.JetStream {
	p.t.Helper()
	js, err := p.links[role].JetStream(p.t.Context())
	require.NoError(p.t, err)
	return js
}

func (p *people) queue(role Role) *queue.JetStream {
	p.t.Helper()
	q, err := queue.NewJetStream(p.conn(role), 0)
	require.NoError(p.t, err)
	return q
}

// isRefused wants the server to refuse one subject or another.
func (p *people) isRefused(role Role, what string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return slices.ContainsFunc(p.refused[role], func(text string) bool { return strings.Contains(text, what) })
	}, time.Minute, 10*time.Millisecond, what)
}

func (p *people) forget(role Role) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused[role] = nil
}

func (p *people) notRefused(role Role) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Empty(p.t, p.refused[role], role)
}

// TestRolesSuffice checks that each role can do its tasks.
func TestRolesSuffice(t *testing.T) { onBoth(t, rolesSuffice) }

func rolesSuffice(t *testing.T, plain bool) {
	p := admitAt(t, plain)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	// A run, from its first ticket to its end.
	run, err := p.queue(Coordinator).Open(ctx, "run1")
	require.NoError(t, err)
	require.NoError(t, run.Answer(ctx, func(_ context.Context, question []byte) []byte { return append([]byte("heard "), question...) }))
	content := bytes.Repeat([]byte("content "), 1<<16)
	name, err := run.Put(ctx, content)
	require.NoError(t, err)
	require.NoError(t, run.Submit(ctx, "paris", []byte("ticket")))
	worker := p.queue(Worker)
	lease, err := worker.Lease(ctx, "paris")
	require.NoError(t, err)
	require.Equal(t, "ticket", string(lease.Ticket()))
	require.NoError(t, lease.Extend(ctx))
	member, err := worker.Join(ctx, "run1")
	require.NoError(t, err)
	orders := make(chan string, 1)
	require.NoError(t, member.Orders(ctx, func(data []byte) { orders <- string(data) }))
	answer, err := member.Ask(ctx, []byte("question"))
	require.NoError(t, err)
	require.Equal(t, "heard question", string(answer))
	got, err := member.Get(ctx, name)
	require.NoError(t, err)
	require.Equal(t, content, got)
	require.NoError(t, run.Delete(ctx, name))
	_, err = member.Get(ctx, name)
	require.Error(t, err)
	require.NoError(t, run.Order(ctx, []byte("stop")))
	require.Equal(t, "stop", <-orders)
	require.NoError(t, member.Say(ctx, []byte("done")))
	last, err := run.LastSaid(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, last)
	said, _, err := run.Said(ctx)
	require.NoError(t, err)
	require.Equal(t, "done", string(said))
	require.NoError(t, lease.Done(ctx))
	require.NoError(t, run.Close(ctx))

	// Workers announce themselves, and coordinators list them.
	require.NoError(t, worker.Announce(ctx, "w1", []byte("here")))
	require.Eventually(t, func() bool {
		all, _, err := p.queue(Coordinator).Present(ctx)
		return err == nil && len(all) == 1 && string(all[0].Data) == "here" && all[0].User == worker.User()
	}, time.Minute, 10*time.Millisecond)

	// The record, from which another machine resumes.
	records, err := p.queue(Coordinator).Records(ctx)
	require.NoError(t, err)
	require.NoError(t, records.Make(ctx, "01"))
	claim, err := records.Claim(ctx, "01", []byte("claim"), nil)
	require.NoError(t, err)
	require.NoError(t, records.Append(ctx, "01", []byte("line")))
	claims, _, err := records.Claims(ctx)
	require.NoError(t, err)
	require.Len(t, claims, 1)
	_, err = records.Claim(ctx, "01", []byte("another"), claim)
	require.NoError(t, err)
	require.NoError(t, records.End(ctx, "01"))
	require.NoError(t, records.Read(ctx, "01", false, func(data []byte) (bool, error) {
		require.Equal(t, "line", string(data))
		return true, nil
	}))
	require.NoError(t, records.Forget(ctx, "01"))
	require.NoError(t, p.queue(Coordinator).Discard(ctx, "run1"))
	require.NoError(t, p.queue(Coordinator).Sweep(ctx, time.Now()))

	// Data, which an operator has put there.
	kv, err := p.jetStream(Operator).CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "CFG"})
	require.NoError(t, err)
	_, err = kv.PutString(ctx, "site/web", "data: {}")
	require.NoError(t, err)
	objects, err := p.jetStream(Operator).CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: "SITES"})
	require.NoError(t, err)
	_, err = objects.PutBytes(ctx, "site.tgz", content)
	require.NoError(t, err)
	port := 80
	service := registry.Registration{Cluster: "eu", Service: "web", Protocol: "http", Address: "192.0.2.3", Port: &port, Priority: 1}
	services := func(role Role) natsdata.Registry {
		return natsdata.Registry{Store: &natsdata.Store{Link: p.links[role]}, Stream: registry.Stream}
	}
	require.NoError(t, services(Operator).Prepare(ctx, 1, time.Hour))
	require.NoError(t, services(Coordinator).Ready(ctx))
	require.NoError(t, services(Coordinator).Register(ctx, []registry.Registration{service}))
	for _, role := range []Role{Operator, Coordinator, Reader} {
		value, err := services(role).Store.Value(ctx, "CFG", "site/web")
		require.NoError(t, err, role)
		require.Equal(t, "data: {}", string(value))
		var object bytes.Buffer
		require.NoError(t, services(role).Store.Object(ctx, "SITES", "site.tgz", 1<<20, &object), role)
		require.Equal(t, content, object.Bytes())
		list, err := services(role).Registered(ctx, "*", "*", "web", "*")
		require.NoError(t, err, role)
		require.Equal(t, []registry.Registration{service}, list)
	}
	for _, role := range Roles {
		p.notRefused(role)
	}
}

// TestAnsweredBehindARestart restarts the broker while a question is answered. It checks that the answer, which the
// server would refuse, is not sent, and that the question is answered when it is sent again.
func TestAnsweredBehindARestart(t *testing.T) {
	p := admitAll(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	run, err := p.queue(Coordinator).Open(ctx, "run1")
	require.NoError(t, err)
	defer func() { require.NoError(t, run.Close(t.Context())) }()
	asked, answer := make(chan struct{}, 2), make(chan struct{})
	var answered atomic.Int32
	require.NoError(t, run.Answer(ctx, func(ctx context.Context, question []byte) []byte {
		asked <- struct{}{}
		<-answer
		answered.Add(1)
		return question
	}))
	member, err := p.queue(Worker).Join(ctx, "run1")
	require.NoError(t, err)
	lost, end := context.WithCancel(ctx)
	first := make(chan error, 1)
	go func() {
		_, err := member.Ask(lost, []byte("first"))
		for errors.Is(err, queue.ErrAway) { // the server may know the worker before the coordinator
			_, err = member.Ask(lost, []byte("first"))
		}
		first <- err
	}()
	select {
	case <-asked:
	case err := <-first:
		require.FailNow(t, "the first question was not answered", "%v", err)
	}
	require.NoError(t, p.broker.end())
	startAt(t, p.broker.Dir, p.broker.address)
	for _, role := range []Role{Coordinator, Worker} {
		require.Eventually(t, func() bool { return p.conn(role).Stats().Reconnects > 0 && p.conn(role).IsConnected() }, time.Minute, 10*time.Millisecond)
	}
	close(answer)
	require.Eventually(t, func() bool { return answered.Load() == 1 }, time.Minute, 10*time.Millisecond)
	var text []byte
	require.Eventually(t, func() bool { // the server may know the worker again before the coordinator
		text, err = member.Ask(ctx, []byte("second"))
		return !errors.Is(err, queue.ErrAway)
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, "second", string(text))
	end()
	require.ErrorIs(t, <-first, context.Canceled)
	p.mu.Lock()
	defer p.mu.Unlock()
	require.NotContains(t, strings.ToLower(strings.Join(p.refused[Coordinator], " ")), "permissions violation")
}

// TestRecordIsReadOverARestart restarts the broker while a coordinator follows the record of a run. The consumer that it reads with is lost.
func TestRecordIsReadOverARestart(t *testing.T) {
	p := admitAll(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	records, err := p.queue(Coordinator).Records(ctx)
	require.NoError(t, err)
	require.NoError(t, records.Make(ctx, "01"))
	lines, read := make(chan string), make(chan error, 1)
	go func() {
		read <- records.Read(ctx, "01", true, func(data []byte) (bool, error) {
			lines <- string(data)
			return string(data) != "last", nil
		})
	}()
	require.NoError(t, records.Append(ctx, "01", []byte("first")))
	require.Equal(t, "first", <-lines)
	require.NoError(t, p.broker.end())
	startAt(t, p.broker.Dir, p.broker.address)
	require.Eventually(t, func() bool { return p.conn(Coordinator).Stats().Reconnects > 0 && p.conn(Coordinator).IsConnected() }, time.Minute, 10*time.Millisecond)
	p.forget(Coordinator)
	require.NoError(t, records.Append(ctx, "01", []byte("last")))
	select {
	case line := <-lines:
		require.Equal(t, "last", line)
		require.NoError(t, <-read)
	case err := <-read:
		require.NoError(t, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	require.NotContains(t, strings.ToLower(strings.Join(p.refused[Coordinator], " ")), "permissions violation")
}

// TestRolesAreBounded checks that forbidden requests of a worker, a reader and a coordinator are refused.
func TestRolesAreBounded(t *testing.T) {
	p := admitAll(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	run, err := p.queue(Coordinator).Open(ctx, "run1")
	require.NoError(t, err)
	defer func() { require.NoError(t, run.Close(t.Context())) }()
	kv, err := p.jetStream(Operator).CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "CFG"})
	require.NoError(t, err)
	_, err = kv.PutString(ctx, "secret", "hunter2")
	require.NoError(t, err)
	coordinator, err := p.links[Coordinator].Conn(ctx)
	require.NoError(t, err)

	for _, c := range []struct {
		role    Role
		publish bool
		subject string
	}{
		// Results of runs cannot be read or overwritten, nor can the questions and answers of others be received.
		{Worker, false, "ccm-push.said.*"},
		{Worker, false, "ccm-push.ask.*"},
		{Worker, false, "_INBOX.>"},
		{Worker, false, coordinator.NewRespInbox()},
		{Worker, true, "$JS.API.CONSUMER.CREATE.ccm-push-run1.x.ccm-push.said.run1"},
		{Worker, true, "$JS.API.CONSUMER.CREATE.ccm-push-run1"},
		{Worker, true, "$JS.API.CONSUMER.DURABLE.CREATE.ccm-push-run1.x"},
		{Worker, true, "$JS.API.DIRECT.GET.ccm-push-run1"},
		{Worker, true, "$JS.API.STREAM.MSG.GET.ccm-push-run1"},
		{Worker, true, "$JS.API.STREAM.PURGE.ccm-push-run1"},
		{Worker, true, "$JS.API.STREAM.DELETE.ccm-push-run1"},
		{Worker, true, "$JS.API.STREAM.MSG.DELETE.ccm-push-run1"},
		// Streams that could copy the data of others cannot be created.
		{Worker, true, "$JS.API.STREAM.CREATE.mine"},
		{Worker, true, "$JS.API.STREAM.UPDATE.ccm-push-work"},
		// Workers cannot send work or orders to others.
		{Worker, true, "ccm-push.work.0123456789abcdef.run1"},
		{Worker, true, "ccm-push.order.run1"},
		// No worker announces another one, or reads announcements of others.
		{Worker, true, "ccm-push.presence.UABC.w1"},
		{Worker, false, "ccm-push.presence.*.*"},
		{Worker, true, "$JS.API.STREAM.PURGE.CCM_PUSH_WORKERS"},
		{Reader, true, "ccm-push.presence.UABC.w1"},
		{Reader, false, "ccm-push.presence.*.*"},
		// Workers have no access to records of runs and their coordinators.
		{Worker, true, "ccm-push.record.x"},
		{Worker, true, "$KV.ccm-push-runs.x"},
		{Worker, true, "$JS.API.CONSUMER.CREATE.KV_ccm-push-runs.x.$KV.ccm-push-runs.>"},
		{Reader, true, "$KV.ccm-push-runs.x"},
		// Data and services are neither read nor written.
		{Worker, true, "$JS.API.DIRECT.GET.KV_CFG.$KV.CFG.secret"},
		{Worker, true, "$JS.API.CONSUMER.CREATE.KV_CFG.x.$KV.CFG.>"},
		{Worker, true, "$KV.CFG.secret"},
		{Worker, true, "$O.SITES.C.x"},
		{Worker, true, "choria.ccm.registration.v1.eu.http.web.192_0_2_3.x"},
		{Worker, false, "$KV.>"},
		{Worker, true, "$SYS.REQ.SERVER.PING"},
		{Reader, true, "$KV.CFG.secret"},
		{Reader, true, "$O.SITES.C.x"},
		{Reader, true, "choria.ccm.registration.v1.eu.http.web.192_0_2_3.x"},
		{Reader, true, "ccm-push.ask.run1"},
		{Reader, true, "$JS.API.CONSUMER.MSG.NEXT.ccm-push-work.site-x"},
		{Reader, true, "$JS.API.CONSUMER.CREATE.ccm-push-run1.x.ccm-push.said.run1"},
		{Reader, true, "$JS.API.STREAM.DELETE.KV_CFG"},
		// No reader sees the names of runs, or which workers there are.
		{Reader, true, "$JS.API.STREAM.INFO.ccm-push-work"},
		{Reader, true, "$JS.API.STREAM.INFO.KV_ccm-push-runs"},
		{Reader, true, "$JS.API.STREAM.INFO." + queue.PresenceStream},
		{Reader, false, "ccm-push.>"},
		{Reader, false, "_INBOX.>"},
		{Coordinator, true, "$KV.CFG.secret"},
		{Coordinator, false, "_INBOX.>"},
		{Coordinator, false, "$KV.>"},
	} {
		conn := p.conn(c.role)
		if c.publish {
			require.NoError(t, conn.Publish(c.subject, nil))
			p.isRefused(c.role, `Publish to "`+c.subject+`"`)
		} else {
			sub, err := conn.SubscribeSync(c.subject)
			require.NoError(t, err)
			p.isRefused(c.role, `Subscription to "`+c.subject+`"`)
			_ = sub.Unsubscribe()
		}
	}

	// A request whose subject and content disagree is refused too.
	for _, filter := range []string{`"filter_subject":"ccm-push.said.run1"`, `"filter_subjects":["ccm-push.said.run1"]`, `"filter_subjects":["ccm-push.said.run1","$O.any"]`, `"description":"no filter"`} {
		text := []byte(`{"stream_name":"ccm-push-run1","config":{"name":"x","ack_policy":"none","deliver_policy":"all",` + filter + `},"action":""}`)
		p.forget(Worker)
		require.NoError(t, p.conn(Worker).PublishRequest("$JS.API.CONSUMER.CREATE.ccm-push-run1.x.$O.any", p.conn(Worker).NewRespInbox(), text))
		p.isRefused(Worker, `Publish to "$JS.API.CONSUMER.CREATE.ccm-push-run1.x.$O.any"`)
	}
	entry, err := kv.Get(ctx, "secret")
	require.NoError(t, err)
	require.Equal(t, "hunter2", string(entry.Value()))
	consumers := p.jetStream(Operator)
	stream, err := consumers.Stream(ctx, "ccm-push-run1")
	require.NoError(t, err)
	names := stream.ConsumerNames(ctx)
	n := 0
	for range names.Name() {
		n++
	}
	require.NoError(t, names.Err())
	require.Equal(t, 1, n, "that of the coordinator alone")
}

// TestAnotherRoleIsNeeded checks the errors if users of the wrong roles begin a run, follow runs, or take hosts.
func TestAnotherRoleIsNeeded(t *testing.T) {
	p := admitAll(t)
	for _, c := range []struct {
		role    Role
		do      func(q *queue.JetStream) error
		doing   string
		subject string
		needed  Role
	}{
		{Worker, func(q *queue.JetStream) error {
			_, err := q.Open(t.Context(), "run1")
			return err
		}, "making the stream of the run", "$JS.API.STREAM.CREATE.ccm-push-run1", Coordinator},
		{Worker, func(q *queue.JetStream) error {
			_, err := q.Records(t.Context())
			return err
		}, "reading the controllers of runs", "$JS.API.STREAM.CREATE.KV_ccm-push-runs", Coordinator},
		{Worker, func(q *queue.JetStream) error {
			_, err := p.queue(Coordinator).Records(t.Context()) // an earlier run exists
			require.NoError(t, err)
			records, err := q.Records(t.Context())
			require.NoError(t, err)
			_, _, err = records.Claims(t.Context())
			return err
		}, "listing runs", "$JS.API.CONSUMER.CREATE.KV_ccm-push-runs.", Coordinator},
		{Reader, func(q *queue.JetStream) error {
			_, err := q.Lease(t.Context(), "")
			return err
		}, "requesting work", "$JS.API.STREAM.INFO.ccm-push-work", Worker},
	} {
		err := c.do(p.queue(c.role))
		require.ErrorIs(t, err, nats.ErrPermissionViolation)
		require.ErrorContains(t, err, "NATS: "+c.doing+": the server does not permit this: nats: permissions violation: Permissions Violation for Publish to \""+c.subject)
		require.ErrorContains(t, err, "\n  hint: the user needs the role "+string(c.needed)+" (ccm-push-broker user add NAME --role "+string(c.needed)+")")
	}
}

func TestParseRole(t *testing.T) {
	role, err := ParseRole("worker")
	require.NoError(t, err)
	require.Equal(t, Worker, role)
	_, err = ParseRole("root")
	require.EqualError(t, err, `unknown role "root"; use one of operator, coordinator, worker, reader`)
	_, err = parseUser("ann", "x worker")
	require.EqualError(t, err, "it has no public key of a user")
	pair, err := nkeys.CreateUser()
	require.NoError(t, err)
	key, err := pair.PublicKey()
	require.NoError(t, err)
	user, err := parseUser("ann", key+"\n")
	require.NoError(t, err)
	require.Equal(t, User{Name: "ann", Key: key, Role: Operator}, user, "as before there were roles")
	user, err = parseUser("ann", key+" reader\n")
	require.NoError(t, err)
	require.Equal(t, User{Name: "ann", Key: key, Role: Reader}, user)
	_, err = parseUser("ann", key+" root\n")
	require.ErrorContains(t, err, `unknown role "root"; use one of operator`)
}

// TestUsersOfRoot checks that users added by root are users of the broker, which runs as the owner of the folder.
func TestUsersOfRoot(t *testing.T) {
	needs.Root(t, "only root gives files away")
	const somebody = 12345
	dir := filepath.Join(t.TempDir(), "broker")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Chown(dir, somebody, somebody))
	require.NoError(t, (&Broker{Dir: dir}).AddUser("ann", Worker, filepath.Join(t.TempDir(), "ann.nk")))
	require.NoError(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			require.EqualValues(t, somebody, info.Sys().(*syscall.Stat_t).Uid, path)
		}
		return err
	}))
}

// TestRolesNeedTheFilter logs in to the nats-server directly: as users with a role, and as a false filter.
func TestRolesNeedTheFilter(t *testing.T) {
	p := admitAt(t, true)
	for _, u := range p.users {
		conn, err := nats.Connect("nats://"+p.broker.Server, option(t, filepath.Join(p.seeds, u.Name)), nats.NoReconnect())
		if u.Role == Operator {
			require.NoError(t, err)
			conn.Close()
			continue
		}
		require.ErrorIs(t, err, nats.ErrAuthorization, u.Name)
	}
	elsewhere := &Broker{Dir: filepath.Join(t.TempDir(), "other"), Listen: "127.0.0.1:0", Server: p.broker.Server, Say: func(string) {}}
	require.ErrorContains(t, elsewhere.Run(t.Context()), "\n  hint: include the output of ccm-push-broker user config --dir "+elsewhere.Dir+" in the configuration")
	elsewhere.Server = "192.0.2.1:4222"
	require.ErrorContains(t, elsewhere.Run(t.Context()), "--server 192.0.2.1:4222: the connection is not encrypted, so only a loopback address with a port is allowed")
}
