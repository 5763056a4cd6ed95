package queue

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// PresenceStream holds the last announcement of each worker. Workers announce themselves with plain messages: no reply is sent.
	PresenceStream  = "CCM_PUSH_WORKERS"
	presenceSubject = subjects + "presence."
	// Presences are the subjects of all announcements: USER.NAME.
	Presences = presenceSubject + "*.*"
	// presenceKept is the time that an announcement is kept.
	presenceKept = 24 * time.Hour
	anyUser      = "any" // a user without an nkey
)

// A Presence is the last announcement of a worker.
type Presence struct {
	// User is the nkey that the worker logs in with, "any" if it has none. Servers with roles let no other user announce the worker.
	User string
	Data []byte
	Age  time.Duration // age by the clock of the server
}

// announcements makes sure that there is the stream of announcements.
func (q *JetStream) announcements(ctx context.Context) (jetstream.Stream, error) {
	return q.stream(ctx, jetstream.StreamConfig{
		Name: PresenceStream, Subjects: []string{Presences}, MaxMsgsPerSubject: 1, MaxAge: presenceKept, Storage: jetstream.MemoryStorage, NoAck: true,
		Description: "workers of ccm-push, and when each was last heard",
	})
}

// User implements [Queue].
func (q *JetStream) User() string { return cmp.Or(q.conn.Opts.Nkey, anyUser) }

// Announce implements [Queue].
func (q *JetStream) Announce(_ context.Context, name string, data []byte) error {
	return failed("announcing this worker", q.conn.Publish(presenceSubject+q.User()+"."+name, data))
}

// Present implements [Queue].
func (q *JetStream) Present(ctx context.Context) (all []Presence, since time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	s, err := q.announcements(ctx)
	if err != nil {
		return nil, 0, q.needs("coordinator", "listing workers", err)
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(Presences))
	if err != nil {
		return nil, 0, failed("listing workers", err)
	}
	for subject := range info.State.Subjects {
		msg, err := s.GetLastMsgForSubject(ctx, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) { // it has expired just now
			continue
		}
		if err != nil {
			return nil, 0, failed("listing workers", err)
		}
		all = append(all, Presence{User: userOf(subject), Data: msg.Data, Age: max(0, info.TimeStamp.Sub(msg.Time))})
	}
	return all, info.TimeStamp.Sub(info.Created), nil
}

// userOf returns the user in the subject of an announcement.
func userOf(subject string) string {
	user, _, _ := strings.Cut(strings.TrimPrefix(subject, presenceSubject), ".")
	return user
}
