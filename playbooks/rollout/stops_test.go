package rollout

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestStopsOfThePage stops a rollout of 170 hosts by every rule, and compares the output with
// docs/guide/rollout-stops.md.
func TestStopsOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/guide/rollout-stops.md")
	require.NoError(t, err)
	one, three := &Amount{Count: 1}, &Amount{Count: 3}
	failed, lost := Outcome{Failed: true, Touched: true}, Outcome{Unreachable: true}
	ends := func(c *Conductor, o Outcome) { c.End(c.Begin(), o) }
	for _, test := range []struct {
		written string
		rules   Rules
		restart bool // restarts are known before
		act     func(c *Conductor)
	}{
		{"stop: {failed: 3}", Rules{Stop: Limits{Failed: three}}, false, func(c *Conductor) {
			ends(c, failed)
			ends(c, lost)
			ends(c, failed)
		}},
		{"stop: {unreachable: 1%}", Rules{Stop: Limits{Unreachable: &Amount{Percent: 1}}}, false, func(c *Conductor) { ends(c, lost) }},
		{"stop: {restarts: 25%}", Rules{Stop: Limits{Restarts: &Amount{Percent: 25}}}, true, func(*Conductor) {}},
		{"stop: {restarts: 2}", Rules{Stop: Limits{Restarts: &Amount{Count: 2}}}, false, func(c *Conductor) {
			ends(c, Outcome{Restarted: true})
			ends(c, Outcome{Restarted: true})
		}},
		{"stop: {failed: 10, per_batch: {failed: 20%}}", Rules{Stop: Limits{Failed: &Amount{Count: 10}}, PerBatch: Limits{Failed: &Amount{Percent: 20}}}, false, func(c *Conductor) {
			ends(c, failed)
			ends(c, failed)
		}},
		{"gate: {name: errors, …}", Rules{}, false, func(c *Conductor) {
			c.Gate("errors", NotPassed, false, "1 bad of 1, \"failure_limit\" is 0: lb1: 502")
		}},
		{"gate: {name: errors, …}`, if `lb1` does not answer", Rules{}, false, func(c *Conductor) {
			c.Gate("errors", Inconclusive, false, "no answer 4 times in a row, \"error_limit\" is 3: lb1: no route to host")
		}},
		{"max_unavailable: 1, by: rack", Rules{By: "rack", MaxUnavailable: one, Stop: Limits{Failed: three}}, false, func(c *Conductor) {
			ends(c, failed)
			ends(c, lost)
			c.NoPlaces()
		}},
		{"progress_deadline: 30m", Rules{ProgressDeadline: 30 * time.Minute}, false, func(c *Conductor) {
			c.Begin()
			c.Begin()
			c.NoProgress(30 * time.Minute)
		}},
		{"--canary web3", Rules{}, false, func(c *Conductor) {
			c.plan.NoCanary = "web3 cannot be reached"
			c.WithoutCanary()
		}},
		{"ccm-push rollout hold", Rules{}, false, func(c *Conductor) { c.Hold("ann@ctl") }},
	} {
		t.Run(test.written, func(t *testing.T) {
			test.rules.Batches = []Amount{{Count: 10}, {Rest: true}}
			var hosts []Host
			for i := range 170 {
				h := Host{Name: fmt.Sprintf("web%d", i+1), Group: "ab"[i%2 : i%2+1], Changes: true}
				if test.restart {
					h.Restarts = []string{"service#shop"}
				}
				hosts = append(hosts, h)
			}
			c := NewConductor(NewPlan(test.rules, hosts, Options{}), nil)
			require.True(t, c.Next())
			test.act(c)
			require.NotNil(t, c.Stopped())
			row := "`" + test.written
			if !strings.Contains(row, "`, ") { // the text has a condition, and closes the code itself
				row += "`"
			}
			require.Contains(t, string(page), fmt.Sprintf("| %s | %s |\n", row, c.Stopped()))
		})
	}
}
