package workers

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/activity"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue/queuetest"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// TestLostWorkerIsReported kills the only worker in the midst of a resource: the run reports it while no other worker has the hosts,
// and reports the next one.
func TestLostWorkerIsReported(t *testing.T) {
	t.Parallel()
	sshtest.NeedsOwnLock(t)
	s := newSite(t, waiting, "web1", "web2")
	srv := serve(t, s.dir)
	worker := s.process(srv.ClientURL())
	got := &recorded{}
	r := s.runner(s.inventory(map[string]string{"web1": `dir: "` + s.dir + `",`, "web2": `dir: "` + s.dir + `",`}), got)
	r.Activity, r.Options.NoLock = &activity.Tracker{}, false
	c, warned := s.coordinator(connect(t, srv.ClientURL()), r)
	c.times.silence, c.URL = 2*laterTime, "nats://here"
	at := func() string {
		for _, w := range r.Activity.Snapshot().Longest {
			return w.What
		}
		return ""
	}
	hears := func(what string) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Contains(warned.all(), what) }, wait, 10*time.Millisecond, what)
	}
	summary, over := s.begin(c)
	require.Eventually(t, s.exists("begun"), wait, 10*time.Millisecond)
	require.Equal(t, "at worker worker", at())
	time.Sleep(2 * c.times.silence) // the worker sends signs of life, though its resource takes longer
	require.Empty(t, warned.all())
	require.Equal(t, "at worker worker", at())
	killed := time.Now()
	require.NoError(t, worker.Process.Kill())
	hears("hosts without a site wait for a worker since ")
	require.Greater(t, time.Since(killed), c.times.silence-laterTime)
	require.Contains(t, warned.all(), "worker worker was lost, last heard at ")
	require.Contains(t, warned.all(), "; waiting: web1, web2; no worker is connected\n  hint: start one: ccm-push worker --workers nats://here")
	require.Equal(t, "waiting for a worker", at())
	time.Sleep(2 * laterTime)
	require.Equal(t, 1, strings.Count(warned.all(), "wait for a worker"), warned.all())
	s.write("go", "")
	second := s.process(srv.ClientURL())
	<-over
	require.Equal(t, 2, summary().Totals.Hosts.OK, warned.all())
	var waits []events.SiteWaits // events for programs that follow the run on another machine
	for _, e := range got.list {
		if w, is := e.(events.SiteWaits); is {
			waits = append(waits, w)
		}
	}
	require.Equal(t, []string{"web1", "web2"}, waits[0].Hosts)
	require.Contains(t, waits[0].Text, "hint: start one: ccm-push worker")
	require.NoError(t, second.Process.Signal(syscall.SIGTERM))
}

// TestSiteWithoutAWorker has hosts of one site wait for a worker while another site is served, and reports when their worker comes.
func TestSiteWithoutAWorker(t *testing.T) {
	t.Parallel()
	s := newSite(t, waiting, "web1", "far1", "far2")
	q := queuetest.New(0)
	s.work(q, "worker", "")
	dir := `dir: "` + s.dir + `",`
	r := s.runner(s.inventory(map[string]string{"web1": dir, "far1": "site: far, " + dir, "far2": "site: far, " + dir}))
	c, warned := s.coordinator(q, r)
	c.times.silence = presenceTime + laterTime
	summary, over := s.begin(c)
	hears := func(what string) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.Contains(warned.all(), what) }, wait, 10*time.Millisecond, what)
	}
	hears(`hosts of site "far" wait for a worker since `)
	require.Contains(t, warned.all(), "no worker has taken them yet; waiting: far1, far2; workers are connected for: (none)\n  hint: start one: ccm-push worker --workers URL --site far")
	s.work(q, "worker", "far")
	hears(`hosts of site "far" are served again, by worker worker`)
	s.write("go", "")
	<-over
	require.Equal(t, 3, summary().Totals.Hosts.OK, warned.all())
	require.Len(t, warned.list, 2, warned.all())
}

// TestStoppedAfterALoss stops a run whose only worker has been lost for long: no host is waited for again.
func TestStoppedAfterALoss(t *testing.T) {
	t.Parallel()
	s := newSite(t, waiting, "web1")
	srv := serve(t, s.dir)
	worker := s.process(srv.ClientURL())
	got := &recorded{}
	r := s.runner(s.inventory(map[string]string{"web1": `dir: "` + s.dir + `",`}), got)
	c, warned := s.coordinator(connect(t, srv.ClientURL()), r)
	c.times.silence, c.times.unwatched = 2*laterTime, 3*laterTime
	stop := make(chan struct{})
	require.NoError(t, c.Begin(t.Context()))
	var stopped time.Time
	go func() {
		defer close(stop)
		require.Eventually(t, s.exists("begun"), wait, 10*time.Millisecond)
		require.NoError(t, worker.Process.Kill())
		require.Eventually(t, func() bool { return strings.Contains(warned.all(), "was lost, last heard at") }, wait, 10*time.Millisecond)
		time.Sleep(c.times.unwatched - c.times.silence + laterTime)
		stopped = time.Now()
	}()
	summary, err := r.Run(t.Context(), stop)
	took := time.Since(stopped)
	require.NoError(t, err)
	require.NoError(t, c.Close(t.Context()))
	require.Less(t, took, laterTime)
	require.Equal(t, 1, summary.Totals.Hosts.Failed, warned.all())
	lines := strings.Join(got.lines(s), "\n")
	require.Contains(t, lines, `"error":"worker worker was lost, so the outcome on this host is unknown","event":"host_failed","hint":"the next run reports the changes that the lost run made"`)
	require.Contains(t, warned.all(), "not waiting for 1 host")
}
