package workers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks"
	"github.com/ccm-push/ccm-push/playbooks/workers/queue"
)

// TestCompileFirst has hosts of several shards wait for each other, at a worker that takes one shard at a time
// and has one host at work: once all are ready they are applied, and none if one cannot be made ready.
func TestCompileFirst(t *testing.T) {
	queues(t, func(t *testing.T, open func(dir string) queue.Queue) {
		for _, missing := range []bool{false, true} {
			t.Run(fmt.Sprintf("one is missing: %v", missing), func(t *testing.T) {
				s := newSite(t, `
ccm: {resources: [exec: [{"touch made {{ Host.name == 'web3' ? Data.wanted : 'more' }}": {cwd: "{{ Data.home }}"}}]]}
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
				require.Contains(t, warned.all(), "1 of 3 hosts could not be made ready; nothing was applied, and the run ends here")
			})
		}
	})
}

// TestStep has a person be asked about what the first host does at a worker, and no other host begin before the
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
