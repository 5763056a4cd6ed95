package session

import (
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/wire"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
)

// three is a catalog of three resources.
func three() *catalog.Compiled {
	return &catalog.Compiled{Catalog: wire.Catalog{Entries: []wire.Entry{
		{Type: "exec", Name: "a"}, {Type: "exec", Name: "b"}, {Type: "exec", Name: "c", Alias: "last"}}}}
}

// A timedRun is a catalog on a puppet whose resources may take a minute each.
type timedRun struct {
	results []string
	took    time.Duration
	err     error
}

func runTimed(t *testing.T, c *catalog.Compiled, act func(*puppet)) (r timedRun) {
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		s := New(t.Context(), p, time.Now, 0)
		var host sync.WaitGroup
		host.Go(func() { act(p) })
		start := time.Now()
		does := task(c)
		does.Resource = time.Minute
		does.Emit = func(one *wire.Result) {
			r.results = append(r.results, c.Catalog.Entries[one.Index].Name+" "+string(one.Status)+" "+one.Error)
		}
		_, r.err = s.Apply(t.Context(), nil, does)
		r.took = time.Since(start)
		p.cut()
		s.Close()
		host.Wait()
	})
	return r
}

// hears answers pings until something else comes, or until a time has passed.
func (p *puppet) hears(t *testing.T, until time.Time) *wire.Message {
	for {
		m, err := p.conn.Receive()
		if err != nil || m.Ping == nil {
			return m
		}
		p.conn.Send(&wire.Message{Pong: &wire.Empty{}})
		if !until.IsZero() && !time.Now().Before(until) {
			return nil
		}
	}
}

func TestResourceDeadline(t *testing.T) {
	result := func(i int, status wire.Status, err string) *wire.Message {
		return &wire.Message{Result: &wire.Result{Index: i, Status: status, Error: err}}
	}
	t.Run("a host that tells how it ended", func(t *testing.T) {
		r := runTimed(t, three(), func(p *puppet) {
			require.NotNil(t, p.hears(t, time.Time{}).Catalog)
			time.Sleep(50 * time.Second)
			p.conn.Send(result(0, "", "")) // restarts the minute
			require.NotNil(t, p.hears(t, time.Time{}).Kill)
			p.conn.Send(result(1, wire.Failed, "killed"), &wire.Message{Done: &wire.Done{Stopped: true}})
			io.Copy(io.Discard, p.in)
		})
		require.Equal(t, []string{"a stable ", "b failed exec#b took longer than 1m: killed"}, r.results)
		require.EqualError(t, r.err, "exec#b took longer than 1m")
		require.Equal(t, &Late{What: "exec#b", Limit: time.Minute, Answered: true}, r.err)
		require.Equal(t, 110*time.Second, r.took)
	})
	t.Run("a host that only knows that it was told to kill", func(t *testing.T) {
		r := runTimed(t, three(), func(p *puppet) {
			require.NotNil(t, p.hears(t, time.Time{}).Catalog)
			require.NotNil(t, p.hears(t, time.Time{}).Kill)
			p.conn.Send(result(0, wire.Failed, `command: "a" was killed: the run was interrupted`), &wire.Message{Done: &wire.Done{Stopped: true}})
			io.Copy(io.Discard, p.in)
		})
		require.Equal(t, []string{`a failed exec#a took longer than 1m: command: "a" was killed`}, r.results)
	})
	t.Run("a host that says nothing else than that", func(t *testing.T) {
		r := runTimed(t, three(), func(p *puppet) {
			require.NotNil(t, p.hears(t, time.Time{}).Catalog)
			require.NotNil(t, p.hears(t, time.Time{}).Kill)
			p.conn.Send(result(0, wire.Failed, "the run was interrupted"), &wire.Message{Done: &wire.Done{Stopped: true}})
			io.Copy(io.Discard, p.in)
		})
		require.Equal(t, []string{"a failed exec#a took longer than 1m"}, r.results)
	})
	t.Run("a host that answers pings and nothing else", func(t *testing.T) {
		r := runTimed(t, three(), func(p *puppet) {
			for p.hears(t, time.Time{}) != nil {
			}
		})
		require.Empty(t, r.results)
		require.Equal(t, &Late{What: "exec#a", Limit: time.Minute}, r.err)
		require.Equal(t, time.Minute+killGrace, r.took)
	})
	t.Run("a host that is done with everything but the end", func(t *testing.T) {
		r := runTimed(t, one(), func(p *puppet) {
			p.hears(t, time.Time{})
			p.conn.Send(result(0, "", ""))
			for p.hears(t, time.Time{}) != nil {
			}
		})
		require.EqualError(t, r.err, "the end of the catalog took longer than 1m")
	})
	t.Run("waiting for the lock counts as its own time", func(t *testing.T) {
		c := one()
		c.Catalog.Lock = &wire.Lock{Wait: 10 * time.Minute}
		r := runTimed(t, c, func(p *puppet) {
			p.hears(t, time.Time{})
			p.hears(t, time.Now().Add(10*time.Minute+50*time.Second))
			p.conn.Send(result(0, "", ""), &wire.Message{Done: &wire.Done{}})
			io.Copy(io.Discard, p.in)
		})
		require.NoError(t, r.err)
	})
	t.Run("many that are each in time", func(t *testing.T) {
		r := runTimed(t, three(), func(p *puppet) {
			p.hears(t, time.Time{})
			for i := range 3 {
				p.hears(t, time.Now().Add(45*time.Second))
				p.conn.Send(result(i, "", ""))
			}
			p.conn.Send(&wire.Message{Done: &wire.Done{}})
			io.Copy(io.Discard, p.in)
		})
		require.NoError(t, r.err)
		require.Len(t, r.results, 3)
	})
}

// TestWatchCountsOnAfterSending has a content on its way when the time would end.
func TestWatchCountsOnAfterSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Session{}
		w := s.timeResources(time.Minute, nil)
		defer w.stop()
		time.Sleep(50 * time.Second)
		s.sent.Store(time.Now().UnixNano())
		<-w.fired()
		require.False(t, w.over())
		start := time.Now()
		<-w.fired()
		require.True(t, w.over())
		require.Equal(t, 50*time.Second, time.Since(start))
	})
}

func TestNoDeadline(t *testing.T) {
	for _, limit := range []time.Duration{0, NoDeadline} {
		w := (&Session{}).timeResources(limit, &wire.Lock{Wait: NoDeadline})
		require.Nil(t, w.fired())
		w.restart()
		w.stop()
	}
}
