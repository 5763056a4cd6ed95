package events_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// unknownRun reports two hosts on which the outcome of a command is unknown, and one on which it failed.
func unknownRun(r events.Reporter, tally *events.Tally) {
	at := events.Stamp{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Run: "01"}
	result := func(host string, unknown bool, hint string) events.Result {
		return events.Result{Stamp: at, Play: "p", Host: host, Type: "exec", Name: "migrate", Status: events.Failed, Certain: true,
			Error: "the command was cut", Unknown: unknown, Hint: hint}
	}
	report := func(e events.Event) {
		tally.Report(e)
		r.Report(e)
	}
	report(events.RunStart{Stamp: at, Hosts: 3, Manifests: []string{"site.yaml"}})
	report(events.PlayStart{Stamp: at, Play: "p", Hosts: []string{"web1", "web2", "web3"}, Number: 1, Batch: 1, Batches: 1})
	report(result("web1", true, "check on web1 what it has done"))
	report(result("web2", true, ""))
	report(result("web3", false, ""))
	for _, host := range []string{"web1", "web2", "web3"} {
		report(tally.HostDone(host, time.Second, events.Phases{}))
	}
	s := tally.Summary(false)
	s.Stamp = at
	report(s)
}

func TestUnknownOutcomeInText(t *testing.T) {
	var out strings.Builder
	unknownRun(events.NewText(&out, events.TextOptions{}), &events.Tally{})
	require.Contains(t, out.String(), "web1  failed   exec#migrate  outcome unknown\n    the command was cut\n    hint: check on web1 what it has done\n")
	require.Contains(t, out.String(), "web3  failed   exec#migrate\n    the command was cut\n")
	require.Contains(t, out.String(), "web1: 0 changed, 0 stable, 1 failed (1 with unknown outcome) (failed: exec#migrate, 1.0s)\n")
	require.Contains(t, out.String(), "\noutcome unknown: exec#migrate on web[1-2]\n")
}

func TestUnknownOutcomeInJSON(t *testing.T) {
	var out strings.Builder
	tally := &events.Tally{}
	unknownRun(events.NewJSON(&out), tally)
	require.Equal(t, 2, tally.Summary(false).Totals.Resources.Unknown)
	lines := strings.Split(out.String(), "\n")
	e, err := events.Decode([]byte(lines[2]))
	require.NoError(t, err)
	require.True(t, e.(events.Result).Unknown)
	require.Equal(t, "check on web1 what it has done", e.(events.Result).Hint)
	require.NotContains(t, lines[4], "unknown")
	require.Contains(t, lines[5], `"unknown":1`)
	require.NotContains(t, lines[7], "unknown")
}
