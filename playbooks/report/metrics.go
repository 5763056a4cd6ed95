package report

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ccm-push/ccm-push/inventory/printable"
	"github.com/ccm-push/ccm-push/playbooks/events"
)

// Metrics returns the format of Prometheus' text files, for node_exporter's textfile collector. earlier is the file to
// replace; its times of success are kept where this run has none. The file may be missing.
func Metrics(earlier string) Format {
	return func(r *Run, w io.Writer) error {
		m := metrics{w: w, succeeded: timesIn(earlier)}
		m.run(r)
		m.hosts(r)
		return m.err
	}
}

// metrics writes families of samples.
type metrics struct {
	w         io.Writer
	succeeded map[string]float64 // time of the last success, by series
	err       error
}

// Names of series that keep their values over runs.
const (
	lastRunSuccess  = "ccm_push_run_last_success_timestamp_seconds"
	lastHostSuccess = "ccm_push_host_last_success_timestamp_seconds"
)

// A sample is a value and the one label that it has, or none.
type sample struct {
	label, text string
	value       float64
}

// series is the sample without its value.
func (s sample) series(name string) string {
	if s.label == "" {
		return name
	}
	return fmt.Sprintf(`%s{%s="%s"}`, name, s.label, labelText.Replace(printable.Line(asRecorded(s.text))))
}

// labelText escapes the value of a label.
var labelText = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// family writes a gauge: a run that has ended has no counters.
func (m *metrics) family(name, help string, samples ...sample) {
	m.typed("gauge", name, help, samples...)
}

// counter writes what only grows while the program runs.
func (m *metrics) counter(name, help string, samples ...sample) {
	m.typed("counter", name, help, samples...)
}

func (m *metrics) typed(kind, name, help string, samples ...sample) {
	if len(samples) == 0 {
		return
	}
	m.print("# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	for _, s := range samples {
		m.print("%s %s\n", s.series(name), strconv.FormatFloat(s.value, 'f', -1, 64))
	}
}

func (m *metrics) print(format string, args ...any) {
	if m.err == nil {
		_, m.err = fmt.Fprintf(m.w, format, args...)
	}
}

func (m *metrics) run(r *Run) {
	s := r.summary()
	h, c := s.Totals.Hosts, s.Totals.Resources
	ok := r.end != nil && !s.Interrupted && h.OK == h.Sum() && h.NotStarted == 0 && c.Failed == 0
	m.family("ccm_push_build_info", "Version of ccm-push; the value is 1.", sample{"version", r.start.Version, 1})
	m.family("ccm_push_run_start_timestamp_seconds", "When the last run began.", sample{value: unixSeconds(r.began)})
	m.family("ccm_push_run_end_timestamp_seconds", "When the last run ended.", sample{value: unixSeconds(r.last)})
	m.family("ccm_push_run_duration_seconds", "How long the last run took.", sample{value: r.last.Sub(r.began).Seconds()})
	m.family("ccm_push_run_check", "Whether the last run was a check run: changed counts the resources that would change.", sample{value: truth(r.start.Check)})
	m.family("ccm_push_run_success", "Whether the last run finished on all hosts, and nothing failed.", sample{value: truth(ok)})
	m.success(lastRunSuccess, "End of the last successful run that was not a check run.", r, []sample{{value: truth(ok)}})
	m.family("ccm_push_run_hosts", "Hosts of the last run, by how they ended.",
		sample{"state", "ok", float64(h.OK)}, sample{"state", "failed", float64(h.Failed)}, sample{"state", "unreachable", float64(h.Unreachable)},
		sample{"state", "interrupted", float64(h.Interrupted)}, sample{"state", "incomplete", float64(h.Incomplete)}, sample{"state", "not_started", float64(h.NotStarted)})
	m.family("ccm_push_run_resources", "Resources of the last run, by how they ended.",
		sample{"status", "stable", float64(c.Stable)}, sample{"status", "changed", float64(c.Changed)}, sample{"status", "skipped", float64(c.Skipped)},
		sample{"status", "failed", float64(c.Failed)}, sample{"status", "rescued", float64(c.Rescued)}, sample{"status", "would_change", float64(c.WouldChange)}, sample{"status", "not_reached", float64(c.NotReached)})
	m.family("ccm_push_run_drift_resources", "Changed resources of the last run that were changed because the host had drifted.", sample{value: float64(c.Drift)})
	m.family("ccm_push_run_unknown_resources", "Failed and rescued resources of the last run whose outcome is unknown.", sample{value: float64(c.Unknown)})
}

func (m *metrics) hosts(r *Run) {
	var success, changed, failed, unknown []sample
	for _, h := range r.hosts {
		c := h.done.Counts
		success = append(success, sample{"host", h.name, truth(h.finished && h.done.State == events.StateOK)})
		changed = append(changed, sample{"host", h.name, float64(c.Changed + c.FailedChanged)})
		failed = append(failed, sample{"host", h.name, float64(c.Failed)})
		unknown = append(unknown, sample{"host", h.name, float64(c.Unknown)})
	}
	m.family("ccm_push_host_success", "Whether the host came through the last run well.", success...)
	m.family("ccm_push_host_changed_resources", "Resources of the host that the last run changed, or would change.", changed...)
	m.family("ccm_push_host_failed_resources", "Resources of the host that failed in the last run.", failed...)
	m.family("ccm_push_host_unknown_resources", "Failed and rescued resources of the host whose outcome is unknown.", unknown...)
	m.success(lastHostSuccess, "End of the last run, not a check run, that was successful on the host.", r, success)
}

// success writes the time at which each sample was last true: now, or else the time of the earlier file.
func (m *metrics) success(name, help string, r *Run, samples []sample) {
	var times []sample
	for _, s := range samples {
		at := m.succeeded[s.series(name)]
		if s.value == 1 && !r.start.Check {
			at = max(at, unixSeconds(r.last))
		}
		if s.value = at; at > 0 {
			times = append(times, s)
		}
	}
	m.family(name, help, times...)
}

// timeLine is a sample that success has written.
var timeLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^((?:` + lastRunSuccess + `|` + lastHostSuccess + `)(?:\{.*\})?) ([0-9.]+)$`)
})

// timesIn are the times of success in a file, by their series.
func timesIn(path string) map[string]float64 {
	times := map[string]float64{}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return times // the first of them, or a device
	}
	f, err := os.Open(path)
	if err != nil {
		return times
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		if m := timeLine().FindStringSubmatch(in.Text()); m != nil {
			if at, err := strconv.ParseFloat(m[2], 64); err == nil {
				times[m[1]] = at
			}
		}
	}
	return times
}

func unixSeconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
