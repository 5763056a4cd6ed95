package workers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// TestCompileFirst has hosts of several shards wait for each other, at a worker that takes one shard at a time and
// processes one host at a time: once all are compiled they are applied, and none if one cannot be compiled.
func TestCompileFirst(t *testing.T) {
	queues(t, func(t *testing.T, open func(dir string) queue.Queue) {
		for _, missing := range []bool{false, true} {
			t.Run(fmt.Sprintf("one is missing: %v", missing), func(t *testing.T) {
				s := newSite(t, `
ccm: {resources: [exec: [{"touch made {{ Facts.host.info.os != '' && Host.name == 'web3' ? Data.wanted : 'more' }}": {cwd: "{{ Data.home }}"}}]]}
`, "web1", "web2", "web3")
				wanted := "wanted: more,"
				if missing {
					wanted = ""
				}
				q := open(t.TempDir())
				s.work(q, "worker", "", func(w *Worker) { w.Forks, w.Shards = 1, 1 })
				got := &recorded{}
				c, warned := s.coordinator(q, s.runner(s.inventory(map[string]string{"web3": wanted}), got))
				c.Size = 2
				c.Runner.Connect.Warn = warned.add
				c.Runner.Options.CompileFirst = true
				summary := s.run(c)
				for name, srv := range s.hosts {
					_, err := os.Stat(filepath.Join(srv.Home, "made"))
					require.Equal(t, missing, os.IsNotExist(err), name)
				}
				if !missing {
					require.Equal(t, 3, summary.Totals.Hosts.OK)
					require.Empty(t, warned.all())
					return
				}
				require.Equal(t, 1, summary.Totals.Hosts.Failed)
				require.ElementsMatch(t, []string{"web1", "web2"}, summary.NotStarted)
				require.Contains(t, warned.all(), "1 of 3 hosts could not be prepared; nothing was applied, and the run ends here")
			})
		}
	})
}

// waitingFor returns the number of requests without an answer.
func (c *Coordinator) waitingFor() (questions int) {
	c.run.ledger.mu.Lock()
	defer c.run.ledger.mu.Unlock()
	for _, h := range c.run.ledger.assigned {
		h.asks.mu.Lock()
		questions += len(h.asks.byNumber)
		h.asks.mu.Unlock()
	}
	return questions
}

// TestKilledBeforeTheFirst kills a worker whose hosts are ready and wait for one of another site. They are made ready by
// another worker, and applied once; or none is, where one of them has gone since then.
func TestKilledBeforeTheFirst(t *testing.T) {
	sshtest.NeedsOwnLock(t)
	for _, gone := range []bool{false, true} {
		t.Run(fmt.Sprintf("one has gone: %v", gone), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, `
ccm: {resources: [exec: [{"echo made >> log": {provider: shell, cwd: "{{ Data.home }}"}}]]}
`, "web1", "web2", "far1")
			url := serve(t, s.dir).ClientURL()
			first := s.process(url)
			missed := make(chan struct{})
			got := &recorded{hook: func(e events.Event) {
				if _, is := e.(events.Unreachable); is {
					close(missed)
				}
			}}
			r := s.runner(s.inventory(map[string]string{"far1": "site: far,"}), got)
			r.Options.NoLock, r.Options.CompileFirst = false, true
			c, warned := s.coordinator(connect(t, url), r)
			r.Connect.Warn = warned.add
			c.times.gather = 2 * time.Second // both hosts are for one worker
			ends, _ := s.begin(c)
			require.Eventually(t, func() bool { return c.waitingFor() == 2 }, wait, time.Millisecond, "both wait for far1")
			require.NoError(t, first.Process.Kill())
			if gone {
				s.hosts["web1"].Close()
			}
			s.process(url)
			require.Eventually(t, func() bool { return c.waitingFor() == map[bool]int{false: 4, true: 3}[gone] }, wait, time.Millisecond)
			if gone {
				<-missed
			}
			s.work(connect(t, url), "worker", "far")
			summary := ends()
			require.Contains(t, warned.all(), "was lost before 2 hosts ended")
			for name, srv := range s.hosts {
				log, err := os.ReadFile(filepath.Join(srv.Home, "log"))
				if gone {
					require.ErrorIs(t, err, os.ErrNotExist, name)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, "made\n", string(log), name)
			}
			if gone {
				require.Equal(t, 1, summary.Totals.Hosts.Unreachable)
				require.ElementsMatch(t, []string{"far1", "web2"}, summary.NotStarted)
				return
			}
			require.Equal(t, 3, summary.Totals.Hosts.OK)
			require.Equal(t, 3, summary.Totals.Resources.Changed)
		})
	}
}

// TestStep prompts a person about each resource of the first host at a worker, and no other host begins before the
// answers.
func TestStep(t *testing.T) {
	queues(t, func(t *testing.T, open func(dir string) queue.Queue) {
		for answer, made := range map[string]int{"y": 2, "q": 0} {
			t.Run(answer, func(t *testing.T) {
				s := newSite(t, "ccm: {resources: [exec: [{\"touch made\": {cwd: \"{{ Data.home }}\"}}]]}\n", "web1", "web2")
				q := open(t.TempDir())
				s.work(q, "worker", "")
				c, _ := s.coordinator(q, s.runner(s.inventory(nil)))
				var asked []string
				c.Runner.Step = playbooks.NewStepper(func(_ context.Context, question string) (string, error) {
					asked = append(asked, question)
					return answer, nil
				})
				summary := s.run(c)
				require.Equal(t, made, summary.Totals.Hosts.OK)
				require.Equal(t, made == 0, summary.Interrupted)
				require.True(t, strings.HasPrefix(asked[0], "web1  exec#touch made  ") || strings.HasPrefix(asked[0], "web2  exec#touch made  "), asked)
				require.Len(t, asked, max(made, 1))
				there := slices.DeleteFunc([]string{"web1", "web2"}, func(name string) bool {
					_, err := os.Stat(filepath.Join(s.hosts[name].Home, "made"))
					return err != nil
				})
				require.Len(t, there, made)
			})
		}
	})
}
