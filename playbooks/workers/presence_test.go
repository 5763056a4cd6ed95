package workers

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/workers/keyring"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue/queuetest"
	"github.com/ccm-push/ccm-push/playbooks/workers/sealing"
)

// TestPresent lists workers: one with hosts, one that is not on the list, and one that does not know the coordinator.
func TestPresent(t *testing.T) {
	t.Parallel()
	queues(t, func(t *testing.T, open func(dir string) queue.Queue) {
		s := newSite(t, waiting, "web1", "web2")
		q := open(s.dir)
		dir := `site: far, dir: "` + s.dir + `",`
		c, warned := s.coordinator(q, s.runner(s.inventory(map[string]string{"web1": dir, "web2": dir})))
		list := c.Workers.Ring()
		present := func() (all []Connected, unreadable int) {
			all, unreadable, err := Present(t.Context(), q, c.Key, list)
			require.NoError(t, err)
			return all, unreadable
		}
		all, unreadable := present()
		require.Empty(t, all)
		require.Zero(t, unreadable)
		traced := &warnings{}
		stop := make(chan struct{})
		s.work(q, "worker", "far", func(w *Worker) { w.Trace, w.Version = traced.add, "test" })
		s.work(q, "stranger", "near", func(w *Worker) { w.Shards = 7 })
		stranger, err := keyring.ReadKey(filepath.Join(s.dir, "stranger"))
		require.NoError(t, err)
		var third sync.WaitGroup
		third.Go(func() {
			w, err := workerIn(s.dir, "worker", q)
			require.NoError(t, err)
			w.Site, w.Say, w.Coordinators = "elsewhere", func(string) {}, keyring.Keyring{string(stranger.PublicKey().Marshal()): {Name: "another"}}
			_ = w.Run(t.Context(), stop)
		})
		summary, over := s.begin(c)
		require.Eventually(t, s.exists("begun"), wait, 10*time.Millisecond)
		require.Eventually(t, func() bool {
			all, unreadable = present()
			return len(all) == 2 && unreadable == 1 && all[0].Hosts == 2
		}, wait, 10*time.Millisecond)
		far, near := all[0], all[1]
		require.Equal(t, Connected{Name: "worker", Listed: true, Site: "far", Version: "test", Hosts: 2, Busy: 1, Capacity: 4, PID: os.Getpid(), Host: far.Host, Started: far.Started, Heard: far.Heard, key: far.key, age: far.age}, far)
		require.True(t, strings.HasPrefix(near.Name, "SHA256:"))
		require.Equal(t, []any{false, "near", 7}, []any{near.Listed, near.Site, near.Capacity})
		require.Equal(t, "workers are connected for: far", served(all))
		close(stop)
		third.Wait()
		require.Eventually(t, func() bool {
			_, unreadable = present()
			return unreadable == 1 // it has left, which is not for this coordinator to read
		}, wait, 10*time.Millisecond)
		s.write("go", "")
		<-over
		require.Equal(t, 2, summary().Totals.Hosts.OK, warned.all())
		require.Eventually(t, func() bool {
			all, _ = present()
			return all[0].Hosts == 0 && all[0].Busy == 0
		}, wait, 10*time.Millisecond)
		require.Contains(t, traced.all(), "run 01JDXYZ0000000000000000000: took 2 hosts: web1, web2\n")
		require.Regexp(t, `run 01JDXYZ0000000000000000000: ended 2 hosts in [0-9.]+m?s`, traced.all())
	})
}

// A young server has kept announcements for 3 seconds, and none came since then.
type young struct {
	*queuetest.Queue
	asked int
}

func (y *young) Present(ctx context.Context) ([]queue.Presence, time.Duration, error) {
	if y.asked++; y.asked == 1 {
		return nil, 3 * time.Second, nil
	}
	return y.Queue.Present(ctx)
}

// TestAnnouncementsThatAreLost waits until each worker must have announced itself, if the server has not kept announcements for as
// long: a worker that announced itself before then is connected, too.
func TestAnnouncementsThatAreLost(t *testing.T) {
	s := newSite(t, waiting)
	q := &young{Queue: queuetest.New(0)}
	c, _ := s.coordinator(q, s.runner(s.inventory(nil)))
	w, err := workerIn(s.dir, "worker", q)
	require.NoError(t, err)
	data, err := w.seal(presence{User: "any", Capacity: 4})
	require.NoError(t, err)
	require.NoError(t, q.Announce(t.Context(), "one", data))
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		all, _, err := Present(t.Context(), q, c.Key, c.Workers.Ring())
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.Equal(t, presenceTime+presenceTime/10-3*time.Second, time.Since(begun))
	})
}

// TestPresenceIsNotForged opens announcements that are old, copied, changed, or of a worker that has left.
func TestPresenceIsNotForged(t *testing.T) {
	s := newSite(t, waiting)
	c, _ := s.coordinator(queuetest.New(0), s.runner(s.inventory(nil)))
	w, err := workerIn(s.dir, "worker", c.Queue)
	require.NoError(t, err)
	made := func(change func(*presence)) []byte {
		p := presence{User: "UME", Site: "far", Capacity: 4}
		change(&p)
		data, err := w.seal(p)
		require.NoError(t, err)
		return data
	}
	good := made(func(*presence) {})
	of := func(user string, data []byte, age time.Duration) *Connected {
		got, _ := open(c.Key, c.Workers.Ring(), queue.Presence{User: user, Data: data, Age: age})
		return got
	}
	require.False(t, of("UME", good, 0).Lost)
	require.True(t, of("UME", good, absentTime).Lost)
	require.Nil(t, of("UOTHER", good, 0), "another user has copied it")
	require.Nil(t, of("UME", made(func(p *presence) { p.Left = true }), 0))
	for i := range good {
		changed := append([]byte{}, good...)
		changed[i] ^= 1
		if got := of("UME", changed, 0); got != nil {
			require.Equal(t, *of("UME", good, 0), *got)
		}
	}
	text, err := keyring.Sign(w.Key, orderKind, presence{User: "UME"})
	require.NoError(t, err)
	h, _ := s.handover(connect(t, serve(t, s.dir).ClientURL()).(*queue.JetStream), "coordinator")
	to, err := h.readers()
	require.NoError(t, err)
	other, err := sealing.Seal(text, to...)
	require.NoError(t, err)
	require.Nil(t, of("UME", other, 0), "what is signed as an order is no announcement")
}

// TestWaitWorkers begins a run only if each site has a worker within a time.
func TestWaitWorkers(t *testing.T) {
	t.Parallel()
	queues(t, func(t *testing.T, open func(dir string) queue.Queue) {
		s := newSite(t, "ccm: {resources: [exec: [\"echo ran >> {{ Data.dir }}/ran\": {provider: shell}]]}\n", "web1", "far1", "far2")
		q := open(s.dir)
		dir := `dir: "` + s.dir + `",`
		s.work(q, "worker", "")
		s.work(q, "worker", "paris")
		require.Eventually(t, func() bool {
			all, _, err := q.Present(t.Context())
			return err == nil && len(all) == 2
		}, wait, 10*time.Millisecond)
		for _, site := range []string{"pariss", "paris"} {
			c, warned := s.coordinator(q, s.runner(s.inventory(map[string]string{"web1": dir, "far1": "site: " + site + ", " + dir, "far2": "site: " + site + ", " + dir})))
			c.WaitWorkers = 4 * time.Second
			require.NoError(t, c.Begin(t.Context()))
			began := time.Now()
			summary, err := c.Runner.Run(t.Context(), nil)
			require.NoError(t, c.Close(t.Context()))
			if site == "paris" {
				require.NoError(t, err)
				require.Equal(t, 3, summary.Totals.Hosts.OK, warned.all())
				continue
			}
			require.EqualError(t, err, `--wait-workers: no worker has taken hosts of site "pariss" (far1, far2) within 4s; workers are connected for: (none), paris; nothing was changed`+"\n  hint: start one: ccm-push worker --workers URL --site pariss")
			require.Less(t, time.Since(began), 8*time.Second)
			_, err = os.Stat(filepath.Join(s.dir, "ran"))
			require.True(t, errors.Is(err, os.ErrNotExist), "nothing has run")
		}
	})
}
