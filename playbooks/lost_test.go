package playbooks

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// awaitFile waits until a file is there. Any goroutine may call it.
func awaitFile(t *testing.T, path string) {
	t.Helper()
	assert.Eventually(t, func() bool { _, err := os.Stat(path); return err == nil }, time.Minute, 5*time.Millisecond, path)
}

// TestLostCommandIsUnknown loses a host while a command runs, for good.
func TestLostCommandIsUnknown(t *testing.T) {
	for name, tt := range map[string]struct {
		play, rest string
		unknown    bool
		notReached int
		failed     string
	}{
		"in order":  {"", "", true, 1, "nothing is known of exec#long and what follows it: 2 resources"},
		"a graph":   {"  strategy: graph\n", "", true, 1, "nothing is known of exec#long and what follows it: 2 resources"},
		"a guard":   {"", `, unless: "false"`, false, 2, "nothing is known of exec#long and what follows it: 2 resources"},
		"refreshes": {"", `, refreshonly: true, subscribe: ["exec#first"]`, false, 2, "nothing is known of exec#long and what follows it: 2 resources"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := sshtest.Start(t)
			home := t.TempDir()
			w := newWorld(t, map[string]*sshtest.Server{"web1": srv}, fmt.Sprintf(`
- name: site
%s  ccm:
    resources:
      - exec:
          - first: {command: "true"}
          - long: {provider: shell, cwd: %q, command: "touch cut; until test -e go; do sleep 0.02; done", require: ["exec#first"]%s}
          - after: {command: "true", require: ["exec#long"]}
`, tt.play, home, tt.rest))
			w.Options.Reconnect = 0
			var results []events.Result
			var failed events.HostFailed
			first := make(chan struct{}, 3)
			w.recorded.watch = func(e events.Event) {
				switch e := e.(type) {
				case events.Result:
					results = append(results, e)
					first <- struct{}{}
				case events.HostFailed:
					failed = e
				}
			}
			cut := make(chan struct{})
			go func() {
				defer close(cut)
				<-first // results of changes travel together
				awaitFile(t, filepath.Join(home, "cut"))
				w.Dialer.Close()
				srv.Cut()
				os.WriteFile(filepath.Join(home, "go"), nil, 0o600)
			}()
			w.run(t)
			<-cut
			require.Contains(t, failed.Error, tt.failed)
			require.Equal(t, tt.notReached, failed.NotReached)
			if !tt.unknown {
				require.Len(t, results, 1)
				return
			}
			require.Len(t, results, 2)
			r := results[1]
			require.Equal(t, "long", r.Name)
			require.Equal(t, events.Failed, r.Status)
			require.True(t, r.Unknown)
			require.Equal(t, "the host was lost, and the command may have been running", r.Error)
			require.Equal(t, "check the outcome of the command on web1; ccm-push resume runs the command again only if the resource has rerun: true", r.Hint)
			require.Equal(t, "exec#after", failed.Next)
			require.Equal(t, 1, w.Tally.Summary(false).Totals.Resources.Unknown)
		})
	}
}

// TestLostWhileAnotherHostWorks loses a host while a resource runs for it on another host, which is not lost: its result
// is known, and reported.
func TestLostWhileAnotherHostWorks(t *testing.T) {
	for _, strategy := range []string{"linear", "graph"} {
		t.Run(strategy, func(t *testing.T) {
			lost, other := sshtest.Start(t), sshtest.Start(t)
			home := t.TempDir()
			w := newWorld(t, map[string]*sshtest.Server{"web1": lost, "web2": other}, fmt.Sprintf(`
- name: site
  hosts: web1
  strategy: %s
  ccm:
    resources:
      - exec:
          - there: {on: web2, provider: shell, cwd: %q, command: "touch cut; until test -e go; do sleep 0.02; done"}
          - after: {command: "true", require: ["exec#there"]}
`, strategy, home))
			w.Options.Reconnect = 0
			var results []events.Result
			var failed events.HostFailed
			w.recorded.watch = func(e events.Event) {
				switch e := e.(type) {
				case events.Result:
					results = append(results, e)
				case events.HostFailed:
					failed = e
					os.WriteFile(filepath.Join(home, "go"), nil, 0o600)
				}
			}
			cut := make(chan struct{})
			go func() {
				defer close(cut)
				awaitFile(t, filepath.Join(home, "cut"))
				lost.Cut()
				time.Sleep(50 * time.Millisecond)
				os.WriteFile(filepath.Join(home, "go"), nil, 0o600)
			}()
			w.run(t)
			<-cut
			require.Len(t, results, 1)
			require.Equal(t, "there", results[0].Name)
			require.Equal(t, events.Changed, results[0].Status)
			require.Equal(t, "web2", results[0].On)
			require.Equal(t, "exec#after", failed.Next)
			require.Equal(t, 1, failed.NotReached)
		})
	}
}
