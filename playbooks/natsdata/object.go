package natsdata

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go/jetstream"
)

// Object copies an object of a bucket to w. Its digest is verified; one larger than most is not copied.
func (s *Store) Object(ctx context.Context, bucket, name string, most int64, w io.Writer) error {
	copying, cancel := context.WithTimeoutCause(ctx, objectTime, fmt.Errorf("it has not come within %v", objectTime))
	defer cancel()
	err := s.object(copying, bucket, name, most, w)
	if err != nil && copying.Err() != nil {
		return context.Cause(copying)
	}
	return err
}

func (s *Store) object(ctx context.Context, bucket, name string, most int64, w io.Writer) error {
	js, err := s.Link.JetStream(ctx)
	if err != nil {
		return err
	}
	objects, err := js.ObjectStore(ctx, bucket)
	if err != nil {
		return bucketError(bucket, err)
	}
	object, err := objects.Get(ctx, name)
	switch {
	case errors.Is(err, jetstream.ErrObjectNotFound):
		return fmt.Errorf("the bucket %q of NATS has no object %q", bucket, name)
	case err != nil:
		return fmt.Errorf("reading an object of NATS: %w", trimmed(err))
	}
	defer object.Close()
	n, err := io.Copy(w, io.LimitReader(object, most+1))
	if err != nil {
		return fmt.Errorf("reading an object of NATS: %w", trimmed(err))
	}
	if n > most {
		return fmt.Errorf("it has more than %d MiB", most>>20)
	}
	return nil
}

// Protected reports whether the connection protects the data against changes.
func (s *Store) Protected(ctx context.Context) (bool, error) { return s.Link.Protected(ctx) }
