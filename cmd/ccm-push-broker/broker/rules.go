package broker

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/ccm-push/ccm-push/playbooks/registry"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

// A request is a message of a user. Its reply subject is below the user's inbox, or empty.
type request struct {
	filter         *filter
	user           User
	subject, reply string
	headers        []header
	body           []byte

	tokens []string // parts of the subject
}

// A rule lets a role publish to subjects. It refuses headers that the server interprets, except the ones in headers.
type rule struct {
	subject string              // pattern, as in permissions of the server
	headers map[string][]string // allowed values, by name; nil allows any value
	check   func(*request) bool // may change the message; nil allows it
}

// answers is the pattern of subjects that a coordinator answers to. The server allows each answer separately.
const answers = "_INBOX.>"

var (
	anyValue = []string(nil)
	rollup   = []string{"sub"} // replaces the messages of this subject only
	apiLevel = map[string][]string{"Nats-Required-Api-Level": anyValue}
)

const (
	api     = "$JS.API."
	objects = "$O."
	keys    = "$KV."
	// consumerLife is the longest time that a consumer may exist without its user.
	consumerLife = 10 * time.Minute
	ownerKey     = "ccm-push-user" // in the metadata of a consumer
)

func (r Role) rules() []rule {
	info := []rule{
		{subject: api + "INFO", headers: apiLevel, check: empty},
		{subject: api + "CONSUMER.DELETE.*.*", headers: apiLevel, check: deleteConsumer},
		{subject: "$JS.FC.>", check: flowControl},
	}
	get := func(what string) rule { return rule{api + "DIRECT.GET.*." + what, apiLevel, directGet} }
	create := func(what string) rule { return rule{api + "CONSUMER.CREATE.*.*." + what, apiLevel, createReader} }
	next := func(stream string) rule {
		return rule{api + "CONSUMER.MSG.NEXT." + stream + ".*", apiLevel, ownConsumer}
	}
	reading := append(info,
		rule{api + "STREAM.INFO.*", apiLevel, streamInfo},
		get(objects+">"), create(objects+">"), get(keys+">"), create(keys+">"), get(registry.Subjects), create(registry.Subjects),
	)
	switch r {
	case Worker:
		return append(info,
			rule{api + "STREAM.INFO.*", apiLevel, func(q *request) bool { return ofRuns(q.tokens[4]) && empty(q) }},
			get(objects+">"), create(objects+">"),
			rule{api + "CONSUMER.CREATE." + queue.WorkStream + ".*." + queue.Tickets, apiLevel, createSite},
			rule{api + "CONSUMER.MSG.NEXT." + queue.WorkStream + ".*", apiLevel, lease},
			rule{"$JS.ACK." + queue.WorkStream + ".>", nil, acknowledge},
			rule{queue.Asks, nil, nil},
			rule{queue.Says, nil, nil},
			rule{queue.Presences, nil, func(q *request) bool { return q.tokens[2] == q.user.Key && q.reply == "" }},
		)
	case Invited:
		return []rule{{queue.Joins, nil, func(q *request) bool {
			return q.tokens[2] == q.user.Key && q.reply != "" && len(q.body) <= queue.MaxJoin
		}}}
	case Reader:
		return append(reading, next(registry.Stream))
	case Coordinator:
		return append(reading,
			rule{api + "STREAM.NAMES", apiLevel, nil},
			rule{api + "STREAM.LIST", apiLevel, nil},
			rule{api + "STREAM.MSG.GET.*", apiLevel, nil},
			rule{api + "CONSUMER.INFO.*.*", apiLevel, nil},
			create(queue.Says), create(queue.Recorded), rule{api + "CONSUMER.CREATE.*.*", apiLevel, createReader},
			next("*"),
			rule{api + "STREAM.CREATE.*", apiLevel, createStream},
			rule{api + "STREAM.UPDATE.*", apiLevel, sealStream},
			rule{api + "STREAM.DELETE.*", apiLevel, deleteStream},
			rule{api + "STREAM.PURGE.*", apiLevel, purge},
			rule{queue.Tickets, map[string][]string{"Nats-Msg-Id": anyValue}, nil},
			rule{queue.Orders, nil, nil},
			rule{queue.Invites, nil, func(q *request) bool { return q.reply != "" }},
			rule{queue.Recorded, nil, nil},
			rule{queue.Claims, map[string][]string{"Nats-Expected-Last-Subject-Sequence": anyValue, "KV-Operation": anyValue, "Nats-Rollup": rollup}, nil},
			rule{objects + ">", map[string][]string{"Nats-Rollup": rollup}, func(q *request) bool { return ofRuns("OBJ_" + q.tokens[1]) }},
			rule{registry.Subjects, map[string][]string{"Nats-Rollup": rollup, "Nats-Expected-Stream": anyValue, "Nats-TTL": anyValue}, nil},
			rule{answers, nil, func(q *request) bool { return q.reply == "" }},
		)
	}
	return nil
}

// allows reports whether a rule of the role allows a message.
func (r Role) allows(q *request) bool {
	q.tokens = strings.Split(q.subject, ".")
	named := q.tokens
	if strings.HasPrefix(q.subject, api+"CONSUMER.CREATE.") {
		named = q.tokens[:min(6, len(q.tokens))] // the rest is a filter
	}
	if slices.Contains(q.tokens, "") || !literal(strings.Join(named, "."), "") {
		return false
	}
	return slices.ContainsFunc(rulesByRole()[r], func(one rule) bool {
		return server.SubjectMatchesFilter(q.subject, one.subject) && one.takes(q.headers) && (one.check == nil || one.check(q))
	})
}

var rulesByRole = sync.OnceValue(func() map[Role][]rule {
	all := map[Role][]rule{}
	for _, r := range append([]Role{Invited}, Roles...) {
		all[r] = r.rules()
	}
	return all
})

// takes reports whether the rule allows headers. The server ignores headers that begin with neither Nats- nor KV-.
func (r rule) takes(list []header) bool {
	for i, h := range list {
		lower := strings.ToLower(h.name)
		if h.name != "" && !strings.HasPrefix(lower, "nats-") && !strings.HasPrefix(lower, "kv-") {
			continue
		}
		values, ok := r.headers[h.name]
		twice := slices.ContainsFunc(list[:i], func(before header) bool { return strings.EqualFold(before.name, h.name) })
		if !ok || twice || values != nil && !slices.Contains(values, h.value) {
			return false
		}
	}
	return true
}

func empty(q *request) bool { return len(bytes.TrimSpace(q.body)) == 0 }

// decoded parses the text of a request into v, and reports whether v has a field for each key.
func (q *request) decoded(v any) bool {
	d := json.NewDecoder(bytes.NewReader(q.body))
	d.DisallowUnknownFields()
	return d.Decode(v) == nil && !d.More()
}

// encoded replaces the text of a request, so the server reads exactly what the filter has checked.
func (q *request) encoded(v any) bool {
	text, err := json.Marshal(v)
	q.body = text
	return err == nil
}

var runName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9]+$`) })

// ofRuns reports whether a stream belongs to runs with workers.
func ofRuns(stream string) bool {
	for _, before := range []string{"", "OBJ_", "KV_"} {
		if strings.HasPrefix(stream, before+queue.PerRun) {
			return true
		}
	}
	return false
}

// bucketOf returns the stream of a subject of keys or objects; ok is false for other subjects.
func bucketOf(tokens []string) (stream string, ok bool) {
	if len(tokens) < 2 {
		return "", false
	}
	switch tokens[0] {
	case "$O":
		return "OBJ_" + tokens[1], true
	case "$KV":
		return "KV_" + tokens[1], true
	}
	return "", false
}

// mayRead reports whether the role reads subjects of a stream.
func (q *request) mayRead(stream string, subject []string) bool {
	bucket, ok := bucketOf(subject)
	switch {
	case q.user.Role == Worker:
		return ok && bucket == stream && ofRuns(stream)
	case ok && (bucket != stream || q.user.Role == Reader && ofRuns(stream)):
		return false
	case ok:
		return true
	case q.user.Role == Reader:
		return stream == registry.Stream
	}
	return stream != queue.WorkStream // reading a ticket takes it
}

// streamInfo lets a reader request information, such as the names of keys, of the streams that it may read.
func streamInfo(q *request) bool {
	bucket := strings.HasPrefix(q.tokens[4], "KV_") || strings.HasPrefix(q.tokens[4], "OBJ_")
	return q.user.Role != Reader || q.tokens[4] == registry.Stream || bucket && !ofRuns(q.tokens[4])
}

func directGet(q *request) bool {
	return q.mayRead(q.tokens[4], q.tokens[5:]) && (empty(q) || string(bytes.TrimSpace(q.body)) == "{}")
}

// createReader lets a user make a consumer that only reads, whose messages go to the user, and that ends after the user.
func createReader(q *request) bool {
	var r server.CreateConsumerRequest
	stream, name, filters := q.tokens[4], q.tokens[5], q.tokens[6:]
	if q.reply == "" || !q.decoded(&r) || !q.mayRead(stream, filters) {
		return false
	}
	c := r.Config
	if len(filters) == 0 && (!perRun(stream) || strings.HasPrefix(stream, "OBJ_")) {
		return false
	}
	if r.Stream != stream || c.Name != "" && c.Name != name || c.FilterSubject != strings.Join(filters, ".") || c.DeliverSubject != "" && !literal(c.DeliverSubject, q.user.inbox()) {
		return false
	}
	clean := server.ConsumerConfig{
		Name: c.Name, Description: c.Description, DeliverPolicy: c.DeliverPolicy, OptStartSeq: c.OptStartSeq, OptStartTime: c.OptStartTime,
		AckPolicy: server.AckNone, AckWait: c.AckWait, MaxDeliver: c.MaxDeliver, FilterSubject: c.FilterSubject, ReplayPolicy: c.ReplayPolicy,
		RateLimit: c.RateLimit, MaxWaiting: c.MaxWaiting, FlowControl: c.FlowControl, HeadersOnly: c.HeadersOnly, MaxRequestBatch: c.MaxRequestBatch,
		MaxRequestExpires: c.MaxRequestExpires, MaxRequestMaxBytes: c.MaxRequestMaxBytes, DeliverSubject: c.DeliverSubject, Heartbeat: c.Heartbeat,
		InactiveThreshold: c.InactiveThreshold, Replicas: c.Replicas, MemoryStorage: c.MemoryStorage, Metadata: c.Metadata,
	}
	if !reflect.DeepEqual(c, clean) || c.InactiveThreshold > consumerLife {
		return false
	}
	r.Action = server.ActionCreate // does not change a consumer of another user
	r.Config.Name = name
	r.Config.Metadata = map[string]string{ownerKey: q.user.Key}
	return q.encoded(r)
}

const ownerTime = 5 * time.Second

// owns reports whether the user has made a consumer, and whether there is no such consumer. It queries the server each time,
// because another user may have made a new consumer with that name.
func (q *request) owns(stream, name string) (owned, missing bool) {
	msg, err := q.filter.own.Request(api+"CONSUMER.INFO."+stream+"."+name, nil, ownerTime)
	if err != nil {
		return false, false
	}
	var info struct {
		Config struct{ Metadata map[string]string }
		Error  struct{ Code int }
	}
	if json.Unmarshal(msg.Data, &info) != nil {
		return false, false
	}
	const notFound = 404
	return info.Config.Metadata[ownerKey] == q.user.Key, info.Error.Code == notFound
}

// noConsumer is the name of a consumer that does not exist. For a request with it, the server answers that it does not exist;
// a client does not take a permission error as the answer.
const noConsumer = "ccm-push-not-yours"

// ownConsumer lets a user request messages of the user's own consumer. If the server has lost the consumer, such as by a restart,
// its answer makes the client create the consumer again.
func ownConsumer(q *request) bool {
	owned, missing := q.owns(q.tokens[5], q.tokens[6])
	if missing {
		q.subject = api + "CONSUMER.MSG.NEXT." + q.tokens[5] + "." + noConsumer
	}
	return q.reply != "" && (owned || missing)
}

// deleteConsumer lets a user delete the user's own consumers. For other consumers the server answers that they do not exist.
func deleteConsumer(q *request) bool {
	if owned, _ := q.owns(q.tokens[4], q.tokens[5]); !owned {
		q.subject = api + "CONSUMER.DELETE." + q.tokens[4] + "." + noConsumer
	}
	return empty(q)
}

// flowControl lets a user request the next messages of the user's own consumer.
func flowControl(q *request) bool {
	if len(q.tokens) != 5 || q.reply != "" || !empty(q) {
		return false
	}
	owned, _ := q.owns(q.tokens[2], q.tokens[3])
	return owned
}

// createSite lets a worker make the consumer of a site, with exactly the configuration that all workers of the site use.
func createSite(q *request) bool {
	var r server.CreateConsumerRequest
	site, name := q.tokens[8], q.tokens[5]
	if !q.decoded(&r) || name != queue.SitePrefix+site || q.tokens[9] != "*" || !q.user.serves(site) {
		return false
	}
	want := server.ConsumerConfig{Durable: name, Name: name, FilterSubject: strings.Join(q.tokens[6:], "."), AckPolicy: server.AckExplicit, AckWait: queue.LeaseTime, MaxDeliver: -1}
	got := r.Config
	got.Name, got.Metadata = name, nil
	return reflect.DeepEqual(got, want) && q.encoded(server.CreateConsumerRequest{Stream: queue.WorkStream, Config: want})
}

// lease lets a worker request one ticket of a site that it serves.
func lease(q *request) bool {
	var r server.JSApiConsumerGetNextRequest
	site, ok := strings.CutPrefix(q.tokens[6], queue.SitePrefix)
	return q.reply != "" && ok && q.user.serves(site) && q.decoded(&r) && r.Batch == 1 && r.PriorityGroup == server.PriorityGroup{} && q.encoded(r)
}

// acknowledge lets a worker extend, return or end a lease that it has.
func acknowledge(q *request) bool {
	if !slices.Contains([]string{"", "+ACK", "+WPI", "-NAK"}, string(q.body)) || q.filter.leases.holder(q.subject) != q.user.Key {
		return false
	}
	if string(q.body) != "+WPI" {
		return q.filter.leases.ended(q.subject) == nil
	}
	return true
}

// streamOf returns the subjects and the retention of a stream of runs, by its name; ok is false for other streams.
func streamOf(name string) (subjects []string, retention server.RetentionPolicy, ok bool) {
	of := func(prefix string) string {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok || !runName().MatchString(rest) {
			return ""
		}
		return rest
	}
	switch run := of(queue.PerRun); {
	case name == queue.WorkStream:
		return []string{queue.AllTickets}, server.WorkQueuePolicy, true
	case "$KV."+strings.TrimPrefix(name, "KV_")+".>" == queue.Claims && strings.HasPrefix(name, "KV_"):
		return []string{queue.Claims}, server.LimitsPolicy, true
	case run != "":
		return []string{strings.TrimSuffix(queue.Says, "*") + run}, server.LimitsPolicy, true
	case of(queue.RecordStream) != "":
		return []string{strings.TrimSuffix(queue.Recorded, "*") + of(queue.RecordStream)}, server.LimitsPolicy, true
	case of("OBJ_"+queue.PerRun) != "":
		bucket := strings.TrimPrefix(name, "OBJ_")
		return []string{objects + bucket + ".C.>", objects + bucket + ".M.>"}, server.LimitsPolicy, true
	}
	return nil, 0, false
}

// createStream lets a coordinator make the streams of runs. They store only their own subjects, and republish none.
func createStream(q *request) bool {
	var r server.StreamConfigRequest
	subjects, retention, ok := streamOf(q.tokens[4])
	if !ok || !q.decoded(&r) {
		return false
	}
	c := r.StreamConfig
	clean := server.StreamConfig{
		Name: q.tokens[4], Description: c.Description, Subjects: subjects, Retention: retention, MaxConsumers: c.MaxConsumers, MaxMsgs: c.MaxMsgs,
		MaxBytes: c.MaxBytes, MaxAge: c.MaxAge, MaxMsgsPer: c.MaxMsgsPer, MaxMsgSize: c.MaxMsgSize, Discard: c.Discard, Storage: c.Storage,
		Replicas: c.Replicas, Duplicates: c.Duplicates, Placement: c.Placement, Compression: c.Compression, AllowDirect: c.AllowDirect,
		Sealed: c.Sealed, DenyDelete: c.DenyDelete, DenyPurge: c.DenyPurge, AllowRollup: c.AllowRollup, Metadata: c.Metadata,
	}
	return reflect.DeepEqual(c, clean) && q.encoded(server.StreamConfigRequest{StreamConfig: clean})
}

// perRun reports whether a stream belongs to one run, and is deleted with it.
func perRun(stream string) bool {
	_, retention, ok := streamOf(stream)
	return ok && retention == server.LimitsPolicy && !strings.HasPrefix(stream, "KV_")
}

// sealStream lets a coordinator close the record of a run.
func sealStream(q *request) bool {
	var r server.StreamConfigRequest
	return strings.HasPrefix(q.tokens[4], queue.RecordStream) && q.decoded(&r) && r.Sealed && createStream(q)
}

func deleteStream(q *request) bool { return perRun(q.tokens[4]) && empty(q) }

// purge lets a coordinator take back the tickets of a run, delete an object of one, and take back a registration.
func purge(q *request) bool {
	var r server.JSApiStreamPurgeRequest
	if !q.decoded(&r) || r.Sequence != 0 || r.Keep != 0 {
		return false
	}
	filter := strings.Split(r.Subject, ".")
	bucket, ok := bucketOf(filter)
	switch stream := q.tokens[4]; {
	case stream == queue.WorkStream:
		return server.SubjectMatchesFilter(r.Subject, queue.Tickets) && runName().MatchString(filter[3]) && q.encoded(r)
	case ok:
		return bucket == stream && perRun(stream) && q.encoded(r)
	default:
		return !ofRuns(stream) && literal(r.Subject, strings.TrimSuffix(registry.Subjects, ">")) && q.encoded(r)
	}
}
