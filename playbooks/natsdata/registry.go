package natsdata

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ccm-push/ccm-push/playbooks/registry"
)

// Headers that affect the server, and the header of its messages about ended registrations.
const (
	ttlHeader    = "Nats-TTL"
	rollupHeader = "Nats-Rollup"
	streamHeader = "Nats-Expected-Stream"
	markerHeader = "Nats-Marker-Reason"
)

// A Registry is the services that are registered in a stream.
type Registry struct {
	Store  *Store
	Stream string
}

// Ready reports why nothing can be registered, or nil.
func (r Registry) Ready(ctx context.Context) error {
	return r.within(ctx, func(ctx context.Context) error {
		s, err := r.stream(ctx)
		if err != nil {
			return err
		}
		switch c := s.CachedInfo().Config; {
		case !slices.Contains(c.Subjects, registry.Subjects):
			return fmt.Errorf("the stream %q of NATS does not have the subjects %s", r.Stream, registry.Subjects)
		case !c.AllowRollup:
			return fmt.Errorf("the stream %q of NATS does not allow a registration to replace the previous one (rollup)", r.Stream)
		case !c.AllowMsgTTL:
			return fmt.Errorf("the stream %q of NATS does not allow registrations to expire (TTL of messages)", r.Stream)
		}
		return nil
	})
}

// Prepare creates or changes the stream: it keeps registrations for at most maxAge, on so many servers of a cluster.
func (r Registry) Prepare(ctx context.Context, replicas int, maxAge time.Duration) error {
	switch {
	case replicas < 1 || replicas > 5:
		return fmt.Errorf("a stream of NATS has 1 to 5 replicas, not %d", replicas)
	case maxAge < time.Second:
		return fmt.Errorf("registrations are kept for at least one second, not %v", maxAge)
	}
	return r.within(ctx, func(ctx context.Context) error {
		js, err := r.Store.Link.JetStream(ctx)
		if err != nil {
			return err
		}
		_, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name: r.Stream, Description: "where services are found (CCM)", Subjects: []string{registry.Subjects},
			MaxMsgsPerSubject: 1, AllowRollup: true, AllowMsgTTL: true, DenyDelete: true,
			AllowDirect: true, // CCM uses only this for its lookups
			Replicas:    replicas, MaxAge: maxAge, SubjectDeleteMarkerTTL: maxAge,
		})
		if err != nil {
			return fmt.Errorf("making the stream %q of NATS: %w", r.Stream, trimmed(err))
		}
		return nil
	})
}

// Remove removes a registered service. It is an error if there is none.
func (r Registry) Remove(ctx context.Context, one registry.Registration) error {
	if _, err := registry.Filter(one.Cluster, one.Protocol, one.Service, one.Address); err != nil {
		return err
	}
	return r.within(ctx, func(ctx context.Context) error {
		s, err := r.stream(ctx)
		if err != nil {
			return err
		}
		switch list, err := lastOf(ctx, s, one.Subject()); {
		case err != nil:
			return err
		case len(list) == 0:
			return fmt.Errorf("%s is not registered", one)
		}
		if err := s.Purge(ctx, jetstream.WithPurgeSubject(one.Subject())); err != nil {
			return fmt.Errorf("removing %s: %w", one, trimmed(err))
		}
		return nil
	})
}

func (r Registry) within(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, fmt.Errorf("NATS has not answered within %v", answerTime))
	defer cancel()
	err := do(ctx)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (r Registry) stream(ctx context.Context) (jetstream.Stream, error) {
	js, err := r.Store.Link.JetStream(ctx)
	if err != nil {
		return nil, err
	}
	if r.Stream == "" {
		return nil, errors.New("no stream of registrations is named")
	}
	s, err := js.Stream(ctx, r.Stream)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return nil, fmt.Errorf("NATS has no stream %q for registrations", r.Stream)
	case errors.Is(err, jetstream.ErrInvalidStreamName):
		return nil, fmt.Errorf("%q is not a stream of NATS: write letters, digits, - and _", r.Stream)
	case err != nil:
		return nil, fmt.Errorf("opening the stream %q of NATS: %w", r.Stream, trimmed(err))
	}
	return s, nil
}

// Register registers services; each replaces its earlier registration. It returns once the server has all of them.
func (r Registry) Register(ctx context.Context, list []registry.Registration) error {
	return r.within(ctx, func(ctx context.Context) error {
		js, err := r.Store.Link.JetStream(ctx)
		if err != nil {
			return err
		}
		for _, one := range list {
			if err := r.publish(ctx, js, one); err != nil {
				return fmt.Errorf("registering %s: %w", one, err)
			}
		}
		return nil
	})
}

func (r Registry) publish(ctx context.Context, js jetstream.JetStream, one registry.Registration) error {
	text, err := json.Marshal(one)
	if err != nil {
		return err
	}
	msg := nats.NewMsg(one.Subject())
	msg.Data = text
	msg.Header.Set(rollupHeader, "sub")
	msg.Header.Set(streamHeader, r.Stream)
	if one.TTL != 0 {
		msg.Header.Set(ttlHeader, one.TTL.String())
	}
	_, err = js.PublishMsg(ctx, msg)
	if errors.Is(err, jetstream.ErrNoStreamResponse) {
		return fmt.Errorf("no stream of NATS has %s", msg.Subject)
	}
	if err != nil {
		return trimmed(err)
	}
	return nil
}

// Registered are the services that are registered now, sorted by address and port; "*" and "" are any.
func (r Registry) Registered(ctx context.Context, cluster, protocol, service, address string) (list []registry.Registration, err error) {
	subject, err := registry.Filter(cluster, protocol, service, address)
	if err != nil {
		return nil, err
	}
	err = r.within(ctx, func(ctx context.Context) error {
		s, err := r.stream(ctx)
		if err != nil {
			return err
		}
		list, err = lastOf(ctx, s, subject)
		return err
	})
	slices.SortFunc(list, func(a, b registry.Registration) int {
		return cmp.Or(strings.Compare(a.Address, b.Address), cmp.Compare(port(a), port(b)), strings.Compare(a.Subject(), b.Subject()))
	})
	return list, err
}

func port(r registry.Registration) int {
	if r.Port == nil {
		return 0
	}
	return *r.Port
}

// lastOf are the last registrations of the subjects that a filter has.
func lastOf(ctx context.Context, s jetstream.Stream, filter string) (list []registry.Registration, err error) {
	reader, err := s.CreateConsumer(ctx, jetstream.ConsumerConfig{
		FilterSubject: filter, DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, AckPolicy: jetstream.AckNonePolicy,
		MemoryStorage: true, InactiveThreshold: time.Minute,
	})
	if err != nil {
		return nil, fmt.Errorf("reading registrations: %w", trimmed(err))
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = s.DeleteConsumer(ctx, reader.CachedInfo().Name) // else it goes after a minute
	}()
	const atOnce = 500
	for left := reader.CachedInfo().NumPending; left > 0; {
		batch, err := reader.Fetch(int(min(left, atOnce)), jetstream.FetchContext(ctx))
		if err != nil {
			return nil, fmt.Errorf("reading registrations: %w", trimmed(err))
		}
		for msg := range batch.Messages() {
			info, err := msg.Metadata()
			if err != nil {
				return nil, err
			}
			left = info.NumPending
			if msg.Headers().Get(markerHeader) != "" { // a registration that has ended
				continue
			}
			one, err := decoded(msg)
			if err != nil {
				return nil, err
			}
			list = append(list, one)
		}
		if err := batch.Error(); err != nil {
			return nil, fmt.Errorf("reading registrations: %w", trimmed(err))
		}
	}
	return list, nil
}

func decoded(msg jetstream.Msg) (one registry.Registration, err error) {
	if err := json.Unmarshal(msg.Data(), &one); err != nil {
		return one, fmt.Errorf("%s has no registration: %w", msg.Subject(), err)
	}
	return one, nil
}
