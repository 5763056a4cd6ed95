package natsdata

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ccm-push/ccm-push/playbooks/registry"
)

// A Change is a change of a registration.
type Change struct {
	Change string `json:"change"` // registered, removed or expired
	registry.Registration
}

// The changes there are.
const (
	Registered = "registered" // also for later changes of it
	Removed    = "removed"
	Expired    = "expired"
)

// lookTime is the interval between searches for removed registrations: the server does not report them.
const lookTime = 2 * time.Second

// Watch passes the registrations to emit, and then each change, until ctx ends or emit fails; "*" and "" match any. A
// repeated registration without a difference is not a change. After a lost connection it connects again, and misses
// nothing that is still valid.
func (r Registry) Watch(ctx context.Context, cluster, protocol, service, address string, emit func(Change) error) error {
	subject, err := registry.Filter(cluster, protocol, service, address)
	if err != nil {
		return err
	}
	w := &watcher{registry: r, subject: subject, known: map[string]kept{}, emit: emit}
	var messages jetstream.MessagesContext
	err = r.within(ctx, func(within context.Context) error {
		if w.stream, err = r.stream(within); err != nil {
			return err
		}
		reader, err := w.stream.OrderedConsumer(within, jetstream.OrderedConsumerConfig{
			FilterSubjects: []string{subject}, DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy,
		})
		if err == nil {
			messages, err = reader.Messages()
		}
		if err != nil {
			return fmt.Errorf("reading registrations: %w", trimmed(err))
		}
		return nil
	})
	if err != nil {
		return err
	}
	defer messages.Stop()
	for ctx.Err() == nil {
		if err := w.takeAll(ctx, messages); err != nil {
			return err
		}
		if err := w.findRemoved(ctx); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// A watcher is the state of a watch.
type watcher struct {
	registry Registry
	stream   jetstream.Stream
	subject  string
	known    map[string]kept   // by subject
	missing  map[string]uint64 // registrations that were missing in the last search, with the number of their message
	emit     func(Change) error
}

// kept is a registration that is known, and the number of its message.
type kept struct {
	registry.Registration
	number uint64
}

// takeAll takes messages for a while.
func (w *watcher) takeAll(ctx context.Context, messages jetstream.MessagesContext) error {
	within, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	for within.Err() == nil {
		msg, err := messages.Next(jetstream.NextContext(within))
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case within.Err() != nil && err != nil:
			return nil
		case err != nil:
			return fmt.Errorf("reading registrations: %w", trimmed(err))
		}
		if err := w.take(msg); err != nil {
			return err
		}
	}
	return nil
}

// take reports the change of a message.
func (w *watcher) take(msg jetstream.Msg) error {
	before, was := w.known[msg.Subject()]
	if msg.Headers().Get(markerHeader) != "" { // it has expired, by its own time or the stream's
		delete(w.known, msg.Subject())
		if was {
			return w.emit(Change{Expired, before.Registration})
		}
		return nil
	}
	now, err := decoded(msg)
	if err != nil {
		return err
	}
	info, err := msg.Metadata()
	if err != nil {
		return err
	}
	w.known[msg.Subject()] = kept{now, info.Sequence.Stream}
	if was && reflect.DeepEqual(before.Registration, now) {
		return nil
	}
	return w.emit(Change{Registered, now})
}

// findRemoved reports registrations that are gone, after the time in which the marker of an expired one would have
// come. While NATS does not answer, it reports nothing.
func (w *watcher) findRemoved(ctx context.Context) error {
	if len(w.known) == 0 {
		return nil
	}
	var last uint64 // later messages may be missing in the list
	there := map[string]bool{}
	if w.registry.within(ctx, func(ctx context.Context) error {
		info, err := w.stream.Info(ctx)
		if err != nil {
			return err
		}
		last = info.State.LastSeq
		list, err := lastOf(ctx, w.stream, w.subject)
		for _, one := range list {
			there[one.Subject()] = true
		}
		return err
	}) != nil {
		return nil
	}
	missing := map[string]uint64{}
	for _, subject := range slices.Sorted(maps.Keys(w.known)) {
		one := w.known[subject]
		switch {
		case there[subject] || one.number > last:
		case w.missing[subject] != one.number:
			missing[subject] = one.number
		default:
			delete(w.known, subject)
			if err := w.emit(Change{Removed, one.Registration}); err != nil {
				return err
			}
		}
	}
	w.missing = missing
	return nil
}
