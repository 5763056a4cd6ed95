package natsdata

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ccm-push/ccm-push/playbooks/natsconn"
)

// How long one question may take, and the copying of one object.
const (
	answerTime = 10 * time.Second
	objectTime = time.Minute
)

// A Store is CCM's data in NATS, as one run sees them. Many goroutines may call its methods.
type Store struct {
	Link *natsconn.Link

	mu     sync.Mutex
	values map[kvKey]*answer[[]byte]
}

// kvKey is the place of a value.
type kvKey struct{ bucket, key string }

// An answer is requested once. The first caller holds the lock until it has come.
type answer[T any] struct {
	mu    sync.Mutex
	known bool
	value T
	err   error
}

// get requests the answer once. If only the end of ctx prevented it, the next call requests it again.
func (a *answer[T]) get(ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known {
		return a.value, a.err
	}
	asking, cancel := context.WithTimeoutCause(ctx, answerTime, fmt.Errorf("NATS has not answered within %v", answerTime))
	defer cancel()
	value, err := ask(asking)
	if err != nil && ctx.Err() != nil {
		return value, context.Cause(ctx)
	}
	if err != nil && asking.Err() != nil {
		err = context.Cause(asking)
	}
	a.known, a.value, a.err = true, value, err
	return value, err
}

// Value returns the value under a key of a bucket. The caller must not change it.
func (s *Store) Value(ctx context.Context, bucket, key string) ([]byte, error) {
	s.mu.Lock()
	if s.values == nil {
		s.values = map[kvKey]*answer[[]byte]{}
	}
	at := kvKey{bucket, key}
	if s.values[at] == nil {
		s.values[at] = &answer[[]byte]{}
	}
	a := s.values[at]
	s.mu.Unlock()
	return a.get(ctx, func(ctx context.Context) ([]byte, error) { return s.value(ctx, bucket, key) })
}

func (s *Store) value(ctx context.Context, bucket, key string) ([]byte, error) {
	js, err := s.Link.JetStream(ctx)
	if err != nil {
		return nil, err
	}
	kv, err := js.KeyValue(ctx, bucket)
	if err != nil {
		return nil, bucketError(bucket, err)
	}
	entry, err := kv.Get(ctx, key)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return nil, fmt.Errorf("the bucket %q of NATS has no key %q", bucket, key)
	case errors.Is(err, jetstream.ErrInvalidKey):
		return nil, fmt.Errorf("%q is not a key of NATS: write letters, digits and -/_=. in it", key)
	case err != nil:
		return nil, fmt.Errorf("reading %q in the bucket %q of NATS: %w", key, bucket, trimmed(err))
	}
	return entry.Value(), nil
}

func bucketError(bucket string, err error) error {
	switch {
	case errors.Is(err, jetstream.ErrBucketNotFound):
		return fmt.Errorf("unknown bucket %q in NATS", bucket)
	case errors.Is(err, jetstream.ErrInvalidBucketName), errors.Is(err, jetstream.ErrInvalidStoreName):
		return fmt.Errorf("%q is not a bucket of NATS: write letters, digits, - and _", bucket)
	}
	return fmt.Errorf("opening the bucket %q of NATS: %w", bucket, trimmed(err))
}

// trimmed is an error without the name that the client begins its errors with.
func trimmed(err error) error {
	if text, ok := strings.CutPrefix(err.Error(), "nats: "); ok && errors.Unwrap(err) == nil {
		return errors.New(text)
	}
	return err
}
