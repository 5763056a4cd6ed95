package report_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/report"
)

// TestUnknownOutcomes holds that every format marks results with an unknown outcome, shows their hints and counts them.
func TestUnknownOutcomes(t *testing.T) {
	unknown := func(r *events.Result) {
		r.Unknown, r.Error, r.Hint = true, "the command had begun", "check on "+r.Host+" what it has done"
	}
	var hosts []string
	for i := range 3 {
		hosts = append(hosts, fmt.Sprintf("web%d", i+1))
	}
	run := collect(
		events.RunStart{Manifests: []string{"site.yaml"}, Plays: []events.SelectedPlay{{Name: "web tier", Hosts: hosts}}, Hosts: 3},
		events.PlayStart{Play: "web tier", Hosts: hosts, Number: 1, Batch: 1, Batches: 1},
		events.Untold{Play: "web tier", Host: "web3", Earlier: "r0", Results: []events.UntoldResult{{Type: "exec", Name: "before", Status: events.Failed, Unknown: true, Error: "cut"}}},
		result("web1", "exec", "migrate", events.Failed, unknown),
		result("web2", "exec", "backup", events.Rescued, unknown),
		result("web3", "exec", "make", events.Failed, fault("exit code 2")),
		done("web1", time.Second), done("web2", time.Second), done("web3", time.Second),
		events.Summary{},
	)
	for name, format := range map[string]report.Format{"junit": (*report.Run).JUnit, "markdown": (*report.Run).Markdown, "html": (*report.Run).HTML} {
		text := written(t, run, format)
		for _, host := range []string{"web1", "web2"} {
			require.Contains(t, text, "check on "+host+" what it has done", name)
		}
		require.Contains(t, text, "outcome unknown: the command had begun", name)
		require.NotContains(t, text, "outcome unknown: exit code 2", name)
		if name == "html" { // the others omit results of earlier runs
			require.Contains(t, text, "exec#before outcome unknown: cut", name)
		}
		if name != "junit" {
			require.Regexp(t, `2 with unknown outcome|>2<[^>]*> *with unknown outcome`, text, name)
		}
	}
	junit := written(t, run, (*report.Run).JUnit)
	require.Equal(t, 2, strings.Count(junit, `<property name="results with unknown outcome" value="1">`))
	metrics := written(t, run, report.Metrics(""))
	for _, line := range []string{"ccm_push_run_unknown_resources 2\n", `ccm_push_host_unknown_resources{host="web2"} 1` + "\n", `ccm_push_host_unknown_resources{host="web3"} 0` + "\n"} {
		require.Contains(t, metrics, line)
	}
}
