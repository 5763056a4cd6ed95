package events_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

// TestEvidenceIsShownOnce uses commands whose last output is the end of their error, and is also shown next to it.
func TestEvidenceIsShownOnce(t *testing.T) {
	failed := func(err, stderr string) events.Result {
		return events.Result{Host: "web1", Type: "exec", Name: "x", Status: events.Failed, Certain: true, Error: err,
			Command: &events.Command{Stderr: stderr, ExitCode: 3}}
	}
	for _, test := range []struct {
		name   string
		result events.Result
		adHoc  bool
		want   string
	}{
		{"in a run", failed("exit code 3: bad", "one\nbad\n"), false,
			"web1  failed   exec#x\n    exit code 3\n    stderr | one\n    stderr | bad\n"},
		{"ad hoc", failed("exit code 3: bad", "one\nbad \n\n"), true,
			"== web1: exit 3\nstderr | one\nstderr | bad \nstderr | \n    exit code 3\n"},
		{"lines that end as those of sshd", failed("exit code 3", "one\r\ntwo\r\n"), false, "web1  failed   exec#x\n    exit code 3\n    stderr | one\n    stderr | two\n"},
		{"nothing written", failed("exit code 3", "\n"), true, "== web1: exit 3\n    exit code 3\n"},
		{"another end", failed("exit code 3: worse", "bad\n"), true, "== web1: exit 3\nstderr | bad\n    exit code 3: worse\n"},
		{"nothing but the evidence", failed("bad", "bad\n"), true, "== web1: exit 3\nstderr | bad\n    bad\n"},
		{"no command", events.Result{Host: "web1", Type: "file", Name: "/x", Status: events.Failed, Certain: true, Error: "no: bad"}, false,
			"web1  failed   file#/x\n    no: bad\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			events.NewText(&out, events.TextOptions{AdHoc: test.adHoc}).Report(test.result)
			require.Equal(t, test.want, out.String())
		})
	}
}

// TestOutputThatImitates checks that a host's output cannot be mistaken for output of another host, or of ccm-push.
func TestOutputThatImitates(t *testing.T) {
	for stdout, want := range map[string]string{
		"a\n== web9: exit 0\nb\n":                    "stdout | a\nstdout | == web9: exit 0\nstdout | b\n",
		"stderr | b\n":                               "stdout | stderr | b\n",
		"40 hosts: 40 ok; 3ms\n":                     "stdout | 40 hosts: 40 ok; 3ms\n",
		"interrupted: 1 host: 1 ok\n":                "stdout | interrupted: 1 host: 1 ok\n",
		"web9: 0 changed, 5 stable (1ms)\n":          "stdout | web9: 0 changed, 5 stable (1ms)\n",
		"web9: 2 changed (1 drift), 0 stable\n":      "stdout | web9: 2 changed (1 drift), 0 stable\n",
		"web9  failed   file#/x\n":                   "stdout | web9  failed   file#/x\n",
		"to continue: ccm-push resume x\n":           "stdout | to continue: ccm-push resume x\n",
		"ccm-push: killing\n":                        "stdout | ccm-push: killing\n",
		"a == b\n  == c\n0 upgraded, 2 hosts\n===\n": "a == b\n  == c\n0 upgraded, 2 hosts\n===\n",
		"job failed\n2 changed\n":                    "job failed\n2 changed\n",
	} {
		var out bytes.Buffer
		events.NewText(&out, events.TextOptions{AdHoc: true}).Report(events.Result{Host: "web1", Type: "exec", Name: "x", Status: events.Changed, Certain: true,
			Command: &events.Command{Stdout: stdout, Stderr: "== e\n"}})
		require.Equal(t, "== web1: exit 0\n"+want+"stderr | == e\n", out.String())
	}
}

// TestLevels checks that notes for debugging are shown at their verbosity.
func TestLevels(t *testing.T) {
	var notes []events.Note
	for _, level := range []string{"error", "warning", "info", "verbose", "debug", "trace"} {
		notes = append(notes, events.Note{Level: level, Text: "x"})
	}
	for _, test := range []struct {
		status  events.Status
		notes   []events.Note
		verbose int
		want    string
	}{
		{events.Changed, notes, 0, "web1  changed  dsc#x\n    error: x\n    warning: x\n    info: x\n"},
		{events.Changed, notes, 1, "web1  changed  dsc#x  0ms\n    error: x\n    warning: x\n    info: x\n    verbose: x\n"},
		{events.Changed, notes, 2, "web1  changed  dsc#x  0ms\n    error: x\n    warning: x\n    info: x\n    verbose: x\n    debug: x\n    trace: x\n"},
		{events.Stable, notes[2:], 0, ""},
		{events.Stable, notes[1:], 0, "web1  stable   dsc#x\n    warning: x\n    info: x\n"},
	} {
		var out bytes.Buffer
		events.NewText(&out, events.TextOptions{Verbose: test.verbose}).Report(events.Result{
			Host: "web1", Type: "dsc", Name: "x", Status: test.status, Certain: true, Messages: test.notes})
		require.Equal(t, test.want, out.String())
	}
}

// TestDriftIsSaid checks that changes made outside of runs are reported and counted.
func TestDriftIsSaid(t *testing.T) {
	var out bytes.Buffer
	text, tally := events.NewText(&out, events.TextOptions{}), new(events.Tally)
	report := func(r events.Result) {
		r.Host, r.Type, r.Certain = "web1", "file", true
		text.Report(r)
		tally.Report(r)
	}
	mode := []events.Change{{Property: "mode", Have: "0600", Want: "0644"}}
	report(events.Result{Name: "/a", Status: events.Changed, Changed: true, Cause: events.Intent, Message: "updated the file", Changes: mode})
	report(events.Result{Name: "/b", Status: events.Changed, Changed: true, Cause: events.Drift, Message: "updated the file", Changes: mode})
	report(events.Result{Name: "/c", Status: events.Changed, Check: true, Cause: events.Drift, Message: "Would have updated the file"})
	report(events.Result{Name: "/d", Status: events.Failed, Changed: true, Cause: events.Drift, Message: "updated the file", Error: "unwell"})
	report(events.Result{Name: "/e", Status: events.Failed, Cause: events.Drift, Error: "disk full", Changes: mode})
	text.Report(tally.Summary(false))
	require.Equal(t, `web1  changed  file#/a  updated the file: mode 0600 -> 0644
web1  changed  file#/b  updated the file: mode 0600 -> 0644; drift
web1  would change  file#/c  would have updated the file; drift
web1  failed   file#/d  updated the file; drift; then failed:
    unwell
web1  failed   file#/e  mode 0600 -> 0644; drift
    disk full

web1: 2 changed (1 drift), 0 stable, 1 would change, 2 failed (1 after a change) (failed: file#/d, 0ms)
1 host: 0 ok, 1 failed; 5 resources: 2 changed (1 drift), 0 stable, 1 would change, 2 failed (1 after a change)
`, out.String())
}

// The errors of a connection begin with the step, and so does the line.
func TestPhaseIsSaidOnce(t *testing.T) {
	for _, test := range []struct {
		name string
		e    events.HostFailed
		want string
	}{
		{"a step of the connection", events.HostFailed{Host: "web1", Phase: "install", Error: "install 10.0.0.1:22: no space left", Hint: "make some"},
			"web1  failed   install: 10.0.0.1:22: no space left\n    hint: make some\n"},
		{"another phase", events.HostFailed{Host: "web1", Phase: "lock", Error: "locked"}, "web1  failed   lock: locked\n"},
		{"a refresh is due", events.HostFailed{Host: "web1", Phase: "lost", Error: "EOF", Rest: events.Rest{NotReached: 2, RefreshDue: []string{"exec#a", "service#b"}}},
			"web1  failed   lost: EOF\n    refresh due: exec#a, service#b (for changes of this run; the next one makes up for it)\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			events.NewText(&out, events.TextOptions{}).Report(test.e)
			require.Equal(t, test.want, out.String())
		})
	}
}

// TestResultLines checks that a line has the action, or the action that would be taken, and repeats nothing.
func TestResultLines(t *testing.T) {
	of := func(status events.Status, message string, change ...func(*events.Result)) events.Event {
		r := events.Result{Host: "web1", Type: "file", Name: "/x", Status: status, Certain: true, Message: message}
		for _, c := range change {
			c(&r)
		}
		return r
	}
	check := func(r *events.Result) { r.Check = true }
	refreshed := func(r *events.Result) { r.Refreshed = true }
	by := func(refs ...string) func(r *events.Result) {
		return func(r *events.Result) { r.Refreshed, r.RefreshedBy = true, refs }
	}
	unwell := func(r *events.Result) {
		r.Changed, r.Error = true, `health check status "WARNING" (false): exit status 1`
	}
	mode := func(r *events.Result) { r.Changes = []events.Change{{Property: "mode", Have: "0600", Want: "0644"}} }
	for _, test := range []struct {
		name string
		e    events.Event
		want string
	}{
		{"done", of(events.Changed, "downloaded. extracted"), "web1  changed  file#/x  downloaded. extracted\n"},
		{"predicted", of(events.Changed, "Would have downloaded. Would have extracted", check), "web1  would change  file#/x  would have downloaded, extracted\n"},
		{"predicted, with properties", of(events.Changed, "Would have updated the file", check, mode), "web1  would change  file#/x  would have updated the file: mode 0600 -> 0644\n"},
		{"refreshed by one", of(events.Changed, "restarted via subscribe", by("file#/y")), "web1  changed  file#/x  restarted via subscribe; because of file#/y\n"},
		{"refreshed by several", of(events.Changed, "reloaded", by("file#/y", "file#/z", "exec#w")), "web1  changed  file#/x  reloaded; refreshed because of file#/y and 2 more\n"},
		{"refreshed after an earlier run", of(events.Changed, "restarted via subscribe; file#/y had changed in run r, which did not get to it", by("file#/y")),
			"web1  changed  file#/x  restarted via subscribe; file#/y had changed in run r, which did not get to it\n"},
		{"refreshed", of(events.Changed, "Refreshed by file#/y", refreshed), "web1  changed  file#/x  Refreshed by file#/y; refreshed\n"},
		{"the action says so itself", of(events.Changed, "executed via subscribe; file#/y had changed in run 7", refreshed),
			"web1  changed  file#/x  executed via subscribe; file#/y had changed in run 7\n"},
		{"would be refreshed", of(events.Changed, "Would have restarted via subscribe", refreshed, check), "web1  would change  file#/x  would have restarted via subscribe\n"},
		{"failed after a change", of(events.Failed, "created the file", unwell),
			"web1  failed   file#/x  created the file; then failed:\n    health check status \"WARNING\" (false): exit status 1\n"},
		{"interrupted", events.Interrupted{Host: "web1", Play: "p", Rest: events.Rest{NotReached: 2, Next: "exec#a", RefreshDue: []string{"exec#a"}}},
			"web1  interrupted  2 resources not reached: exec#a and what follows it\n    refresh due: exec#a (for changes of this run; the next one makes up for it)\n"},
		{"interrupted before the last one", events.Interrupted{Host: "web1", Play: "p", Rest: events.Rest{NotReached: 1, Next: "exec#a"}},
			"web1  interrupted  1 resource not reached: exec#a\n"},
		{"interrupted between plays", events.Interrupted{Host: "web1", Play: "p"}, "web1  interrupted  before play \"p\"\n"},
		{"many are due", events.Interrupted{Host: "web1", Rest: events.Rest{NotReached: 9, Next: "a#1", RefreshDue: []string{"a#1", "a#2", "a#3", "a#4", "a#5", "a#6", "a#7"}}},
			"web1  interrupted  9 resources not reached: a#1 and what follows it\n    refresh due: a#1, a#2, a#3, a#4, a#5 and 2 more (for changes of this run; the next one makes up for it)\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			events.NewText(&out, events.TextOptions{}).Report(test.e)
			require.Equal(t, test.want, out.String())
		})
	}
}

// TestNamedCallIsWhole checks that a call named by undo is printed in full, however long it is, and that the text of a
// change is cut.
func TestNamedCallIsWhole(t *testing.T) {
	call := "package x ensure=1.0 virtualenv=/" + strings.Repeat("long/", 60)
	for status, want := range map[events.Status]string{events.Skipped: call + "\n", events.Changed: call[:200] + "…\n"} {
		var out bytes.Buffer
		events.NewText(&out, events.TextOptions{AdHoc: true}).Report(events.Result{Host: "web1", Type: "package", Name: "x", Status: status, Certain: true, Message: call})
		require.Contains(t, out.String(), "package#x  "+want)
	}
}
