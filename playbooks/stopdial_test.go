package playbooks

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/transport/sshtest"
)

// TestStopWhileDialling stops a run while a host does not answer. No resource is in progress, so the run does not wait
// for the deadline either.
func TestStopWhileDialling(t *testing.T) {
	const plays = `
- {name: one, ccm: {resources: [{exec: ["true": {}]}]}}
- {name: two, ccm: {resources: [{exec: ["true": {}]}]}}
`
	for _, test := range []struct {
		name         string
		answered     int // number of dials before the one without an answer
		compileFirst bool
		summary      events.HostTotals
		notStarted   []string
		lines        []string
	}{
		{name: "first play", summary: events.HostTotals{NotStarted: 1}, notStarted: []string{"web1"}, lines: []string{"play one 1/1: web1"}},
		{name: "compiling first", compileFirst: true, summary: events.HostTotals{NotStarted: 1}, notStarted: []string{"web1"}, lines: []string{"play one 1/1: web1"}},
		{name: "next play", answered: 1, summary: events.HostTotals{Interrupted: 1}, lines: []string{
			"play one 1/1: web1", "web1 exec#true changed", "play two 1/1: web1", "web1 interrupted in two: 0 not reached, due []", "web1 done: interrupted",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, servers(t, "web1"), plays)
			w.Options.Keep, w.Options.CompileFirst = -1, test.compileFirst
			stop := make(chan struct{})
			dials := 0
			w.Dialer.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
				if dials++; dials <= test.answered {
					return (&net.Dialer{}).DialContext(ctx, network, addr)
				}
				close(stop)
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}
			summary, err := w.Run(t.Context(), stop)
			require.NoError(t, err)
			require.True(t, summary.Interrupted)
			require.Equal(t, test.notStarted, summary.NotStarted)
			require.Equal(t, test.summary, summary.Totals.Hosts)
			require.Equal(t, test.lines, w.recorded.lines())
		})
	}
}

// TestStopWhileStarting is the same for a host that accepts the login, and then does not report whether it has the host
// program.
func TestStopWhileStarting(t *testing.T) {
	asked := filepath.Join(t.TempDir(), "asked")
	silent := sshtest.Start(t, sshtest.Shell("/bin/sh", "-c", "touch "+asked+"; exec sleep 600"))
	w := newWorld(t, map[string]*sshtest.Server{"web1": silent}, "- {name: one, ccm: {resources: [{exec: [\"true\": {}]}]}}")
	stop := make(chan struct{})
	go func() {
		defer close(stop)
		awaitFile(t, asked)
	}()
	summary, err := w.Run(t.Context(), stop)
	require.NoError(t, err)
	require.Equal(t, []string{"web1"}, summary.NotStarted)
	require.Equal(t, events.HostTotals{NotStarted: 1}, summary.Totals.Hosts)
}
