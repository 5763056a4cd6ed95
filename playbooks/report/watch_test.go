package report

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// TestWatchMetrics holds what Prometheus scrapes against the events of a watch.
func TestWatchMetrics(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	w := NewWatch("1.2.3", func() time.Time { return at.Add(time.Hour) })
	stream := events.NewStream("r", func() time.Time { return at }, w)
	metrics := func() string {
		var b strings.Builder
		require.NoError(t, w.Metrics(&b))
		var lines []string
		for line := range strings.Lines(b.String()) {
			if !strings.HasPrefix(line, "# HELP") {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "")
	}
	require.Equal(t, "# TYPE ccm_push_build_info gauge\nccm_push_build_info{version=\"1.2.3\"} 1\n", metrics())
	require.Empty(t, w.Status())

	drift := events.Drifted{Play: "web", Host: "web1", Type: "file", Name: "/a"}
	other := events.Drifted{Play: "web", Host: "web1", Type: "file", Name: "/b"}
	settled := other
	settled.Settled = true
	stream.Report(
		events.WatchStart{Hosts: 3}, events.Watched{Host: "web1", Resources: 5, Polled: 2}, events.Watched{Host: `odd"host`, Resources: 1},
		drift, drift, other, settled, other, events.Repaired{Play: "web", Host: "web1", Type: "file", Name: "/b"},
		events.Repaired{Play: "web", Host: "web1", Type: "file", Name: "/a", Error: "no"},
		events.Fighting{Play: "web", Host: "web1", Type: "file", Name: "/a", Values: []string{"", "x"}},
		events.Fighting{Play: "web", Host: "web1", Type: "file", Name: "/a"},
		events.Unwatched{Host: `odd"host`, Since: at.Add(time.Minute)}, events.Unwatched{Host: `odd"host`, Since: at.Add(time.Minute)},
	)
	require.Equal(t, "1 of 3 hosts watched; resources drifted: 1, of these fighting: 1; repaired: 1", w.Status())
	require.Equal(t, `# TYPE ccm_push_build_info gauge
ccm_push_build_info{version="1.2.3"} 1
# TYPE ccm_push_watch_start_timestamp_seconds gauge
ccm_push_watch_start_timestamp_seconds 1772366400
# TYPE ccm_push_watch_hosts gauge
ccm_push_watch_hosts{state="watched"} 1
ccm_push_watch_hosts{state="unwatched"} 2
# TYPE ccm_push_watch_resources gauge
ccm_push_watch_resources{how="all"} 6
ccm_push_watch_resources{how="polled"} 2
# TYPE ccm_push_watch_drifted_resources gauge
ccm_push_watch_drifted_resources 1
# TYPE ccm_push_watch_fighting_resources gauge
ccm_push_watch_fighting_resources 1
# TYPE ccm_push_watch_drifts_total counter
ccm_push_watch_drifts_total 4
# TYPE ccm_push_watch_repairs_total counter
ccm_push_watch_repairs_total{result="repaired"} 1
ccm_push_watch_repairs_total{result="failed"} 1
# TYPE ccm_push_watch_fights_total counter
ccm_push_watch_fights_total 1
# TYPE ccm_push_watch_budgets_spent_total counter
ccm_push_watch_budgets_spent_total 1
# TYPE ccm_push_watch_lost_sessions_total counter
ccm_push_watch_lost_sessions_total 1
# TYPE ccm_push_watch_host_watched gauge
ccm_push_watch_host_watched{host="odd\"host"} 0
ccm_push_watch_host_watched{host="web1"} 1
# TYPE ccm_push_watch_host_last_seen_timestamp_seconds gauge
ccm_push_watch_host_last_seen_timestamp_seconds{host="odd\"host"} 1772366460
ccm_push_watch_host_last_seen_timestamp_seconds{host="web1"} 1772370000
# TYPE ccm_push_watch_host_drifted_resources gauge
ccm_push_watch_host_drifted_resources{host="odd\"host"} 0
ccm_push_watch_host_drifted_resources{host="web1"} 1
# TYPE ccm_push_watch_host_fighting_resources gauge
ccm_push_watch_host_fighting_resources{host="odd\"host"} 0
ccm_push_watch_host_fighting_resources{host="web1"} 1
`, metrics())

	stream.Report(events.WatchStart{Hosts: 1}) // of a run that follows
	require.Equal(t, "0 of 1 hosts watched; resources drifted: 0, of these fighting: 0; repaired: 1", w.Status())
	require.Contains(t, metrics(), "\nccm_push_watch_drifts_total 4\n")
}
