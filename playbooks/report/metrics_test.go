package report_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/report"
)

// metricsRun is a run in which web2 fails, unless all is well.
func metricsRun(well bool, change ...func(*events.RunStart)) []events.Event {
	start := events.RunStart{Manifests: []string{"site.yaml"}, Version: "1.0", Hosts: 2, Plays: []events.SelectedPlay{{Name: "web tier", Hosts: []string{"web1", "web2"}}}}
	for _, c := range change {
		c(&start)
	}
	all := []events.Event{
		start,
		result("web1", "file", "/etc/motd", events.Changed),
		result("web1", "file", "/etc/issue", events.Stable),
		done("web1", time.Second),
		result("web2", "file", "/etc/motd", events.Stable),
	}
	if !well {
		all = append(all, result("web2", "exec", "migrate", events.Failed, fault("exit code 1")))
	}
	return append(all, done("web2", time.Second), events.Summary{})
}

func TestMetricsGolden(t *testing.T) {
	text := written(t, collect(metricsRun(false)...), report.Metrics("missing.prom"))
	parsePrometheus(t, text)
	golden(t, "metrics.prom", []byte(text))
}

// TestMetricsKeepSuccess has the time of the last success outlive a run that fails and a check run.
func TestMetricsKeepSuccess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ccm.prom")
	write := func(all []events.Event, later time.Duration) map[string]float64 {
		all[0] = stamped(all[0].(events.RunStart), later)
		sum := summaryOf(all)
		files := report.Files{Files: []report.File{{Path: path, Format: report.Metrics(path)}}}
		for _, e := range all[:len(all)-1] {
			files.Report(e)
		}
		sum.Stamp.Time = all[0].(events.RunStart).Time.Add(time.Minute)
		files.Report(sum)
		require.NoError(t, files.Err())
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		return parsePrometheus(t, string(text))
	}
	const run, web1, web2 = "ccm_push_run_last_success_timestamp_seconds",
		`ccm_push_host_last_success_timestamp_seconds{host="web1"}`, `ccm_push_host_last_success_timestamp_seconds{host="web2"}`
	failed := write(metricsRun(false), 0)
	require.NotContains(t, failed, run)
	require.NotContains(t, failed, web2)
	require.InDelta(t, failed["ccm_push_run_end_timestamp_seconds"], failed[web1], 0)

	good := write(metricsRun(true), time.Hour)
	require.InDelta(t, failed[web1]+3600, good[run], 0)
	require.InDelta(t, good[run], good[web2], 0)

	again := write(metricsRun(false), 2*time.Hour)
	require.InDelta(t, good[run], again[run], 0)
	require.InDelta(t, good[web2], again[web2], 0)
	require.InDelta(t, good[run]+3600, again[web1], 0)
	require.Zero(t, again["ccm_push_run_success"])

	check := write(metricsRun(true, func(e *events.RunStart) { e.Check = true }), 3*time.Hour)
	require.InDelta(t, good[run], check[run], 0)
	require.InDelta(t, again[web1], check[web1], 0)
	require.InDelta(t, 1, check["ccm_push_run_check"], 0)
}

func stamped(e events.RunStart, later time.Duration) events.RunStart {
	e.Time = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(later)
	return e
}

func summaryOf(all []events.Event) events.Summary {
	var tally events.Tally
	for i, e := range all {
		if d, ok := e.(events.HostDone); ok {
			e = tally.HostDone(d.Host, d.Duration, d.Phases, d.Plays...)
			all[i] = e
		}
		tally.Report(e)
	}
	return tally.Summary(false)
}

// TestMetricsOfNames has hosts whose names would end a label or a line.
func TestMetricsOfNames(t *testing.T) {
	names := []string{`a"b`, `a\b`, "a\nb", "a\x1b[2Jb", "a\xffb", "{}", "café"}
	all := []events.Event{events.RunStart{Version: `1"0`, Hosts: len(names)}}
	for _, name := range names {
		all = append(all, done(name, time.Second))
	}
	samples := parsePrometheus(t, written(t, collect(append(all, events.Summary{})...), report.Metrics("")))
	of := 0
	for series := range samples {
		if strings.HasPrefix(series, "ccm_push_host_success{") {
			of++
		}
	}
	require.Equal(t, len(names), of)
	require.Contains(t, samples, `ccm_push_host_success{host="a\"b"}`)
	require.Contains(t, samples, `ccm_push_host_success{host="a\\b"}`)
}

var (
	promMeta   = regexp.MustCompile(`^# (HELP|TYPE) ([a-z][a-z0-9_]*) (.+)$`)
	promSample = regexp.MustCompile(`^([a-z][a-z0-9_]*)(\{[a-z_]+="(?:[^"\\\n]|\\["\\n])*"\})? ([0-9.]+)$`)
)

// parsePrometheus reads the text format more strictly than Prometheus does: each family is HELP, TYPE and then its
// samples, and each series occurs once. It returns the values by series.
func parsePrometheus(t *testing.T, text string) map[string]float64 {
	t.Helper()
	require.True(t, strings.HasSuffix(text, "\n"))
	require.True(t, bytes.Equal([]byte(text), []byte(strings.ToValidUTF8(text, ""))))
	samples, families := map[string]float64{}, map[string]bool{}
	family, next := "", "HELP"
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := promMeta.FindStringSubmatch(line); m != nil {
			if m[1] == "HELP" {
				require.NotEqual(t, "TYPE", next, line)
				require.False(t, families[m[2]], line)
				family, families[m[2]], next = m[2], true, "TYPE"
				continue
			}
			require.Equal(t, "TYPE", next, line)
			require.Equal(t, family+" gauge", m[2]+" "+m[3])
			next = "sample"
			continue
		}
		m := promSample.FindStringSubmatch(line)
		require.NotNil(t, m, "%q", line)
		require.Equal(t, family, m[1], line)
		require.Contains(t, []string{"sample", "HELP"}, next)
		next = "HELP"
		require.NotContains(t, samples, m[1]+m[2])
		value, err := strconv.ParseFloat(m[3], 64)
		require.NoError(t, err)
		samples[m[1]+m[2]] = value
	}
	require.Equal(t, "HELP", next, "a family without samples")
	return samples
}
