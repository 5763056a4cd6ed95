package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Records are copies of the records of runs, and claims of their coordinators. Names of runs are hashed; the users seal
// the stored data.
type Records struct {
	queue  *JetStream
	claims jetstream.KeyValue
	// bucket is the stream that claims are in.
	bucket jetstream.Stream
}

const (
	claimBucket   = "ccm-push-runs"
	recordSubject = subjects + "record."
	// readerTime is the time after which a silent reader does not count any more.
	readerTime = 30 * time.Second
	// thereTime is the silence after which a reader checks whether the record still exists.
	thereTime = time.Second
	// readAtOnce is the number of messages that a reader requests.
	readAtOnce = 64
)

// ErrTaken reports that another controller has made a claim since.
var ErrTaken = errors.New("another controller has taken it")

// ErrCut reports that the begin of a record was deleted.
var ErrCut = errors.New("the beginning of the record is older than a week, and NATS has deleted this part")

// A Claim is the last claim of a run.
type Claim struct {
	Name     string // hashed
	Data     []byte
	revision uint64
	said     time.Time // time by the clock of the server
}

// Records returns the records at the servers.
func (q *JetStream) Records(ctx context.Context) (*Records, error) {
	kv, err := q.js.KeyValue(ctx, claimBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = q.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: claimBucket, TTL: KeptTime, Description: "controllers of the runs of ccm-push"})
		if errors.Is(err, jetstream.ErrBucketExists) { // another program was quicker
			kv, err = q.js.KeyValue(ctx, claimBucket)
		}
	}
	if err != nil {
		return nil, q.needs("coordinator", "reading the controllers of runs", err)
	}
	bucket, err := q.js.Stream(ctx, "KV_"+claimBucket)
	return &Records{q, kv, bucket}, failed("reading the controllers of runs", err)
}

// Lasts returns the validity of a claim that is not renewed.
func (r *Records) Lasts() time.Duration { return r.queue.lease }

// hashed returns the name of a run at the server.
func hashed(run string) string {
	sum := sha256.Sum256([]byte("ccm-push run " + run))
	return hex.EncodeToString(sum[:16])
}

// Claim claims a run: after is the claim before it, or nil. The error wraps [ErrTaken] if there is another one by now.
func (r *Records) Claim(ctx context.Context, run string, data []byte, after *Claim) (*Claim, error) {
	c := &Claim{Name: hashed(run), Data: data}
	var err error
	if after == nil {
		c.revision, err = r.claims.Create(ctx, c.Name, data)
	} else {
		c.revision, err = r.claims.Update(ctx, c.Name, data, after.revision)
	}
	if wrongLast(err) {
		return nil, ErrTaken
	}
	return c, failed("claiming the run", err)
}

// wrongLast reports whether an error is that something else was stored last.
func wrongLast(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, jetstream.ErrKeyExists) || errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}

// Claims returns all claims, and the time at the server.
func (r *Records) Claims(ctx context.Context) (all []Claim, now time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, flushTime) // a list whose connection is lost meanwhile has no end of its own
	defer cancel()
	keys, err := r.claims.ListKeys(ctx)
	if err != nil {
		return nil, now, r.queue.needs("coordinator", "listing runs", err)
	}
	for key := range keys.Keys() {
		e, err := r.claims.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) { // it has ended just now
			continue
		}
		if err != nil {
			return nil, now, failed("reading the controller of a run", err)
		}
		all = append(all, Claim{e.Key(), e.Value(), e.Revision(), e.Created()})
	}
	info, err := r.bucket.Info(ctx)
	if err != nil {
		return nil, now, failed("reading the time", err)
	}
	return all, info.TimeStamp, nil
}

// Holds reports whether a claim is still good at a time of the server.
func (r *Records) Holds(c Claim, now time.Time) bool { return now.Sub(c.said) < r.queue.lease }

// Since returns the time of a claim.
func (c Claim) Since() time.Time { return c.said }

// Make makes room for the record of a run.
func (r *Records) Make(ctx context.Context, run string) error {
	_, err := r.queue.js.CreateStream(ctx, jetstream.StreamConfig{
		Name: RecordStream + hashed(run), Subjects: []string{recordSubject + hashed(run)}, MaxAge: KeptTime, Description: "the record of a run of ccm-push",
	})
	return failed("making room for the record of the run", err)
}

// Append adds to the record of a run. The error wraps [ErrTaken] if it was closed, and [ErrGone] if it was deleted.
func (r *Records) Append(ctx context.Context, run string, data []byte) error {
	_, err := r.queue.js.Publish(ctx, recordSubject+hashed(run), data)
	var api *jetstream.APIError
	switch {
	case errors.Is(err, jetstream.ErrNoStreamResponse):
		return ErrGone
	case errors.As(err, &api) && strings.Contains(api.Description, "sealed"):
		return ErrTaken
	}
	return failed("copying the record of the run", err)
}

// End closes the record of a run: nothing can be added any more.
func (r *Records) End(ctx context.Context, run string) error {
	s, err := r.queue.js.Stream(ctx, RecordStream+hashed(run))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return failed("closing the record of the run", err)
	}
	config := s.CachedInfo().Config
	config.Sealed = true
	_, err = r.queue.js.UpdateStream(ctx, config)
	return failed("closing the record of the run", err)
}

// Read reads the record of a run so far, and with follow its later parts, until take returns false. The error is
// [ErrGone] if there is none, or none any more, and [ErrCut] if its begin was deleted.
func (r *Records) Read(ctx context.Context, run string, follow bool, take func(data []byte) (more bool, err error)) error {
	s, err := r.queue.js.Stream(ctx, RecordStream+hashed(run))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return ErrGone
	}
	if err != nil {
		return failed("reading the record of the run", err)
	}
	state := s.CachedInfo().State
	switch {
	case state.FirstSeq > 1:
		return ErrCut
	case !follow && state.Msgs == 0:
		return nil
	}
	reading := &recordReader{stream: s, next: 1}
	defer reading.leave(context.WithoutCancel(ctx))
	for {
		more, err := reading.some(ctx, take)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil || !more:
			return err
		case !follow && reading.next > state.LastSeq:
			return nil
		}
	}
}

// A recordReader reads a stream from a message on. If the server has lost its place, it requests the messages again.
type recordReader struct {
	stream   jetstream.Stream
	consumer jetstream.Consumer // nil until there is one
	next     uint64
}

// some takes what there is, and waits a while for it.
func (r *recordReader) some(ctx context.Context, take func(data []byte) (more bool, err error)) (more bool, err error) {
	if r.consumer == nil {
		r.consumer, err = r.stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
			AckPolicy: jetstream.AckNonePolicy, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: r.next, InactiveThreshold: readerTime, MemoryStorage: true,
		})
		if err != nil {
			return r.lost(ctx)
		}
	}
	batch, err := r.consumer.Fetch(readAtOnce, jetstream.FetchMaxWait(thereTime))
	if err != nil {
		return r.lost(ctx)
	}
	before := r.next
	for msg := range batch.Messages() {
		meta, err := msg.Metadata()
		if err != nil {
			return false, failed("reading the record of the run", err)
		}
		if meta.Sequence.Stream < r.next {
			continue
		}
		r.next = meta.Sequence.Stream + 1
		if more, err := take(msg.Data()); err != nil || !more {
			return false, err
		}
	}
	switch {
	case batch.Error() != nil:
		return r.lost(ctx)
	case r.next == before && r.gone(ctx):
		return false, ErrGone
	}
	return true, nil
}

func (r *recordReader) gone(ctx context.Context) bool {
	_, err := r.stream.Info(ctx)
	return errors.Is(err, jetstream.ErrStreamNotFound)
}

// lost continues at the reader's place, after a while. The error is [ErrGone] if the stream is gone.
func (r *recordReader) lost(ctx context.Context) (more bool, err error) {
	if r.gone(ctx) {
		return false, ErrGone
	}
	r.leave(ctx)
	r.consumer = nil
	select {
	case <-time.After(thereTime):
	case <-ctx.Done():
	}
	return true, nil
}

// leave notifies the server that this reader has ended, so that the server does not wait for it.
func (r *recordReader) leave(ctx context.Context) {
	if r.consumer == nil {
		return
	}
	timed, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	_ = r.stream.DeleteConsumer(timed, r.consumer.CachedInfo().Name) // which it does by itself, later
}

// Readers returns the number of readers of a run's record.
func (r *Records) Readers(ctx context.Context, run string) (int, error) {
	s, err := r.queue.js.Stream(ctx, RecordStream+hashed(run))
	if err != nil {
		return 0, failed("reading the list of readers of the record", err)
	}
	return s.CachedInfo().State.Consumers, nil
}

// Forget deletes the record of a run and its claims.
func (r *Records) Forget(ctx context.Context, run string) error {
	err := r.queue.js.DeleteStream(ctx, RecordStream+hashed(run))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		err = nil
	}
	return errors.Join(failed("deleting the record of the run", err), failed("deleting the claim of the run", r.claims.Purge(ctx, hashed(run))))
}

// Discard deletes what a coordinator has left that is no more: the tickets, objects and stream of a run,
// which the queue has under a name.
func (q *JetStream) Discard(ctx context.Context, name string) error {
	work, err := q.work(ctx)
	if err != nil {
		return err
	}
	r := &natsRun{queue: q, name: name, work: work}
	return errors.Join(r.Withdraw(ctx), r.remove(ctx))
}

// Order sends an order to the workers of a run whose coordinator is gone.
func (q *JetStream) Order(ctx context.Context, name string, data []byte) error {
	return (&natsRun{queue: q, name: name}).Order(ctx, data)
}

// Sweep deletes the data of runs without a report for KeptTime.
func (q *JetStream) Sweep(ctx context.Context, now time.Time) error {
	var errs []error
	list := q.js.ListStreams(ctx)
	for info := range list.Info() {
		c := info.Config
		ours := strings.HasPrefix(c.Name, PerRun) && c.Name != workStream || strings.HasPrefix(c.Name, "OBJ_"+PerRun)
		last := info.Created
		if info.State.LastTime.After(last) {
			last = info.State.LastTime
		}
		if ours && now.Sub(last) > KeptTime {
			if err := q.js.DeleteStream(ctx, c.Name); !errors.Is(err, jetstream.ErrStreamNotFound) {
				errs = append(errs, err)
			}
		}
	}
	return failed("deleting what runs have left", errors.Join(append(errs, list.Err())...))
}
