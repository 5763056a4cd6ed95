package queue_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/natsconn/natstest"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue/queuetest"
)

// wait is longer than anything here takes.
const wait = time.Minute

// forAll runs a test with each kind of queue. end ends a lease early, as if its worker were lost.
func forAll(t *testing.T, test func(t *testing.T, q queue.Queue, end func(queue.Lease))) {
	t.Run("in process", func(t *testing.T) {
		q := queuetest.New(0)
		test(t, q, q.End)
	})
	t.Run("JetStream", func(t *testing.T) {
		q, err := queue.NewJetStream(connect(t, serve(t)), 0)
		require.NoError(t, err)
		test(t, q, func(l queue.Lease) { require.NoError(t, l.(interface{ Nak() error }).Nak()) })
	})
}

// serve starts a server.
func serve(t *testing.T) *server.Server { return serveAt(t, -1, t.TempDir()) }

func serveAt(t *testing.T, port int, dir string) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() { natstest.Stop(t, s) })
	require.True(t, s.ReadyForConnections(wait))
	return s
}

func connect(t *testing.T, s *server.Server) *nats.Conn {
	t.Helper()
	conn, err := nats.Connect(s.ClientURL())
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

func streamsOf(t *testing.T, conn *nats.Conn) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	return js
}

// names returns the names of the streams that a server keeps.
func names(t *testing.T, js jetstream.JetStream) []string {
	t.Helper()
	list := js.StreamNames(limited(t))
	var all []string
	for name := range list.Name() {
		all = append(all, name)
	}
	require.NoError(t, list.Err())
	return all
}

func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	t.Cleanup(cancel)
	return ctx
}

func open(t *testing.T, q queue.Queue, name string) queue.Run {
	t.Helper()
	r, err := q.Open(limited(t), name)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close(context.WithoutCancel(t.Context())) })
	return r
}

func lease(t *testing.T, q queue.Queue, site string) queue.Lease {
	t.Helper()
	l, err := q.Lease(limited(t), site)
	require.NoError(t, err)
	return l
}

// nothing checks that the queue has no ticket: existing tickets arrive at once.
func nothing(t *testing.T, q queue.Queue, site string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := q.Lease(ctx, site)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestTickets(t *testing.T) {
	forAll(t, func(t *testing.T, q queue.Queue, end func(queue.Lease)) {
		ctx := limited(t)
		r := open(t, q, "run1")
		for i := range 3 {
			require.NoError(t, r.Submit(ctx, "paris *.>", fmt.Appendf(nil, "ticket %d", i)))
		}
		require.NoError(t, r.Submit(ctx, "", []byte("elsewhere")))
		first, second := lease(t, q, "paris *.>"), lease(t, q, "paris *.>")
		require.Equal(t, "ticket 0", string(first.Ticket()))
		require.Equal(t, "ticket 1", string(second.Ticket()))
		require.Equal(t, "elsewhere", string(lease(t, q, "").Ticket()))
		require.NoError(t, first.Extend(ctx))
		require.NoError(t, first.Done(ctx))
		end(second)
		again := []string{string(lease(t, q, "paris *.>").Ticket()), string(lease(t, q, "paris *.>").Ticket())}
		require.ElementsMatch(t, []string{"ticket 1", "ticket 2"}, again, "what was done does not come again, and what was lost does")
		nothing(t, q, "paris *.>")
	})
}

func TestReturnedTicket(t *testing.T) {
	forAll(t, func(t *testing.T, q queue.Queue, _ func(queue.Lease)) {
		ctx := limited(t)
		r := open(t, q, "run1")
		require.NoError(t, r.Submit(ctx, "s", []byte("one")))
		require.NoError(t, lease(t, q, "s").Return(ctx))
		l := lease(t, q, "s")
		require.Equal(t, "one", string(l.Ticket()))
		require.NoError(t, l.Done(ctx))
	})
}

func TestWithdrawn(t *testing.T) {
	forAll(t, func(t *testing.T, q queue.Queue, _ func(queue.Lease)) {
		ctx := limited(t)
		r, other := open(t, q, "run1"), open(t, q, "run2")
		require.NoError(t, r.Submit(ctx, "s", []byte("mine")))
		require.NoError(t, other.Submit(ctx, "s", []byte("of another run")))
		require.NoError(t, r.Withdraw(ctx))
		require.Equal(t, "of another run", string(lease(t, q, "s").Ticket()))
		nothing(t, q, "s")
	})
}

func TestWhatIsSaid(t *testing.T) {
	forAll(t, func(t *testing.T, q queue.Queue, _ func(queue.Lease)) {
		ctx := limited(t)
		r := open(t, q, "run1")
		m, err := q.Join(ctx, "run1")
		require.NoError(t, err)
		require.NoError(t, r.Answer(ctx, func(_ context.Context, question []byte) []byte { return append([]byte("re: "), question...) }))
		answer, err := m.Ask(ctx, []byte("who?"))
		require.NoError(t, err)
		require.Equal(t, "re: who?", string(answer))

		last, err := r.LastSaid(ctx)
		require.NoError(t, err)
		require.Zero(t, last)
		large := bytes.Repeat([]byte("x"), queue.MaxSaid)
		for i := range 100 {
			require.NoError(t, m.Say(ctx, fmt.Appendf(nil, "%d", i)))
		}
		require.NoError(t, m.Say(ctx, large))
		for i := range 100 {
			said, number, err := r.Said(ctx)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(i), string(said))
			require.EqualValues(t, i+1, number)
		}
		last, err = r.LastSaid(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 101, last, "also what has not been heard")
		said, _, err := r.Said(ctx)
		require.NoError(t, err)
		require.Equal(t, large, said)

		object := bytes.Repeat([]byte("content "), 1<<18)
		name, err := r.Put(ctx, object)
		require.NoError(t, err)
		got, err := m.Get(ctx, name)
		require.NoError(t, err)
		require.True(t, bytes.Equal(object, got))
		for range 2 {
			require.NoError(t, r.Delete(ctx, name))
		}
		_, err = m.Get(ctx, name)
		require.Error(t, err)

		heard := make(chan string, 1)
		require.NoError(t, m.Orders(ctx, func(data []byte) { heard <- string(data) }))
		require.NoError(t, m.Say(ctx, []byte("listening"))) // after the subscription
		require.NoError(t, r.Order(ctx, []byte("stop")))
		require.Equal(t, "stop", <-heard)
	})
}

func TestClosedRun(t *testing.T) {
	forAll(t, func(t *testing.T, q queue.Queue, _ func(queue.Lease)) {
		ctx := limited(t)
		r := open(t, q, "run1")
		require.NoError(t, r.Answer(ctx, func(context.Context, []byte) []byte { return nil }))
		m, err := q.Join(ctx, "run1")
		require.NoError(t, err)
		name, err := r.Put(ctx, []byte("secret"))
		require.NoError(t, err)
		require.NoError(t, r.Submit(ctx, "s", []byte("ticket")))
		require.NoError(t, r.Close(ctx))
		_, _, err = r.Said(ctx)
		require.Error(t, err)
		_, err = m.Ask(ctx, []byte("anybody?"))
		require.ErrorIs(t, err, queue.ErrGone)
		_, err = m.Get(ctx, name)
		require.Error(t, err)
		require.ErrorIs(t, m.Say(ctx, []byte("done")), queue.ErrGone)
		nothing(t, q, "s")
		open(t, q, "run1")
	})
}

// TestClosedWhileAsked closes runs while workers send requests. The race detector reports a request that Close does not wait for.
func TestClosedWhileAsked(t *testing.T) {
	q, err := queue.NewJetStream(connect(t, serve(t)), 0)
	require.NoError(t, err)
	ctx := limited(t)
	for i := range 20 {
		r := open(t, q, fmt.Sprint("run", i))
		require.NoError(t, r.Answer(ctx, func(context.Context, []byte) []byte { return []byte("yes") }))
		m, err := q.Join(ctx, fmt.Sprint("run", i))
		require.NoError(t, err)
		asking, stop := context.WithCancel(ctx)
		var workers sync.WaitGroup
		for range 4 {
			workers.Go(func() {
				for asking.Err() == nil {
					_, _ = m.Ask(asking, []byte("more?"))
				}
			})
		}
		_, err = m.Ask(ctx, []byte("more?"))
		require.NoError(t, err)
		require.NoError(t, r.Close(ctx))
		stop()
		workers.Wait()
	}
}

// TestAwayCoordinator distinguishes a coordinator that is silent for a while from one that is gone.
func TestAwayCoordinator(t *testing.T) {
	q, err := queue.NewJetStream(connect(t, serve(t)), 0)
	require.NoError(t, err)
	ctx := limited(t)
	r := open(t, q, "run1")
	m, err := q.Join(ctx, "run1")
	require.NoError(t, err)
	_, err = m.Ask(ctx, []byte("anybody?"))
	require.ErrorIs(t, err, queue.ErrAway)
	require.NoError(t, r.Close(ctx))
	_, err = m.Ask(ctx, []byte("anybody?"))
	require.ErrorIs(t, err, queue.ErrGone)
}

// TestRestartedServer has a ticket, and what a worker needs, wait for a server that is started again, and not for a
// run that is closed.
func TestRestartedServer(t *testing.T) {
	dir := t.TempDir()
	s := serveAt(t, -1, dir)
	port := s.Addr().(*net.TCPAddr).Port
	conn, err := nats.Connect(s.ClientURL(), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	q, err := queue.NewJetStream(conn, 0)
	require.NoError(t, err)
	ctx := limited(t)
	r, err := q.Open(ctx, "run1")
	require.NoError(t, err)
	closed, err := q.Open(ctx, "run2")
	require.NoError(t, err)
	s.Shutdown()
	s.WaitForShutdown()
	require.Eventually(t, func() bool { return !conn.IsConnected() }, wait, time.Millisecond)
	var name string
	done := make(chan error, 3)
	go func() { done <- r.Submit(ctx, "s", []byte("ticket")) }()
	go func() {
		var err error
		name, err = r.Put(ctx, []byte("content"))
		done <- err
	}()
	over := make(chan error)
	go func() {
		_, err := closed.Put(ctx, []byte("content"))
		over <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	go func() {
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		_ = closed.Close(short)
	}()
	require.Error(t, <-over)
	serveAt(t, port, dir)
	require.NoError(t, errors.Join(<-done, <-done))
	require.Equal(t, "ticket", string(lease(t, q, "s").Ticket()))
	nothing(t, q, "s")
	m, err := q.Join(ctx, "run1")
	require.NoError(t, err)
	content, err := m.Get(ctx, name)
	require.NoError(t, err)
	require.Equal(t, "content", string(content))
}

// TestNothingStaysAtTheServer looks at what a closed run has left.
func TestNothingStaysAtTheServer(t *testing.T) {
	s := serve(t)
	conn := connect(t, s)
	q, err := queue.NewJetStream(conn, 0)
	require.NoError(t, err)
	ctx := limited(t)
	r := open(t, q, "run1")
	_, err = r.Put(ctx, []byte("content"))
	require.NoError(t, err)
	require.NoError(t, r.Close(ctx))
	js := streamsOf(t, conn)
	require.ElementsMatch(t, []string{queue.PresenceStream, queue.WorkStream}, names(t, js))
	info, err := js.Stream(ctx, queue.WorkStream)
	require.NoError(t, err)
	require.Zero(t, info.CachedInfo().State.Msgs)
}

func TestNoJetStream(t *testing.T) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true})
	require.NoError(t, err)
	s.Start()
	defer func() {
		s.Shutdown()
		s.WaitForShutdown()
	}()
	require.True(t, s.ReadyForConnections(wait))
	q, err := queue.NewJetStream(connect(t, s), 0)
	require.NoError(t, err)
	_, err = q.Open(limited(t), "run1")
	require.ErrorContains(t, err, "JetStream is not enabled at the server")
	require.False(t, errors.Is(err, queue.ErrGone))
}
