package playbooks

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/activity"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// TestActivity observes a run from outside: the steps and the outcomes of its hosts.
func TestActivity(t *testing.T) {
	hosts := servers(t, "web1")
	hosts["web2"] = sshtest.Start(t, sshtest.RejectAuth())
	w := newWorld(t, hosts, `
ccm:
  fail_on_error: true
  resources:
    - exec: [first: {command: "true"}]
    - exec: ["{{ Data.home }}/second": {alias: second, provider: shell, cwd: "{{ Data.home }}", command: "until test -e go; do sleep 0.02; done"}]
    - exec: [third: {command: "false"}]
`)
	w.Activity = &activity.Tracker{}
	w.Options.Forks = 1
	var mu sync.Mutex
	var seen []string
	see := func() {
		mu.Lock()
		defer mu.Unlock()
		for _, working := range w.Activity.Snapshot().Longest {
			seen = append(seen, working.Host+" "+working.What)
		}
	}
	w.Dialer.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		see()
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	w.uninstall(t)
	for i, b := range w.Builds {
		w.Builds[i].Compressed = func() ([]byte, error) {
			see()
			return b.Compressed()
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.run(t)
	}()
	var s activity.Snapshot
	require.Eventually(t, func() bool {
		s = w.Activity.Snapshot()
		return len(s.Longest) == 1 && s.Longest[0].Resource == "second"
	}, time.Minute, 5*time.Millisecond)
	require.Equal(t, []string{"web1 connecting", "web1 starting the host program"}, seen)
	require.Equal(t, "exec", s.Longest[0].What)
	require.Equal(t, []int{2, 0, 1, 1, 0, 0}, []int{s.Hosts, s.Done, s.Working, s.Changed, s.Failed, s.Unreachable})
	require.NoError(t, os.WriteFile(filepath.Join(hosts["web1"].Home, "go"), nil, 0o600))
	<-ended
	s = w.Activity.Snapshot()
	require.Empty(t, s.Longest)
	require.Equal(t, []int{2, 2, 0, 1, 1, 1}, []int{s.Hosts, s.Done, s.Working, s.Changed, s.Failed, s.Unreachable})
}
