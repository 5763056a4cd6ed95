package natsdata

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/registry"
)

// registrations makes the stream that registrations are kept in, as CCM does.
func registrations(t *testing.T, js jetstream.JetStream, changes ...func(*jetstream.StreamConfig)) {
	t.Helper()
	c := jetstream.StreamConfig{
		Name: registry.Stream, Subjects: []string{registry.Subjects}, MaxMsgsPerSubject: 1, AllowRollup: true, AllowMsgTTL: true,
		SubjectDeleteMarkerTTL: time.Minute, DenyDelete: true,
	}
	for _, change := range changes {
		change(&c)
	}
	_, err := js.CreateOrUpdateStream(t.Context(), c)
	require.NoError(t, err)
}

func TestPrepare(t *testing.T) {
	s, js := store(t)
	r := Registry{s, registry.Stream}
	require.EqualError(t, r.Prepare(t.Context(), 6, time.Minute), "a stream of NATS has 1 to 5 replicas, not 6")
	require.EqualError(t, r.Prepare(t.Context(), 1, 0), "registrations are kept for at least one second, not 0s")
	require.NoError(t, r.Prepare(t.Context(), 1, time.Minute))
	require.NoError(t, r.Ready(t.Context()))

	// CCM requests the last messages of many subjects at once (jetstreamext.GetLastMsgsFor).
	require.NoError(t, r.Register(t.Context(), []registry.Registration{at("192.0.2.3", 80)}))
	answer, err := js.Conn().RequestWithContext(t.Context(), "$JS.API.DIRECT.GET."+registry.Stream, []byte(`{"multi_last": ["`+registry.Subjects+`"]}`))
	require.NoError(t, err)
	require.Contains(t, string(answer.Data), `"address":"192.0.2.3"`)

	require.NoError(t, r.Prepare(t.Context(), 1, time.Second))

	// An ended registration is not found, although the server keeps a marker.
	require.NoError(t, r.Register(t.Context(), []registry.Registration{at("192.0.2.3", 80)}))
	require.Eventually(t, func() bool {
		list, err := r.Registered(t.Context(), "*", "*", "*", "*")
		return err == nil && len(list) == 0
	}, time.Minute, 50*time.Millisecond)
	stream, err := js.Stream(t.Context(), registry.Stream)
	require.NoError(t, err)
	msg, err := stream.GetLastMsgForSubject(t.Context(), at("192.0.2.3", 80).Subject())
	if err == nil { // the mark ends too
		require.NotEmpty(t, msg.Header.Get("Nats-Marker-Reason"))
	}
}

func at(address string, port int) registry.Registration {
	return registry.Registration{Cluster: "eu", Service: "web", Protocol: "http", Address: address, Port: &port, Priority: 10}
}

func TestRegister(t *testing.T) {
	s, js := store(t)
	r := Registry{s, registry.Stream}
	registrations(t, js)
	require.NoError(t, r.Ready(t.Context()))

	first := at("192.0.2.3", 80)
	first.TTL, first.Annotations = registry.TTL(time.Hour), map[string]string{"version": "{{ 1 }}"}
	forever := at("192.0.2.2", 8080)
	forever.TTL = registry.Never
	require.NoError(t, r.Register(t.Context(), []registry.Registration{at("192.0.2.3", 80), forever, at("192.0.2.2", 443)}))
	require.NoError(t, r.Register(t.Context(), []registry.Registration{first}))

	list, err := r.Registered(t.Context(), "eu", "http", "web", "*")
	require.NoError(t, err)
	require.Equal(t, []registry.Registration{at("192.0.2.2", 443), forever, first}, list, "the last of each, in order")
	list, err = r.Registered(t.Context(), "", "", "", "192.0.2.3")
	require.NoError(t, err)
	require.Len(t, list, 1)
	list, err = r.Registered(t.Context(), "us", "*", "*", "*")
	require.NoError(t, err)
	require.Empty(t, list)

	stream, err := js.Stream(t.Context(), registry.Stream)
	require.NoError(t, err)
	msg, err := stream.GetLastMsgForSubject(t.Context(), first.Subject())
	require.NoError(t, err)
	require.Equal(t, "1h0m0s", msg.Header.Get("Nats-TTL"))
	require.Equal(t, "sub", msg.Header.Get("Nats-Rollup"))
	msg, err = stream.GetLastMsgForSubject(t.Context(), forever.Subject())
	require.NoError(t, err)
	require.Equal(t, "never", msg.Header.Get("Nats-TTL"))

	require.NoError(t, r.Remove(t.Context(), first))
	require.EqualError(t, r.Remove(t.Context(), first), "http web of eu at 192.0.2.3:80 is not registered")
	require.ErrorContains(t, r.Remove(t.Context(), registry.Registration{Cluster: "eu", Service: ">"}), "letters, digits")
	list, err = r.Registered(t.Context(), "eu", "http", "web", "192.0.2.3")
	require.NoError(t, err)
	require.Empty(t, list)
}

func TestManyRegistrations(t *testing.T) {
	s, js := store(t)
	r := Registry{s, registry.Stream}
	registrations(t, js)
	var all []registry.Registration
	for i := range 1200 {
		all = append(all, at(fmt.Sprintf("192.0.2.%d", 100+i%10), 1000+i/10))
	}
	require.NoError(t, r.Register(t.Context(), all))
	list, err := r.Registered(t.Context(), "*", "*", "*", "*")
	require.NoError(t, err)
	require.Len(t, list, len(all))
}

func TestRegistryIsNotReady(t *testing.T) {
	s, js := store(t)
	r := Registry{s, registry.Stream}
	require.EqualError(t, r.Ready(t.Context()), `NATS has no stream "REGISTRATION" for registrations`)
	require.EqualError(t, Registry{s, "a.b"}.Ready(t.Context()), `"a.b" is not a stream of NATS: write letters, digits, - and _`)
	err := r.Register(t.Context(), []registry.Registration{at("192.0.2.3", 80)})
	require.EqualError(t, err, "registering http web of eu at 192.0.2.3:80: no stream of NATS has "+at("192.0.2.3", 80).Subject())
	_, err = r.Registered(t.Context(), "*", "*", "*", "*")
	require.EqualError(t, err, `NATS has no stream "REGISTRATION" for registrations`)

	registrations(t, js, func(c *jetstream.StreamConfig) { c.AllowMsgTTL, c.SubjectDeleteMarkerTTL = false, 0 })
	require.ErrorContains(t, r.Ready(t.Context()), "TTL of messages")
	require.NoError(t, js.DeleteStream(t.Context(), registry.Stream))
	registrations(t, js, func(c *jetstream.StreamConfig) { c.AllowRollup, c.SubjectDeleteMarkerTTL = false, 0 })
	require.ErrorContains(t, r.Ready(t.Context()), "(rollup)")
	require.NoError(t, js.DeleteStream(t.Context(), registry.Stream))
	registrations(t, js, func(c *jetstream.StreamConfig) { c.Subjects = []string{"x"} })
	require.EqualError(t, r.Ready(t.Context()), `the stream "REGISTRATION" of NATS does not have the subjects choria.ccm.registration.v1.>`)
}

// TestWatch follows registrations, and their changes and ends.
func TestWatch(t *testing.T) {
	s, js := store(t)
	r := Registry{s, registry.Stream}
	require.ErrorContains(t, r.Watch(t.Context(), "", "", "", "", nil), `NATS has no stream "REGISTRATION"`)
	registrations(t, js)
	other := at("192.0.2.9", 80)
	other.Cluster = "us"
	require.NoError(t, r.Register(t.Context(), []registry.Registration{at("192.0.2.3", 80), other}))

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	changes := make(chan Change)
	ended := make(chan error, 1)
	go func() {
		ended <- r.Watch(ctx, "eu", "*", "", "", func(c Change) error {
			select {
			case changes <- c:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	next := func(want string, one registry.Registration) {
		t.Helper()
		select {
		case c := <-changes:
			require.Equal(t, Change{want, one}, c)
		case <-ctx.Done():
			require.FailNow(t, "nothing has come", want)
		}
	}
	next(Registered, at("192.0.2.3", 80))
	changed, brief := at("192.0.2.3", 80), at("192.0.2.4", 80)
	changed.Priority, brief.TTL = 20, registry.TTL(time.Second)
	require.NoError(t, r.Register(t.Context(), []registry.Registration{at("192.0.2.3", 80), other, changed, changed, brief}))
	next(Registered, changed)
	next(Registered, brief)
	next(Expired, brief)
	require.NoError(t, r.Remove(t.Context(), changed))
	next(Removed, changed)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

// TestWatchEnds cancels a watch while it handles a message, so that it does not wait for the next one.
func TestWatchEnds(t *testing.T) {
	s, js := store(t)
	r := Registry{s, registry.Stream}
	registrations(t, js)
	require.NoError(t, r.Register(t.Context(), []registry.Registration{at("192.0.2.3", 80)}))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- r.Watch(ctx, "", "", "", "", func(Change) error {
			cancel() // while the message is handled
			return nil
		})
	}()
	select {
	case err := <-ended:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(time.Minute):
		require.FailNow(t, "the watch goes on")
	}
}

// TestAnnouncements checks for CCM's form of the destination nats: a message for each service, without the headers for
// streams.
func TestAnnouncements(t *testing.T) {
	s, _ := store(t)
	conn, err := s.Link.Conn(t.Context())
	require.NoError(t, err)
	sub, err := conn.SubscribeSync(registry.Subjects)
	require.NoError(t, err)
	a := Announcements{s.Link}
	require.NoError(t, a.Ready(t.Context()), "there is no stream")
	first, second := at("192.0.2.3", 80), at("192.0.2.4", 0)
	first.TTL, first.Annotations = registry.TTL(10*time.Minute), map[string]string{"version": "1.2.3"}
	second.Port = nil
	require.NoError(t, a.Register(t.Context(), []registry.Registration{first, second}))
	for _, want := range []struct {
		subject, text string
	}{
		{first.Subject(), `{"cluster":"eu","service":"web","protocol":"http","address":"192.0.2.3","port":80,"priority":10,"annotations":{"version":"1.2.3"},"ttl":"10m0s"}`},
		{second.Subject(), `{"cluster":"eu","service":"web","protocol":"http","address":"192.0.2.4","port":null,"priority":10}`},
	} {
		msg, err := sub.NextMsg(time.Minute)
		require.NoError(t, err)
		require.Equal(t, want.subject, msg.Subject)
		require.JSONEq(t, want.text, string(msg.Data))
		require.Empty(t, msg.Header)
	}
	long := at("192.0.2.5", 80)
	long.Annotations = map[string]string{"too": strings.Repeat("x", 1<<20)}
	require.EqualError(t, a.Register(t.Context(), []registry.Registration{long}), "announcing http web of eu at 192.0.2.5:80: maximum payload exceeded")
}
