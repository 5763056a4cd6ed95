package workers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue/queuetest"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// A vigil contains hosts of a site that workers watch, and the reports about them.
type vigil struct {
	*site
	told    chan events.Event
	warned  *warnings
	summary events.Summary
	stop    func()
}

// watched are files of hosts: one of them names a secret.
func watchedFiles() string {
	return fmt.Sprintf(`
name: site
watch: {settle: 10ms, poll: 1s, repair: {backoff: [300ms], fleet: 100%%}}
ccm:
  resources:
    - file: ["{{ Data.home }}/motd": {content: "hello\n", owner: "%[1]d", group: "%[1]d", mode: "0644"}]
    - file: ["{{ Data.home }}/token": {content: "{{ Data.token }}\n", owner: "%[1]d", group: "%[1]d", mode: "0600"}]
`, os.Getuid())
}

// vigil begins to watch hosts, until stop or the end of the test.
func (s *site) vigil(q queue.Queue, watch playbooks.Watch, with func(*Coordinator)) *vigil {
	t := s.t
	v := &vigil{site: s, told: make(chan events.Event, 1000)}
	tokens := map[string]string{}
	for name := range s.hosts {
		tokens[name] = fmt.Sprintf("token: !secret canary-of-%s,", name)
	}
	got := &recorded{hook: func(e events.Event) { v.told <- e }}
	r := s.runner(s.inventory(tokens), got)
	r.Options.Watch = &watch
	c, warned := s.coordinator(q, r)
	v.warned = warned
	if with != nil {
		with(c)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), wait)
	require.NoError(t, c.Begin(ctx))
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		defer close(v.told)
		summary, err := r.Run(ctx, stop)
		if err != nil {
			t.Error(err)
		}
		v.summary = summary
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	v.stop = sync.OnceFunc(func() {
		close(stop)
		running.Wait()
		cancel()
	})
	t.Cleanup(v.stop)
	return v
}

// next waits for the next event of a kind.
func next[E events.Event](v *vigil) E {
	v.t.Helper()
	late := time.After(wait)
	for {
		select {
		case e := <-v.told:
			require.NotNil(v.t, e, v.warned.all())
			if meant, ok := e.(E); ok {
				return meant
			}
		case <-late:
			v.stop()
			var none E
			require.Fail(v.t, "it is late", "there is no %T\n%s", none, v.warned.all())
		}
	}
}

// spoil has a file of a host be otherwise.
func (v *vigil) spoil(host, name string) string {
	path := filepath.Join(v.hosts[host].Home, name)
	require.NoError(v.t, os.WriteFile(path+".new", []byte("bye\n"), 0o600))
	require.NoError(v.t, os.Rename(path+".new", path))
	return path
}

// TestWatch watches hosts of two sites through workers: drift is reported, without secrets, and repaired.
func TestWatch(t *testing.T) {
	queues(t, func(t *testing.T, open func(dir string) queue.Queue) {
		s := newSite(t, watchedFiles(), "web1", "web2", "db1")
		s.withFull()
		q := open(s.dir)
		said := s.work(q, "worker", "")
		v := s.vigil(q, playbooks.Watch{Repair: true}, nil)
		for range s.hosts {
			require.Equal(t, 2, next[events.Watched](v).Resources)
		}
		motd := v.spoil("web2", "motd")
		require.Equal(t, motd, next[events.Drifted](v).Name)
		repaired := next[events.Repaired](v)
		require.Equal(t, motd, repaired.Name)
		require.Empty(t, repaired.Error)
		text, err := os.ReadFile(motd)
		require.NoError(t, err)
		require.Equal(t, "hello\n", string(text))
		v.spoil("db1", "token")
		drifted := next[events.Drifted](v)
		require.Equal(t, "db1", drifted.Host)
		require.NotContains(t, fmt.Sprint(drifted), "canary")
		require.Empty(t, next[events.Repaired](v).Error)
		v.stop()
		require.Equal(t, &events.WatchTotals{Hosts: 3}, v.summary.Watch)
		require.False(t, v.summary.Interrupted)
		require.Equal(t, 3, v.summary.Totals.Hosts.OK)
		require.Empty(t, v.warned.all())
		require.Empty(t, strings.TrimSpace(strings.ReplaceAll(said.all(), "the operator stopped the run; resources in progress finish", "")))
	})
}

// TestWatchStopsBehindARepair stops a run while a worker repairs: the running command ends, and its outcome is
// reported.
func TestWatchStopsBehindARepair(t *testing.T) {
	s := newSite(t, `
name: site
watch: {settle: 10ms, repair: {fleet: 100%}}
ccm:
  resources:
    - file: ["{{ Data.home }}/motd": {content: "hello\n", alias: motd}]
    - exec: [reload: {command: "sh -c 'if test -e slow; then touch begun; until test -e go; do sleep 0.05; done; fi; echo reloaded >>reloads'", cwd: "{{ Data.home }}", refreshonly: true, subscribe: ["file#motd"]}]
`, "web1")
	s.withFull()
	q := queuetest.New(0)
	s.work(q, "worker", "")
	v := s.vigil(q, playbooks.Watch{Repair: true}, nil)
	next[events.Watched](v)
	home := s.hosts["web1"].Home
	require.NoError(t, os.WriteFile(filepath.Join(home, "slow"), nil, 0o600))
	v.spoil("web1", "motd")
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(home, "begun")); return err == nil }, wait, 10*time.Millisecond)
	time.AfterFunc(300*time.Millisecond, func() { _ = os.WriteFile(filepath.Join(home, "go"), nil, 0o600) })
	v.stop()
	reloads, err := os.ReadFile(filepath.Join(home, "reloads"))
	require.NoError(t, err)
	require.Equal(t, "reloaded\nreloaded\n", string(reloads))
	require.Empty(t, next[events.Repaired](v).Error)
	require.Equal(t, &events.WatchTotals{Hosts: 1}, v.summary.Watch, v.warned.all())
}

// TestWatchOfAKilledWorker kills a worker that watches hosts, and has repaired one. They are lost, and then watched and repaired by
// another worker. The host does not take the next repair for the one that it has the results of.
func TestWatchOfAKilledWorker(t *testing.T) {
	sshtest.NeedsOwnLock(t)
	s := newSite(t, watchedFiles(), "web1", "web2")
	s.withFull()
	srv := serve(t, s.dir)
	q := connect(t, srv.ClientURL())
	first := s.process(srv.ClientURL())
	v := s.vigil(q, playbooks.Watch{Repair: true}, func(c *Coordinator) {
		c.times.unwatched, c.Size, c.Runner.Options.NoLock = 2*testLease, 1, false
	})
	for range s.hosts {
		next[events.Watched](v)
	}
	v.spoil("web1", "token")
	require.Empty(t, next[events.Repaired](v).Error)
	killed := time.Now()
	require.NoError(t, first.Process.Kill())
	for range s.hosts {
		lost := next[events.Unwatched](v)
		require.True(t, lost.Since.Before(killed), "it was last heard of before it was killed")
		require.Equal(t, "its worker was lost", lost.Error)
		require.Nil(t, lost.Next)
		require.Equal(t, "the next free worker of its site continues", lost.Hint)
	}
	require.Equal(t, "nothing is heard of the worker worker any more, which watches 2 hosts", v.warned.all(), "once for both shards")
	s.process(srv.ClientURL())
	for range s.hosts {
		next[events.Watched](v)
	}
	motd := v.spoil("web1", "motd")
	require.Empty(t, next[events.Repaired](v).Error)
	text, err := os.ReadFile(motd)
	require.NoError(t, err)
	require.Equal(t, "hello\n", string(text))
	v.stop()
	require.Equal(t, &events.WatchTotals{Hosts: 2}, v.summary.Watch, v.warned.all())
}

// workUntil has a worker work until it is stopped.
func (s *site) workUntil(q queue.Queue) (stop func()) {
	w, err := workerIn(s.dir, "worker", q)
	require.NoError(s.t, err)
	w.Builds, w.FullBuilds, w.BuildID, w.Say, w.Temp = s.builds, s.full, s.buildID, func(string) {}, s.t.TempDir()
	stopped := make(chan struct{})
	var working sync.WaitGroup
	working.Go(func() { _ = w.Run(s.t.Context(), stopped) })
	return func() {
		close(stopped)
		working.Wait()
	}
}

// TestWatchWithoutAnAuthority has an authority that certifies no keys for a while. Hosts with a login are still
// watched, and repaired; a host whose worker ends is watched again when the authority certifies the key of the next
// one.
func TestWatchWithoutAnAuthority(t *testing.T) {
	s := newSite(t, watchedFiles(), "web1")
	s.withFull()
	srv := serve(t, s.dir)
	stop := s.workUntil(connect(t, srv.ClientURL()))
	var refused atomic.Int64
	const valid = time.Second
	v := s.vigil(connect(t, srv.ClientURL()), playbooks.Watch{Repair: true}, func(c *Coordinator) {
		s.numbered(c, valid, func(uint64) error {
			if s.exists("down")() {
				refused.Add(1)
				return errors.New("it is down")
			}
			return nil
		})
	})
	next[events.Watched](v)
	s.write("down", "")
	began := time.Now()
	require.Eventually(t, func() bool { return time.Since(began) > 2*valid && refused.Load() > 3 }, wait, 10*time.Millisecond)
	v.spoil("web1", "motd")
	require.Empty(t, next[events.Repaired](v).Error)
	require.Equal(t, 1, strings.Count(v.warned.all(), "the key of a worker is not certified any more: it is down: the request is repeated while hosts are watched"), v.warned.all())

	s.work(connect(t, srv.ClientURL()), "worker", "")
	stop()
	require.Equal(t, "its worker has ended", next[events.Unwatched](v).Error)
	require.Equal(t, "the key of a worker is not certified any more: it is down", next[events.Unwatched](v).Error)
	require.NoError(t, os.Remove(filepath.Join(s.dir, "down")))
	next[events.Watched](v)
	require.Equal(t, "the authority certifies keys of workers again", v.warned.list[len(v.warned.list)-1])
	v.stop()
	require.Equal(t, &events.WatchTotals{Hosts: 1}, v.summary.Watch)
	require.False(t, v.summary.Interrupted)
}

// TestWatchOfAWorkerThatEnds stops a worker that watches a host. That is not watched at once, and then by the next worker.
func TestWatchOfAWorkerThatEnds(t *testing.T) {
	s := newSite(t, watchedFiles(), "web1")
	s.withFull()
	srv := serve(t, s.dir)
	stop := s.workUntil(connect(t, srv.ClientURL()))
	v := s.vigil(connect(t, srv.ClientURL()), playbooks.Watch{}, nil)
	next[events.Watched](v)
	stop()
	require.Equal(t, "its worker has ended", next[events.Unwatched](v).Error)
	s.work(connect(t, srv.ClientURL()), "worker", "")
	next[events.Watched](v)
	v.stop()
	require.Equal(t, &events.WatchTotals{Hosts: 1}, v.summary.Watch)
	require.Empty(t, v.warned.all())
}

// TestWatchWithoutWorkers has the only worker killed: watching ends all the same.
func TestWatchWithoutWorkers(t *testing.T) {
	s := newSite(t, watchedFiles(), "web1")
	s.withFull()
	srv := serve(t, s.dir)
	q := connect(t, srv.ClientURL())
	first := s.process(srv.ClientURL())
	v := s.vigil(q, playbooks.Watch{FailOn: []playbooks.FailOn{playbooks.FailOnUnwatched}}, func(c *Coordinator) { c.times.unwatched = testLease })
	next[events.Watched](v)
	require.NoError(t, first.Process.Kill())
	next[events.Unwatched](v)
	v.stop()
	require.Equal(t, &events.WatchTotals{Hosts: 1, Unwatched: 1, Failed: events.ExitUnreachable}, v.summary.Watch)
}

// TestWatchWhileTheServerRestarts cuts all connections to NATS for a moment: the watch continues.
func TestWatchWhileTheServerRestarts(t *testing.T) {
	s := newSite(t, watchedFiles(), "web1")
	s.withFull()
	srv := serve(t, s.dir)
	q := connect(t, srv.ClientURL())
	s.work(connect(t, srv.ClientURL()), "worker", "")
	v := s.vigil(q, playbooks.Watch{Repair: true}, func(c *Coordinator) { c.times.unwatched = 4 * testLease })
	next[events.Watched](v)
	port := strings.TrimPrefix(srv.ClientURL(), "nats://127.0.0.1:")
	srv.Shutdown()
	srv.WaitForShutdown()
	v.spoil("web1", "motd") // the host reports it to its worker
	var number int
	_, err := fmt.Sscan(port, &number)
	require.NoError(t, err)
	serveAt(t, s.dir, number)
	require.Empty(t, next[events.Repaired](v).Error, v.warned.all())
	v.stop()
	require.Equal(t, &events.WatchTotals{Hosts: 1}, v.summary.Watch)
}

// TestWatchWithoutNATS stops the server until hosts count as watched by no worker. Their worker is not blamed, and they
// are watched again when the server is back.
func TestWatchWithoutNATS(t *testing.T) {
	s := newSite(t, watchedFiles(), "web1")
	s.withFull()
	srv := serve(t, s.dir)
	s.work(connect(t, srv.ClientURL()), "worker", "")
	v := s.vigil(connect(t, srv.ClientURL()), playbooks.Watch{Repair: true}, func(c *Coordinator) { c.times.unwatched = testLease })
	next[events.Watched](v)
	var port int
	_, err := fmt.Sscanf(srv.ClientURL(), "nats://127.0.0.1:%d", &port)
	require.NoError(t, err)
	srv.Shutdown()
	srv.WaitForShutdown()
	lost := next[events.Unwatched](v)
	require.Equal(t, "nothing is heard of its worker, since NATS is out of reach", lost.Error)
	require.Equal(t, "it is watched again once NATS is there", lost.Hint)
	require.Empty(t, v.warned.all())
	serveAt(t, s.dir, port)
	next[events.Watched](v)
	v.stop()
	require.Equal(t, &events.WatchTotals{Hosts: 1}, v.summary.Watch)
}

// TestErrands checks that a worker receives each errand until it reports that it has it.
func TestErrands(t *testing.T) {
	e := newErrandList()
	list, changed := e.after(0)
	require.Empty(t, list)
	e.add("web1", playbooks.WatchOrder{Number: 1})
	<-changed
	e.add("web2", playbooks.WatchOrder{Number: 2})
	for range 2 { // the answer may have been lost
		list, _ = e.after(0)
		require.Len(t, list, 2)
	}
	list, _ = e.after(1)
	require.Equal(t, []errand{{2, "web2", playbooks.WatchOrder{Number: 2}}}, list)
	list, _ = e.after(2)
	require.Empty(t, list)
}

// TestNumbers checks the numbers of questions, and which ones have their answers.
func TestNumbers(t *testing.T) {
	var n numbers
	require.Equal(t, 1, n.answered())
	one, first := n.next()
	two, second := n.next()
	require.Equal(t, []int{1, 2}, []int{one, two})
	second()
	require.Equal(t, 1, n.answered())
	first()
	require.Equal(t, 3, n.answered())
}
