package playbooks

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/playbooks/catalog"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/transport"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// three is a catalog of three resources.
func three() *catalog.Compiled {
	return &catalog.Compiled{Catalog: modules.Catalog{Entries: []modules.Entry{
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
		s := newSession(t.Context(), p, time.Now)
		s.resourceTime = time.Minute
		var host sync.WaitGroup
		host.Go(func() { act(p) })
		progress := newProgress(&c.Catalog)
		start := time.Now()
		_, r.err = s.apply(t.Context(), nil, c, func(one *modules.Result) {
			progress.note(one)
			r.results = append(r.results, c.Catalog.Entries[one.Index].Name+" "+string(one.Status)+" "+one.Error)
		}, func() {})
		r.took = time.Since(start)
		if r.err != nil {
			r.err = lostOr(r.err, s, progress.rest())
		}
		p.cut()
		s.end(io.EOF)
		s.work.Wait()
		host.Wait()
	})
	return r
}

// hears answers pings until something else comes, or until a time has passed.
func (p *puppet) hears(t *testing.T, until time.Time) *modules.Message {
	for {
		m, err := p.conn.Receive()
		if err != nil || m.Ping == nil {
			return m
		}
		p.conn.Send(&modules.Message{Pong: &modules.Empty{}})
		if !until.IsZero() && !time.Now().Before(until) {
			return nil
		}
	}
}

func TestResourceDeadline(t *testing.T) {
	result := func(i int, status modules.Status, err string) *modules.Message {
		return &modules.Message{Result: &modules.Result{Index: i, Status: status, Error: err}}
	}
	t.Run("a host that tells how it ended", func(t *testing.T) {
		r := runTimed(t, three(), func(p *puppet) {
			require.NotNil(t, p.hears(t, time.Time{}).Catalog)
			time.Sleep(50 * time.Second)
			p.conn.Send(result(0, "", "")) // which begins the minute anew
			require.NotNil(t, p.hears(t, time.Time{}).Kill)
			p.conn.Send(result(1, modules.Failed, "killed"), &modules.Message{Done: &modules.Done{Stopped: true}})
			io.Copy(io.Discard, p.in)
		})
		require.Equal(t, []string{"a stable ", "b failed exec#b took longer than 1m: killed"}, r.results)
		require.EqualError(t, r.err, "exec#b took longer than 1m")
		require.Equal(t, "deadline", r.err.(*phaseError).phase)
		require.Equal(t, events.Rest{NotReached: 1, Next: "exec#last"}, r.err.(*phaseError).rest)
		require.Equal(t, 110*time.Second, r.took)
	})
	t.Run("a host that only knows that it was told to kill", func(t *testing.T) {
		r := runTimed(t, three(), func(p *puppet) {
			require.NotNil(t, p.hears(t, time.Time{}).Catalog)
			require.NotNil(t, p.hears(t, time.Time{}).Kill)
			p.conn.Send(result(0, modules.Failed, `command: "a" was killed: the run was interrupted`), &modules.Message{Done: &modules.Done{Stopped: true}})
			io.Copy(io.Discard, p.in)
		})
		require.Equal(t, []string{`a failed exec#a took longer than 1m: command: "a" was killed`}, r.results)
	})
	t.Run("a host that says nothing else than that", func(t *testing.T) {
		r := runTimed(t, three(), func(p *puppet) {
			require.NotNil(t, p.hears(t, time.Time{}).Catalog)
			require.NotNil(t, p.hears(t, time.Time{}).Kill)
			p.conn.Send(result(0, modules.Failed, "the run was interrupted"), &modules.Message{Done: &modules.Done{Stopped: true}})
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
		require.EqualError(t, r.err, "exec#a took longer than 1m; nothing is known of exec#a and what follows it: 3 resources")
		require.Equal(t, "deadline", r.err.(*phaseError).phase)
		require.Equal(t, time.Minute+killGrace, r.took)
	})
	t.Run("a host that is done with everything but the end", func(t *testing.T) {
		r := runTimed(t, one(), func(p *puppet) {
			p.hears(t, time.Time{})
			p.conn.Send(result(0, "", ""))
			for p.hears(t, time.Time{}) != nil {
			}
		})
		require.EqualError(t, r.err, "the end of the catalog took longer than 1m; every resource had been reported")
	})
	t.Run("waiting for the lock counts as its own time", func(t *testing.T) {
		c := one()
		c.Catalog.Lock = &modules.Lock{Wait: 10 * time.Minute}
		r := runTimed(t, c, func(p *puppet) {
			p.hears(t, time.Time{})
			p.hears(t, time.Now().Add(10*time.Minute+50*time.Second))
			p.conn.Send(result(0, "", ""), &modules.Message{Done: &modules.Done{}})
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
			p.conn.Send(&modules.Message{Done: &modules.Done{}})
			io.Copy(io.Discard, p.in)
		})
		require.NoError(t, r.err)
		require.Len(t, r.results, 3)
	})
}

// TestWatchCountsOnAfterSending has a content on its way when the time would end.
func TestWatchCountsOnAfterSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &session{resourceTime: time.Minute}
		w := s.watch(nil)
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
		w := (&session{resourceTime: limit}).watch(&modules.Lock{Wait: NoDeadline})
		require.Nil(t, w.fired())
		w.told()
		w.stop()
	}
	r := &Runner{Options: Options{Deadlines: Deadlines{Host: NoDeadline, Start: NoDeadline, Facts: NoDeadline}}}
	ctx, done := r.hostTime(t.Context())
	require.NoError(t, ctx.Err())
	done()
	require.Nil(t, overdue(ctx))
	require.Equal(t, NoDeadline, r.Options.Deadlines.start())
	require.Equal(t, 30*time.Second, Deadlines{}.start())
	require.Equal(t, 35*time.Second, Deadlines{Facts: 5 * time.Second}.start())
}

func TestFactsDeadlineIsTheHosts(t *testing.T) {
	names := []string{"host", "network"}
	require.Equal(t, "-", Deadlines{Facts: time.Second}.wanted(nil))
	require.Equal(t, "host,network", Deadlines{}.wanted(names))
	require.Equal(t, "host,network@1500", Deadlines{Facts: 1500 * time.Millisecond}.wanted(names))
	require.Equal(t, "host,network@1", Deadlines{Facts: 1}.wanted(names))
	require.Equal(t, "host,network@86400000", Deadlines{Facts: NoDeadline}.wanted(names))
}

// TestLate says at which step a host had no more time.
func TestLate(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	lost := errors.New("lost")
	require.Equal(t, lost, late(ctx, lost), "in time")
	cancel(&deadlineError{what: "the host", limit: 90 * time.Minute})
	require.NoError(t, late(ctx, nil))
	for _, test := range []struct {
		err   error
		want  string
		phase string
	}{
		{&transport.HostError{Host: "web1", Op: "dial", Addr: "a:22", Err: context.Cause(ctx)}, "web1: dial a:22: the host took longer than 1h30m", ""},
		{&transport.HostError{Host: "web1", Op: "install", Addr: "a:22", Err: lost}, "the host took longer than 1h30m; it was at: install", "deadline"},
		{&phaseError{phase: "compile", err: lost}, "the host took longer than 1h30m; it was at: compile", "deadline"},
		{&phaseError{phase: "deadline", err: lost}, "lost", "deadline"},
		{&stoppedError{}, "the host took longer than 1h30m", "deadline"},
	} {
		got := late(ctx, test.err)
		require.EqualError(t, got, test.want)
		if pe, ok := errors.AsType[*phaseError](got); ok {
			require.Equal(t, test.phase, pe.phase)
		} else {
			require.Empty(t, test.phase)
		}
	}
}

// TestHostThatNeverFinishes hears, and does nothing.
func TestHostThatNeverFinishes(t *testing.T) {
	hosts := map[string]*sshtest.Server{"web2": sshtest.Start(t, sshtest.Env("FAKE=nothing"))}
	w := newWorld(t, hosts, "ccm: {resources: [{exec: [{\"true\": }, {\"false\": }]}]}").fake(t)
	w.Options.Deadlines.Resource = time.Second
	require.Equal(t, []string{"play site 1/1: web2", "web2 failed in deadline", "web2 done: failed"}, w.run(t))
	_, text := w.recorded.failure("web2")
	require.Equal(t, "exec#true took longer than 1s; nothing is known of exec#true and what follows it: 2 resources", text)
}

// TestHostTimeEndsWhatIsUnderWay ends a start, for which there is no other limit.
func TestHostTimeEndsWhatIsUnderWay(t *testing.T) {
	hosts := map[string]*sshtest.Server{"web1": sshtest.Start(t, sshtest.SilentAfterAuth())}
	w := newWorld(t, hosts, "ccm: {resources: [{exec: [{\"true\": }]}]}").fake(t)
	w.Options.Deadlines = Deadlines{Start: NoDeadline, Host: 3 * time.Second}
	require.Equal(t, []string{"play site 1/1: web1", "web1 failed in deadline", "web1 done: failed"}, w.run(t))
	_, text := w.recorded.failure("web1")
	require.Equal(t, "the host took longer than 3s; it was at: start", text)
}

// TestStartTimeBoundsEscalation has a host that says nothing when it is to become root.
func TestStartTimeBoundsEscalation(t *testing.T) {
	hosts := map[string]*sshtest.Server{"web1": sshtest.Start(t, sshtest.Shell("/bin/sh", "-c", "exec sleep 1000"))}
	w := newWorld(t, hosts, "ccm: {resources: [{exec: [{\"true\": }]}]}").fake(t)
	w.Connect.Become = true
	w.Options.Deadlines = Deadlines{Start: time.Second, Host: 10 * time.Second}
	require.Equal(t, []string{"play site 1/1: web1", "web1 failed in start", "web1 done: failed"}, w.run(t))
	_, text := w.recorded.failure("web1")
	require.Contains(t, text, "timed out after 1s")
}
