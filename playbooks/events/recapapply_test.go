package events_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// TestRecapLeavesOutApply compares the recap, which counts a failure of a child manifest once,
// with the JSON summary, which also counts the apply.
func TestRecapLeavesOutApply(t *testing.T) {
	result := func(typ string, status events.Status) events.Result {
		return events.Result{Host: "web1", Type: typ, Name: "x", Status: status, Certain: true}
	}
	for _, test := range []struct {
		name    string
		results []events.Result
		want    string
	}{
		{"a child changes", []events.Result{result("file", events.Changed), result("apply", events.Changed)}, "web1: 1 changed, 0 stable ("},
		{"a child fails", []events.Result{result("exec", events.Failed), result("apply", events.Failed), result("apply", events.Failed)}, "1 resource: 0 changed, 0 stable, 1 failed"},
		{"only an apply fails", []events.Result{result("file", events.Stable), result("apply", events.Failed)}, "2 resources: 0 changed, 1 stable, 1 failed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			var tally events.Tally
			text := events.NewText(&out, events.TextOptions{})
			for _, r := range test.results {
				tally.Report(r)
				text.Report(r)
			}
			text.Report(tally.Summary(false))
			require.Contains(t, out.String(), test.want)
			require.Equal(t, len(test.results), tally.Summary(false).Totals.Resources.Sum())
		})
	}
}
