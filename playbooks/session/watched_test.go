package session

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
)

// underWatch is a catalog of three resources that is watched as a play.
func underWatch(play int) *catalog.Compiled {
	c := three()
	c.Catalog.Check, c.Catalog.Rehearsal, c.Catalog.Watch = true, true, &wire.Watch{Play: play}
	c.Catalog.Entries[0].Health = []wire.HealthCheck{{Name: "well"}}
	return c
}

// stable are the results of three resources and the end of their catalog.
func stable() []*wire.Message {
	var all []*wire.Message
	for i := range 3 {
		all = append(all, &wire.Message{Result: &wire.Result{Index: i}})
	}
	return append(all, &wire.Message{Done: &wire.Done{}})
}

// changed returns the report that a resource has changed.
func changed(play, index int) *wire.Message {
	return &wire.Message{Watched: &wire.Watched{Play: play, Results: []*wire.Result{{Index: index, Status: wire.Changed}}}}
}

func TestWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		s := New(t.Context(), p, time.Now, 0)
		var host sync.WaitGroup
		host.Go(func() {
			say := func(all ...*wire.Message) { require.NoError(t, p.conn.Send(all...)) }
			hear := func() {
				m, err := p.conn.Receive()
				require.NoError(t, err)
				require.NotNil(t, m.Catalog)
			}
			hear()
			say(append(stable(), changed(1, 0))...) // immediately after the end
			hear()                                  // of another play
			say(changed(1, 1))
			say(stable()...)
			hear() // the first one again: reports about the old one are too late
			say(changed(1, 2))
			say(append(stable(), changed(1, 0), changed(2, 1))...)
			for {
				if _, err := p.conn.Receive(); err != nil {
					return
				}
			}
		})
		var told []string
		does := func(play int, as string) Task {
			c := task(underWatch(play))
			c.Watched = func(w *wire.Watched) { told = append(told, as+strings.Repeat("+", w.Results[0].Index)) }
			return c
		}
		for _, one := range []Task{does(1, "old"), does(2, "other"), does(1, "new")} {
			whole, err := s.Apply(t.Context(), nil, one)
			require.NoError(t, err)
			require.True(t, whole)
		}
		ended := make(chan error)
		go func() { ended <- s.Hear(t.Context()) }()
		time.Sleep(time.Second)
		p.cut()
		require.EqualError(t, <-ended, "the connection was closed")
		s.Close()
		host.Wait()
		require.Equal(t, []string{"old", "old+", "new", "other+"}, told)
	})
}

func TestWatchedOutOfBounds(t *testing.T) {
	result := func(r wire.Result) *wire.Watched { return &wire.Watched{Play: 1, Results: []*wire.Result{&r}} }
	for _, c := range []struct {
		name string
		say  *wire.Message
		want string
	}{
		{"another play", changed(2, 0), "the host reports play 2, which it does not watch"},
		{"no such resource", changed(1, 3), "the host reports resource 3 of a play with 3 resources"},
		{"before the first", changed(1, -1), "the host reports resource -1 of a play with 3 resources"},
		{"twice", &wire.Message{Watched: &wire.Watched{Play: 1, Results: []*wire.Result{{}, {}}}}, "the host reports resource 0 twice in one message"},
		{"a status", &wire.Message{Watched: result(wire.Result{Status: "odd"})}, `the host reports the status "odd"`},
		{"a cause", &wire.Message{Watched: result(wire.Result{Status: wire.Changed, Cause: "odd"})}, `the host reports the cause "odd"`},
		{"health checks", &wire.Message{Watched: result(wire.Result{Index: 1, Health: []wire.HealthVerdict{{}}})}, "the host reports 1 health checks of a resource that has 0"},
		{"values", &wire.Message{Watched: result(wire.Result{Registered: &wire.Registered{}})}, "the host sends more about resource 0 than its status"},
		{"a writer", &wire.Message{Watched: &wire.Watched{Play: 1, Writers: []wire.Writer{{Index: 1}}}}, "the host names what changed resource 1 without a report about it"},
		{"what is polled", &wire.Message{Watched: &wire.Watched{Play: 1, Polled: []wire.Polled{{Index: 5}}}}, "the host reports resource 5 of a play with 3 resources"},
		{"something else", &wire.Message{Result: &wire.Result{}}, "the host sends a message about a catalog, but none is running"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPuppet()
				s := New(t.Context(), p, time.Now, 0)
				var host sync.WaitGroup
				host.Go(func() {
					_, err := p.conn.Receive()
					require.NoError(t, err)
					require.NoError(t, p.conn.Send(append(stable(), c.say)...))
					_, _ = p.conn.Receive()
				})
				does := task(underWatch(1))
				does.Watched = func(*wire.Watched) { require.Fail(t, "it is told") }
				_, err := s.Apply(t.Context(), nil, does)
				require.NoError(t, err)
				err = s.Hear(t.Context())
				require.EqualError(t, err, c.want)
				require.ErrorAs(t, err, &Breach{})
				p.cut()
				s.Close()
				host.Wait()
			})
		})
	}
}

// TestWatchedTooOften checks the limit of a host's reports.
func TestWatchedTooOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Session{}
		s.watch(&underWatch(1).Catalog, func(*wire.Watched) {})
		for range 2 {
			for range maxMoreTold + 3*maxTold {
				require.NoError(t, s.watched(changed(1, 0).Watched))
			}
			time.Sleep(watchWindow + 1)
		}
		for range maxMoreTold + 3*maxTold {
			require.NoError(t, s.watched(changed(1, 0).Watched))
		}
		require.EqualError(t, s.watched(changed(1, 0).Watched), "the host sends more than 10300 reports within 1m0s about 3 resources")
	})
}
