package queue

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Names at the server. Sites are hashed, so that any text can be one.
const (
	workStream  = WorkStream
	subjects    = "ccm-push."
	workSubject = subjects + "work." // SITE.RUN
	saidSubject = subjects + "said." // RUN
	askSubject  = subjects + "ask."  // RUN
	order       = subjects + "order."
	// fetchTime limits one wait of the server for a ticket.
	fetchTime = 20 * time.Second
	flushTime = 10 * time.Second
	// firstTry limits the server's time to store data, and lastTry its time after several tries.
	firstTry = 5 * time.Second
	lastTry  = 5 * time.Minute
)

// Names that servers need to restrict their users.
const (
	WorkStream = "ccm-push-work" // the stream of tickets
	Asks       = askSubject + "*"
	Says       = saidSubject + "*"
	Orders     = order + "*"
	Claims     = "$KV." + claimBucket + ".>" // coordinators of runs
	AllTickets = workSubject + ">"
	Tickets    = workSubject + "*.*" // SITE.RUN
	Recorded   = recordSubject + "*"
	// The stream of a run and the bucket of its objects begin with PerRun, and the stream of its record with RecordStream.
	PerRun       = "ccm-push-"
	RecordStream = "ccm-push-record-"
	// SitePrefix and the token of a site are the durable consumer that its workers lease tickets from.
	SitePrefix = "site-"
)

// JetStream is a queue at servers of NATS.
type JetStream struct {
	conn  *nats.Conn
	js    jetstream.JetStream
	lease time.Duration

	mu    sync.Mutex
	sites map[string]jetstream.Consumer
}

// NewJetStream makes one of a connection, which stays the caller's. Its leases last so long; 0 means
// [LeaseTime]. All workers of a server have the same.
func NewJetStream(conn *nats.Conn, lease time.Duration) (*JetStream, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	return &JetStream{conn: conn, js: js, lease: cmp.Or(lease, LeaseTime), sites: map[string]jetstream.Consumer{}}, nil
}

// SiteToken returns the part of subjects and consumers that stands for a site.
func SiteToken(site string) string {
	sum := sha256.Sum256([]byte(site))
	return hex.EncodeToString(sum[:8])
}

// failed adds the attempted operation to an error of the server.
func failed(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return fmt.Errorf("NATS: %s: JetStream is not enabled at the server, or for this account: %w", doing, err)
	case errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("NATS: %s: no answer: JetStream is not enabled at the server, or this account may not use it: %w", doing, err)
	}
	return fmt.Errorf("NATS: %s: %w", doing, err)
}

// needs is failed for operations that need a role of ccm-push-broker. A server that refuses a request sends no answer,
// only an error of the connection.
func (q *JetStream) needs(role, doing string, err error) error {
	last := q.conn.LastError()
	if err == nil || !errors.Is(last, nats.ErrPermissionViolation) || !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, nats.ErrTimeout) {
		return failed(doing, err)
	}
	return fmt.Errorf("NATS: %s: the server does not permit this: %w\n  hint: the user needs the role %s (ccm-push-broker user add NAME --role %[3]s), or on another server the same permissions", doing, last, role)
}

// flush returns when the server has received the published messages.
func (q *JetStream) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	return q.conn.FlushWithContext(ctx)
}

// work makes sure that there is the stream of tickets.
func (q *JetStream) work(ctx context.Context) (jetstream.Stream, error) {
	s, err := q.stream(ctx, jetstream.StreamConfig{
		Name: workStream, Subjects: []string{AllTickets}, Retention: jetstream.WorkQueuePolicy, MaxAge: KeptTime,
		Description: "shards of runs of ccm-push that wait for a worker",
	})
	return s, err
}

// stream makes sure that there is a stream of that name.
func (q *JetStream) stream(ctx context.Context, config jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := q.js.Stream(ctx, config.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = q.js.CreateStream(ctx, config)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another program was quicker
			s, err = q.js.Stream(ctx, config.Name)
		}
	}
	return s, err
}

// Prepare makes the streams of tickets and announcements, for workers that may not.
func (q *JetStream) Prepare(ctx context.Context) error {
	_, err := q.work(ctx)
	if err == nil {
		_, err = q.announcements(ctx)
	}
	return failed("making the streams", err)
}

// Connected implements [Queue].
func (q *JetStream) Connected() bool { return q.conn.IsConnected() }

// Open implements [Queue].
func (q *JetStream) Open(ctx context.Context, name string) (Run, error) {
	work, err := q.work(ctx)
	if err != nil {
		return nil, q.needs("coordinator", "making the stream of the run", err)
	}
	_, _ = q.announcements(ctx) // a run goes without
	r := &natsRun{queue: q, name: name, work: work, closed: make(chan struct{})}
	if r.stream, err = q.js.CreateStream(ctx, jetstream.StreamConfig{
		Name: PerRun + name, Subjects: []string{saidSubject + name}, MaxAge: KeptTime, Description: "messages of workers about a run of ccm-push",
	}); err != nil {
		return nil, q.needs("coordinator", "making the stream of the run", err)
	}
	if r.objects, err = q.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: PerRun + name, TTL: KeptTime}); err != nil {
		return nil, errors.Join(failed("making the objects of the run", err), q.js.DeleteStream(ctx, PerRun+name))
	}
	said, err := r.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err == nil {
		r.said, err = said.Messages()
	}
	if err != nil {
		return nil, errors.Join(failed("reading the stream of the run", err), r.remove(ctx))
	}
	return r, nil
}

// site returns the consumer of the tickets of a site.
func (q *JetStream) site(ctx context.Context, site string) (jetstream.Consumer, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if c := q.sites[site]; c != nil {
		return c, nil
	}
	work, err := q.work(ctx)
	if err != nil {
		return nil, q.needs("worker", "requesting work", err)
	}
	token := SiteToken(site)
	c, err := work.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: SitePrefix + token, FilterSubject: workSubject + token + ".*", AckPolicy: jetstream.AckExplicitPolicy, AckWait: q.lease, MaxDeliver: -1,
	})
	if err != nil {
		return nil, q.needs("worker", "requesting work", err)
	}
	q.sites[site] = c
	return c, nil
}

// Lease implements [Queue].
func (q *JetStream) Lease(ctx context.Context, site string) (Lease, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := q.site(ctx, site)
		if err != nil {
			return nil, err
		}
		timed, cancel := context.WithTimeout(ctx, fetchTime)
		msg, err := c.Next(jetstream.FetchContext(timed))
		late := timed.Err() != nil
		cancel()
		switch {
		case err == nil:
			return natsLease{msg, q}, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case late, errors.Is(err, nats.ErrTimeout), errors.Is(err, jetstream.ErrNoMessages), errors.Is(err, jetstream.ErrInvalidOption): // the last: too little time
		case errors.Is(err, jetstream.ErrConsumerDeleted), errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, nats.ErrNoResponders):
			q.mu.Lock()
			delete(q.sites, site)
			q.mu.Unlock()
			return nil, failed("waiting for work", err)
		default:
			return nil, failed("waiting for work", err)
		}
	}
}

// Join implements [Queue].
func (q *JetStream) Join(_ context.Context, name string) (Member, error) {
	return &natsMember{queue: q, name: name}, nil
}

type natsLease struct {
	jetstream.Msg
	queue *JetStream
}

// Lasts implements [Lease].
func (l natsLease) Lasts() time.Duration { return l.queue.lease }

// Ticket implements [Lease].
func (l natsLease) Ticket() []byte { return l.Data() }

// Extend implements [Lease].
func (l natsLease) Extend(ctx context.Context) error {
	return errors.Join(l.InProgress(), l.queue.flush(ctx))
}

// Done implements [Lease]. Whether the server has heard it is not waited for: by then the run may be
// closed, and its tickets gone.
func (l natsLease) Done(ctx context.Context) error {
	return errors.Join(l.Ack(), l.queue.flush(ctx))
}

// Return implements [Lease].
func (l natsLease) Return(ctx context.Context) error {
	return errors.Join(l.Nak(), l.queue.flush(ctx))
}

type natsRun struct {
	queue   *JetStream
	name    string
	work    jetstream.Stream
	stream  jetstream.Stream
	objects jetstream.ObjectStore
	said    jetstream.MessagesContext
	closing sync.Once
	closed  chan struct{}

	mu      sync.Mutex
	asked   *nats.Subscription
	answers sync.WaitGroup // gets no new goroutine after closed is closed
}

// Submit implements [Desk].
func (r *natsRun) Submit(ctx context.Context, site string, ticket []byte) error {
	sum := sha256.Sum256(ticket)
	id := jetstream.WithMsgID(hex.EncodeToString(sum[:])) // by which the server knows one that it had taken
	return failed("handing out work", r.insist(ctx, func(ctx context.Context) error {
		_, err := r.queue.js.Publish(ctx, workSubject+SiteToken(site)+"."+r.name, ticket, id)
		return err
	}))
}

// insist repeats try until the server has answered, or the run is over. Each try has more time, for a slow link.
func (r *natsRun) insist(ctx context.Context, try func(context.Context) error) error {
	limit, err := firstTry, error(nats.ErrDisconnected)
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		if r.queue.conn.IsConnected() { // else it would wait for an answer all its time
			once, cancel := context.WithTimeout(ctx, limit)
			err = try(once)
			cancel()
			limit = min(2*limit, lastTry)
			if err == nil || refused(err) {
				return err
			}
			once, cancel = context.WithTimeout(ctx, firstTry)
			_, gone := r.queue.js.Stream(once, PerRun+r.name)
			cancel()
			if errors.Is(gone, jetstream.ErrStreamNotFound) {
				return err
			}
		}
		select {
		case <-time.After(wait):
		case <-r.closed:
			return err
		case <-ctx.Done():
			return err
		}
	}
}

// refused reports whether an error is an answer of the server, which would be the same again.
func refused(err error) bool {
	answer, ok := errors.AsType[jetstream.JetStreamError](err)
	const unavailable = 503 // a temporary state, for example after the start of the server
	return ok && answer.APIError() != nil && answer.APIError().Code != unavailable
}

// Withdraw implements [Desk].
func (r *natsRun) Withdraw(ctx context.Context) error {
	return failed("taking work back", r.work.Purge(ctx, jetstream.WithPurgeSubject(workSubject+"*."+r.name)))
}

// Answer implements [Desk].
func (r *natsRun) Answer(ctx context.Context, answer func(ctx context.Context, question []byte) []byte) error {
	sub, err := r.queue.conn.Subscribe(askSubject+r.name, func(m *nats.Msg) {
		connection := r.queue.conn.Stats().Reconnects
		r.mu.Lock() // a message can still arrive while Close waits for the answers
		defer r.mu.Unlock()
		select {
		case <-r.closed:
			return
		default:
		}
		r.answers.Go(func() {
			text := answer(ctx, m.Data)
			// A server lets a coordinator answer only over the connection of the question (allow_responses), and
			// refuses later answers. A worker without an answer repeats the question.
			if r.queue.conn.IsConnected() && r.queue.conn.Stats().Reconnects == connection {
				_ = m.Respond(text)
			}
		})
	})
	r.mu.Lock()
	r.asked = sub
	r.mu.Unlock()
	return failed("listening to workers", err)
}

// Put implements [Desk].
func (r *natsRun) Put(ctx context.Context, data []byte) (string, error) {
	name := rand.Text()
	return name, failed("storing what a worker needs", r.insist(ctx, func(ctx context.Context) error {
		_, err := r.objects.PutBytes(ctx, name, data)
		return err
	}))
}

// Delete implements [Desk].
func (r *natsRun) Delete(ctx context.Context, name string) error {
	err := r.objects.Delete(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil
	}
	return failed("deleting what a worker needed", err)
}

// Said implements [Run].
func (r *natsRun) Said(ctx context.Context) (data []byte, number uint64, err error) {
	msg, err := r.said.Next(jetstream.NextContext(ctx))
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, 0, ctx.Err()
	case errors.Is(err, jetstream.ErrMsgIteratorClosed):
		return nil, 0, ErrGone
	default:
		return nil, 0, failed("hearing what workers say", err)
	}
	meta, err := msg.Metadata()
	if err != nil {
		return nil, 0, failed("hearing what workers say", err)
	}
	return msg.Data(), meta.Sequence.Stream, nil
}

// LastSaid implements [Run].
func (r *natsRun) LastSaid(ctx context.Context) (number uint64, err error) {
	err = r.insist(ctx, func(ctx context.Context) error {
		info, err := r.stream.Info(ctx)
		if err == nil {
			number = info.State.LastSeq
		}
		return err
	})
	return number, failed("reading the messages of workers", err)
}

// Order implements [Run].
func (r *natsRun) Order(ctx context.Context, data []byte) error {
	return failed("telling workers", errors.Join(r.queue.conn.Publish(order+r.name, data), r.queue.flush(ctx)))
}

// Close implements [Run].
func (r *natsRun) Close(ctx context.Context) error {
	r.said.Stop()
	r.mu.Lock()
	r.closing.Do(func() { close(r.closed) })
	asked := r.asked
	r.mu.Unlock()
	var err error
	if asked != nil {
		err = asked.Unsubscribe()
	}
	r.answers.Wait()
	return errors.Join(err, r.Withdraw(ctx), r.remove(ctx))
}

// remove deletes the reports and the objects.
func (r *natsRun) remove(ctx context.Context) error {
	streamErr := r.queue.js.DeleteStream(ctx, PerRun+r.name)
	if errors.Is(streamErr, jetstream.ErrStreamNotFound) { // the next coordinator has deleted it
		streamErr = nil
	}
	objectsErr := r.queue.js.DeleteObjectStore(ctx, PerRun+r.name)
	if errors.Is(objectsErr, jetstream.ErrStreamNotFound) || errors.Is(objectsErr, jetstream.ErrBucketNotFound) {
		objectsErr = nil
	}
	return errors.Join(failed("deleting the stream of the run", streamErr), failed("deleting the objects of the run", objectsErr))
}

type natsMember struct {
	queue *JetStream
	name  string
}

// Ask implements [Member].
func (m *natsMember) Ask(ctx context.Context, question []byte) ([]byte, error) {
	msg, err := m.queue.conn.RequestWithContext(ctx, askSubject+m.name, question)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		if _, err := m.queue.js.Stream(ctx, PerRun+m.name); errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil, ErrGone
		}
		return nil, ErrAway
	case err != nil:
		return nil, failed("sending a request to the controller", err)
	}
	return msg.Data, nil
}

// Get implements [Member].
func (m *natsMember) Get(ctx context.Context, name string) ([]byte, error) {
	store, err := m.queue.js.ObjectStore(ctx, PerRun+m.name)
	if err != nil {
		return nil, failed("fetching what the run needs", err)
	}
	data, err := store.GetBytes(ctx, name)
	return data, failed("fetching what the run needs", err)
}

// Say implements [Member].
func (m *natsMember) Say(ctx context.Context, data []byte) error {
	_, err := m.queue.js.Publish(ctx, saidSubject+m.name, data)
	if errors.Is(err, jetstream.ErrNoStreamResponse) {
		return ErrGone
	}
	return failed("reporting to the controller", err)
}

// Orders implements [Member].
func (m *natsMember) Orders(ctx context.Context, hear func(data []byte)) error {
	sub, err := m.queue.conn.Subscribe(order+m.name, func(msg *nats.Msg) { hear(msg.Data) })
	if err != nil {
		return failed("listening to the coordinator", err)
	}
	context.AfterFunc(ctx, func() { _ = sub.Unsubscribe() })
	return nil
}
