package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/natsdata"
	"github.com/ccm-push/ccm-push/playbooks/registry"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

// targets is a broker with everything that the attacks aim at: data, an archive, a service, a run with a ticket that a
// worker has leased, the record of a run, and a consumer of an operator on each stream.
type targets struct {
	*people
	run   queue.Run
	lease queue.Lease // held by a second worker

	mu   sync.Mutex
	seen []string // subjects of all published messages
}

const victimSite = "paris"

func newTargets(t *testing.T, plain bool) *targets {
	p := admitAt(t, plain)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w := &targets{people: p}
	ops := p.jetStream(Operator)
	kv, err := ops.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "CFG"})
	require.NoError(t, err)
	for key, value := range map[string]string{"greeting": "hello", "private": "hunter2"} {
		_, err = kv.PutString(ctx, key, value)
		require.NoError(t, err)
	}
	objects, err := ops.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: "SITES"})
	require.NoError(t, err)
	for _, name := range []string{"o1.tgz", "o2.tgz"} {
		_, err = objects.PutBytes(ctx, name, []byte("version of "+name))
		require.NoError(t, err)
	}
	services := natsdata.Registry{Store: &natsdata.Store{Link: p.links[Operator]}, Stream: registry.Stream}
	require.NoError(t, services.Prepare(ctx, 1, time.Hour))
	require.NoError(t, services.Register(ctx, []registry.Registration{{Cluster: "eu", Service: "web", Protocol: "http", Address: "192.0.2.3", Priority: 1}}))

	w.run, err = p.queue(Coordinator).Open(ctx, "run1")
	require.NoError(t, err)
	require.NoError(t, w.run.Submit(ctx, victimSite, []byte("ticket")))
	_, err = w.run.Put(ctx, []byte("content"))
	require.NoError(t, err)
	w.lease, err = p.queue(second).Lease(ctx, victimSite)
	require.NoError(t, err)
	records, err := p.queue(Coordinator).Records(ctx)
	require.NoError(t, err)
	require.NoError(t, records.Make(ctx, "01"))
	require.NoError(t, records.Append(ctx, "01", []byte("line")))
	_, err = records.Claim(ctx, "01", []byte("claim"), nil)
	require.NoError(t, err)
	for _, stream := range []string{"KV_CFG", "OBJ_SITES", registry.Stream, "ccm-push-run1"} {
		_, err = ops.CreateConsumer(ctx, stream, jetstream.ConsumerConfig{Durable: "victim", AckPolicy: jetstream.AckNonePolicy})
		require.NoError(t, err)
	}
	_, err = ops.CreateConsumer(ctx, queue.WorkStream, jetstream.ConsumerConfig{Durable: "victim", FilterSubject: "ccm-push.work.0000.*"})
	require.NoError(t, err)
	sub, err := p.conn(Operator).Subscribe(">", func(m *nats.Msg) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen = append(w.seen, m.Subject)
	})
	require.NoError(t, err)
	require.NoError(t, p.conn(Operator).Flush())
	t.Cleanup(func() { _ = sub.Unsubscribe() })
	return w
}

// close ends the run, while the broker is still there.
func (w *targets) close() { require.NoError(w.t, w.run.Close(w.t.Context())) }

// state describes each stream and each durable consumer.
func (w *targets) state() map[string]string {
	w.t.Helper()
	all := map[string]string{}
	streams := w.jetStream(Operator).ListStreams(w.t.Context())
	for info := range streams.Info() {
		config, err := json.Marshal(info.Config)
		require.NoError(w.t, err)
		all[info.Config.Name] = fmt.Sprintf("%d to %d, %d messages, %s", info.State.FirstSeq, info.State.LastSeq, info.State.Msgs, config)
		stream, err := w.jetStream(Operator).Stream(w.t.Context(), info.Config.Name)
		require.NoError(w.t, err)
		consumers := stream.ListConsumers(w.t.Context())
		for c := range consumers.Info() {
			if c.Config.Durable == "" {
				continue
			}
			config, err := json.Marshal(c.Config)
			require.NoError(w.t, err)
			all[info.Config.Name+" "+c.Name] = fmt.Sprintf("delivered %d, pending %d, unacknowledged %d, %s", c.Delivered.Stream, c.NumPending, c.NumAckPending, config)
		}
		require.NoError(w.t, consumers.Err())
	}
	require.NoError(w.t, streams.Err())
	return all
}

// settle waits until the server has processed all messages of all roles.
func (w *targets) settle() {
	w.t.Helper()
	for _, role := range append([]Role{second, limited}, Roles...) {
		require.NoError(w.t, w.conn(role).Flush())
		_, err := w.jetStream(Operator).AccountInfo(w.t.Context())
		require.NoError(w.t, err)
	}
	time.Sleep(50 * time.Millisecond) // requests of JetStream wait in queues of the server
	require.NoError(w.t, w.conn(Operator).Flush())
}

// arrived returns the subjects of messages that contain a text.
func (w *targets) arrived(text string) (list []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, subject := range w.seen {
		if strings.Contains(subject, text) {
			list = append(list, subject)
		}
	}
	return list
}

// subjectsOf returns subjects that match a pattern, with names from the treasure.
func subjectsOf(pattern string) (list []string) {
	tails := []string{"x", "$KV.CFG.private", "$O.SITES.M.x", "ccm-push-work.victim", "KV_CFG.victim", "OBJ_SITES.victim", "ccm-push-run1.victim"}
	if strings.HasPrefix(pattern, "$JS.API.>") || strings.HasPrefix(pattern, "$JS.>") {
		tails = []string{"API.INFO", "API.STREAM.INFO.KV_CFG", "API.STREAM.NAMES", "API.STREAM.LIST", "API.DIRECT.GET.KV_CFG.$KV.CFG.private", "API.CONSUMER.CREATE.KV_CFG.a", "API.STREAM.CREATE.a"}
	}
	names := []string{"x", "run1", "KV_CFG", "OBJ_SITES", registry.Stream, queue.WorkStream, "ccm-push-run1", "victim"}
	tokens := strings.Split(pattern, ".")
	list = []string{""}
	for i, token := range tokens {
		choice := []string{token}
		switch token {
		case "*":
			choice = names
		case ">":
			choice = tails
		}
		var longer []string
		for _, before := range list {
			for _, one := range choice {
				if i > 0 {
					one = before + "." + one
				}
				longer = append(longer, one)
			}
		}
		list = longer
	}
	return list
}

// TestForeignReplies sends to each allowed subject of each role, with a reply subject that the role may not publish to.
func TestForeignReplies(t *testing.T) { onBoth(t, foreignReplies) }

func foreignReplies(t *testing.T, plain bool) {
	w := newTargets(t, plain)
	defer w.close()
	before := w.state()
	other, err := w.links[Operator].Conn(t.Context())
	require.NoError(t, err)
	replies := []string{
		"$KV.CFG.attack", "$O.SITES.C.attack", "$O.SITES.M.attack", "$KV.ccm-push-runs.attack", "ccm-push.order.attack", "ccm-push.ask.attack",
		"ccm-push.work.attack.run1", "ccm-push.record.attack", "ccm-push.said.attack", "$O.ccm-push-run1.C.attack",
		strings.TrimSuffix(registry.Subjects, ">") + "eu.http.web.attack.x", other.NewRespInbox() + "attack", "_INBOX.attack", "attack",
	}
	n := 0
	for _, u := range w.users {
		permissions := u.Role.permissions(u.Key)
		if permissions == nil {
			continue
		}
		for _, pattern := range permissions.Publish.Allow {
			for _, subject := range subjectsOf(pattern) {
				for i := range 3 {
					reply := replies[(n+i*5)%len(replies)] // all of them for each pattern
					var body []byte
					if strings.Contains(subject, "MSG.NEXT") {
						body = []byte(`{"batch":1,"no_wait":true}`)
					}
					require.NoError(t, w.conn(Role(u.Name)).PublishRequest(subject, reply, body))
					n++
				}
			}
			require.NoError(t, w.conn(Role(u.Name)).Flush())
		}
	}
	require.Greater(t, n, 1000)
	w.settle()
	require.Empty(t, unique(w.arrived("attack")))
	require.Equal(t, before, w.state())
}

func unique(list []string) (short []string) {
	seen := map[string]bool{}
	for _, one := range list {
		if !seen[one] {
			short = append(short, one)
		}
		seen[one] = true
	}
	return short
}

// consumerOfSite returns the request that a worker sends for the consumer of a site.
func consumerOfSite(token string) string {
	name := queue.SitePrefix + token
	text, _ := json.Marshal(server.CreateConsumerRequest{Stream: queue.WorkStream, Config: server.ConsumerConfig{
		Durable: name, Name: name, FilterSubject: "ccm-push.work." + token + ".*", AckPolicy: server.AckExplicit, AckWait: queue.LeaseTime, MaxDeliver: -1,
	}})
	return string(text)
}

// TestWorkerOfOneSite leases a ticket of the site that a worker serves.
func TestWorkerOfOneSite(t *testing.T) {
	p := admitAll(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	run, err := p.queue(Coordinator).Open(ctx, "run1")
	require.NoError(t, err)
	defer func() { require.NoError(t, run.Close(t.Context())) }()
	require.NoError(t, run.Submit(ctx, "lyon", []byte("ticket")))
	lease, err := p.queue(limited).Lease(ctx, "lyon")
	require.NoError(t, err)
	require.Equal(t, "ticket", string(lease.Ticket()))
	require.NoError(t, lease.Done(ctx))
}

// TestAttacks sends messages as each role to subjects that it may publish to, with contents that reach beyond its own.
func TestAttacks(t *testing.T) { onBoth(t, attacks) }

func attacks(t *testing.T, plain bool) {
	w := newTargets(t, plain)
	defer w.close()
	site := queue.Tickets[:len(queue.Tickets)-len("*.*")]
	leased := w.lease.(interface{ Reply() string }).Reply()
	token := strings.TrimPrefix(strings.Split(leased, ".")[3], queue.SitePrefix)
	foreign := w.conn(second).NewRespInbox() + "attack"
	stream := func(name string, more string) string {
		return `{"name":"` + name + `","retention":"limits","storage":"file","num_replicas":1,"max_consumers":-1,"max_msgs":-1,"max_bytes":-1,"discard":"old"` + more + `}`
	}
	consumer := func(stream, more string) string {
		return `{"stream_name":"` + stream + `","config":{"ack_policy":"none","deliver_policy":"all","replay_policy":"instant","mem_storage":true` + more + `},"action":""}`
	}
	hdr := func(pairs ...string) nats.Header {
		h := nats.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h[pairs[i]] = []string{pairs[i+1]}
		}
		return h
	}
	own := func(role Role) string { return w.conn(role).NewRespInbox() }
	for _, c := range []struct {
		name    string
		role    Role
		subject string
		body    string
		headers nats.Header
	}{
		{"a reader deletes a consumer of the tickets", Reader, api + "CONSUMER.DELETE.ccm-push-work.victim", "", nil},
		{"a reader deletes a consumer of a bucket", Reader, api + "CONSUMER.DELETE.KV_CFG.victim", "", nil},
		{"a worker deletes a consumer of the tickets", Worker, api + "CONSUMER.DELETE.ccm-push-work.victim", "", nil},
		{"a worker deletes the consumer of a site", Worker, api + "CONSUMER.DELETE.ccm-push-work.site-" + token, "", nil},
		{"a coordinator deletes a consumer of a registry", Coordinator, api + "CONSUMER.DELETE.REGISTRATION.victim", "", nil},
		{"a worker changes the leases of a site", Worker, api + "CONSUMER.CREATE.ccm-push-work.site-" + token + "." + site + token + ".*",
			`{"stream_name":"ccm-push-work","config":{"durable_name":"site-` + token + `","name":"site-` + token + `","ack_policy":"explicit","ack_wait":1000000,"max_deliver":-1,"deliver_policy":"all","replay_policy":"instant","filter_subject":"` + site + token + `.*"},"action":""}`, nil},
		{"a worker takes tickets of a site that it does not serve", limited, api + "CONSUMER.MSG.NEXT.ccm-push-work.site-" + queue.SiteToken(victimSite), `{"batch":1,"no_wait":true}`, nil},
		{"a worker makes the consumer of a site that it does not serve", limited, api + "CONSUMER.CREATE.ccm-push-work.site-" + queue.SiteToken("attack") + ".ccm-push.work." + queue.SiteToken("attack") + ".*", consumerOfSite(queue.SiteToken("attack")), nil},
		{"a worker takes tickets by the consumer of another", Worker, api + "CONSUMER.MSG.NEXT.ccm-push-work.victim", `{"batch":1,"no_wait":true}`, nil},
		{"a worker ends the lease of another", Worker, leased, "+ACK", nil},
		{"a worker ends the lease of another by an empty text", Worker, leased, "", nil},
		{"a worker returns the lease of another", Worker, leased, "-NAK", nil},
		{"a worker terminates the ticket of another", Worker, leased, "+TERM", nil},
		{"a worker ends the lease of another and has the next ticket", Worker, leased, "+NXT", nil},
		{"a worker ends the lease of another by the longer subject", Worker, strings.Replace(leased, "$JS.ACK.", "$JS.ACK._.attack.", 1), "+ACK", nil},
		{"a reader makes a consumer that is paused", Reader, api + "CONSUMER.CREATE.KV_CFG.x6.$KV.CFG.>", consumer("KV_CFG", `,"name":"x6","filter_subject":"$KV.CFG.>","pause_until":"2099-01-01T00:00:00Z"`), nil},
		{"a coordinator reads another stream than the subject names", Coordinator, api + "CONSUMER.CREATE.ccm-push-run1", `{"stream_name":"KV_CFG","config":{"ack_policy":"none"},"action":""}`, nil},
		{"a worker has objects delivered to a key", Worker, api + "CONSUMER.CREATE.OBJ_ccm-push-run1.x1.$O.ccm-push-run1.>", consumer("OBJ_ccm-push-run1", `,"name":"x1","filter_subject":"$O.ccm-push-run1.>","deliver_subject":"$KV.CFG.attack"`), nil},
		{"a worker has objects delivered to another user", Worker, api + "CONSUMER.CREATE.OBJ_ccm-push-run1.x2.$O.ccm-push-run1.>", consumer("OBJ_ccm-push-run1", `,"name":"x2","filter_subject":"$O.ccm-push-run1.>","deliver_subject":"`+foreign+`"`), nil},
		{"a worker says where to deliver to twice", Worker, api + "CONSUMER.CREATE.OBJ_ccm-push-run1.x3.$O.ccm-push-run1.>", consumer("OBJ_ccm-push-run1", `,"name":"x3","filter_subject":"$O.ccm-push-run1.>","deliver_subject":"`+own(Worker)+`","Deliver_Subject":"`+foreign+`"`), nil},
		{"a reader has keys delivered as orders", Reader, api + "CONSUMER.CREATE.KV_CFG.x4.$KV.CFG.>", consumer("KV_CFG", `,"name":"x4","filter_subject":"$KV.CFG.>","deliver_subject":"ccm-push.order.attack"`), nil},
		{"a reader keeps a consumer for ever", Reader, api + "CONSUMER.CREATE.KV_CFG.attack.$KV.CFG.>", consumer("KV_CFG", `,"durable_name":"attack","name":"attack","filter_subject":"$KV.CFG.>"`), nil},
		{"a reader changes the consumer of another", Reader, api + "CONSUMER.CREATE.KV_CFG.victim.$KV.CFG.>", consumer("KV_CFG", `,"name":"victim","durable_name":"victim","filter_subject":"$KV.CFG.>"`), nil},
		{"a worker has its message traced to another run", Worker, "ccm-push.said.run1", "x", hdr("Nats-Trace-Dest", "ccm-push.said.attack")},
		{"a worker spells that in another way", Worker, "ccm-push.said.run1", "x", hdr("nats-trace-dest", "ccm-push.said.attack")},
		{"a worker has a request traced to another run", Worker, api + "INFO", "", hdr("Nats-Trace-Dest", "ccm-push.said.attack")},
		{"a worker marks the message of another worker as a duplicate", Worker, "ccm-push.said.run1", "x", hdr("Nats-Msg-Id", "guessed")},
		{"a worker deletes the messages of a run", Worker, "ccm-push.said.run1", "x", hdr("Nats-Rollup", "all")},
		{"a coordinator reads tickets away", Coordinator, api + "CONSUMER.CREATE.ccm-push-work.x5.ccm-push.work.0000.*", consumer("ccm-push-work", `,"name":"x5","filter_subject":"ccm-push.work.0000.*"`), nil},
		{"a coordinator takes from the consumer of another", Coordinator, api + "CONSUMER.MSG.NEXT.KV_CFG.victim", `{"batch":1,"no_wait":true}`, nil},
		{"a coordinator writes a key", Coordinator, "$KV.CFG.attack", "x", nil},
		{"a coordinator writes an archive", Coordinator, "$O.SITES.M.attack", "x", nil},
		{"a coordinator mirrors keys", Coordinator, api + "STREAM.CREATE.ccm-push-attack", stream("ccm-push-attack", `,"mirror":{"name":"KV_CFG"}`), nil},
		{"a coordinator gathers keys", Coordinator, api + "STREAM.CREATE.ccm-push-attack", stream("ccm-push-attack", `,"subjects":["ccm-push.said.attack"],"sources":[{"name":"KV_CFG"}]`), nil},
		{"a coordinator republishes as a key", Coordinator, api + "STREAM.CREATE.ccm-push-attack", stream("ccm-push-attack", `,"subjects":["ccm-push.said.attack"],"republish":{"src":">","dest":"$KV.CFG.attack"}`), nil},
		{"a coordinator republishes from a stream of its own", Coordinator, api + "STREAM.UPDATE.ccm-push-run1", stream("ccm-push-run1", `,"max_age":604800000000000,"duplicate_window":120000000000,"allow_direct":false,"description":"messages of workers about a run of ccm-push","subjects":["ccm-push.said.run1"],"republish":{"src":">","dest":"$KV.CFG.attack"}`), nil},
		{"a coordinator turns subjects into others", Coordinator, api + "STREAM.CREATE.ccm-push-attack", stream("ccm-push-attack", `,"subjects":["ccm-push.said.attack"],"subject_transform":{"src":">","dest":"ccm-push.order.attack"}`), nil},
		{"a coordinator lets messages be scheduled", Coordinator, api + "STREAM.CREATE.ccm-push-attack", stream("ccm-push-attack", `,"subjects":["ccm-push.said.attack"],"allow_msg_schedules":true`), nil},
		{"a coordinator takes orders into a stream", Coordinator, api + "STREAM.CREATE.ccm-push-attack", stream("ccm-push-attack", `,"subjects":["ccm-push.order.>"]`), nil},
		{"a coordinator makes a stream that answers each message", Coordinator, api + "STREAM.CREATE.attack", stream("attack", `,"subjects":["attack.>"]`), nil},
		{"a coordinator makes a bucket of keys", Coordinator, api + "STREAM.CREATE.KV_attack", stream("KV_attack", `,"subjects":["$KV.attack.>"]`), nil},
		{"a coordinator changes a bucket of keys", Coordinator, api + "STREAM.UPDATE.KV_CFG", stream("KV_CFG", `,"subjects":["$KV.CFG.>","ccm-push.order.>"]`), nil},
		{"a coordinator deletes a bucket of keys", Coordinator, api + "STREAM.DELETE.KV_CFG", "", nil},
		{"a coordinator deletes all tickets", Coordinator, api + "STREAM.DELETE.ccm-push-work", "", nil},
		{"a coordinator deletes the claims of runs", Coordinator, api + "STREAM.DELETE.KV_ccm-push-runs", "", nil},
		{"a coordinator empties a bucket of keys", Coordinator, api + "STREAM.PURGE.KV_CFG", "", nil},
		{"a coordinator takes back all tickets", Coordinator, api + "STREAM.PURGE.ccm-push-work", `{"filter":"ccm-push.work.>"}`, nil},
		{"a coordinator takes back the tickets of all runs", Coordinator, api + "STREAM.PURGE.ccm-push-work", `{"filter":"ccm-push.work.*.*"}`, nil},
		{"a coordinator empties the archives", Coordinator, api + "STREAM.PURGE.OBJ_SITES", `{"filter":"$O.SITES.C.>"}`, nil},
		{"a coordinator empties the registry", Coordinator, api + "STREAM.PURGE.REGISTRATION", "", nil},
		{"a coordinator deletes the messages of the claims", Coordinator, "$KV.ccm-push-runs.x", "x", hdr("Nats-Rollup", "all")},
		{"a coordinator empties the registry by a registration", Coordinator, strings.TrimSuffix(registry.Subjects, ">") + "eu.http.web.x.y", "x", hdr("Nats-Rollup", "all")},
		{"a coordinator names a header twice", Coordinator, "$KV.ccm-push-runs.x", "x", nats.Header{"Nats-Rollup": {"sub", "all"}}},
		{"a coordinator deletes a message", Coordinator, api + "STREAM.MSG.DELETE.KV_CFG", `{"seq":1}`, nil},
		{"a coordinator has a bucket sent to another user", Coordinator, api + "STREAM.SNAPSHOT.KV_CFG", `{"deliver_subject":"` + foreign + `"}`, nil},
		{"a coordinator puts a bucket back", Coordinator, api + "STREAM.RESTORE.KV_attack", `{"config":` + stream("KV_attack", "") + `,"state":{}}`, nil},
		{"a coordinator pauses a consumer", Coordinator, api + "CONSUMER.PAUSE.KV_CFG.victim", `{"pause_until":"2099-01-01T00:00:00Z"}`, nil},
		{"a coordinator sets a consumer back", Coordinator, api + "CONSUMER.RESET.KV_CFG.victim", `{"seq":1}`, nil},
		{"a coordinator makes a durable consumer by the old request", Coordinator, api + "CONSUMER.DURABLE.CREATE.KV_CFG.attack", consumer("KV_CFG", `,"durable_name":"attack"`), nil},
		{"a coordinator answers without a question", Coordinator, foreign, "x", nil},
		{"a coordinator has a ticket sent later to elsewhere", Coordinator, "ccm-push.work.0000.attack", "x", hdr("Nats-Schedule", "@every 1s", "Nats-Schedule-Target", "ccm-push.work.0000.attack2")},
		{"a coordinator hands out tickets in a batch", Coordinator, "ccm-push.work.0000.attack", "x", hdr("Nats-Batch-Id", "b", "Nats-Batch-Sequence", "1", "Nats-Batch-Commit", "1")},
		{"a coordinator says something as a worker", Coordinator, "ccm-push.said.run1", "x", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := w.state()
			w.forget(c.role)
			require.NoError(t, w.conn(c.role).PublishMsg(&nats.Msg{Subject: c.subject, Reply: own(c.role), Data: []byte(c.body), Header: c.headers}))
			w.settle()
			require.Equal(t, before, w.state())
			require.Empty(t, unique(w.arrived("attack")))
			if !strings.HasPrefix(c.subject, api+"CONSUMER.DELETE.") { // the answer is that the consumer does not exist
				w.isRefused(c.role, "Permissions Violation for Publish to")
			}
		})
	}

	// The lease of the second worker and the run still work.
	require.NoError(t, w.lease.Done(t.Context()))
	require.Eventually(t, func() bool {
		info, err := w.jetStream(Operator).Stream(t.Context(), queue.WorkStream)
		return err == nil && info.CachedInfo().State.Msgs == 0
	}, time.Minute, 10*time.Millisecond)
}
