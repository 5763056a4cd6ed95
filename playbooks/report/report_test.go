package report_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
	"github.com/ccm-push/ccm-push/playbooks/report"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with testdata/name.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run: go test ./playbooks/report -update")
	require.Equal(t, string(want), string(got))
}

// collect is the run of some events; every event is 10 ms later than the one before it.
func collect(all ...events.Event) *report.Run {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	clock := func() time.Time { now = now.Add(10 * time.Millisecond); return now }
	run, tally := &report.Run{Stable: true}, new(events.Tally)
	stream := events.NewStream("r1", clock, tally, run)
	for _, e := range all {
		if d, ok := e.(events.HostDone); ok {
			e = tally.HostDone(d.Host, d.Duration, d.Phases, d.Plays...)
		}
		if _, end := e.(events.Summary); end {
			e = tally.Summary(false)
		}
		stream.Report(e)
	}
	return run
}

// written is a run in a format.
func written(t testing.TB, run *report.Run, format report.Format) string {
	var b bytes.Buffer
	require.NoError(t, format(run, &b))
	return b.String()
}

func result(host, typ, name string, status events.Status, change ...func(*events.Result)) events.Result {
	r := events.Result{Play: "web tier", Host: host, Type: typ, Name: name, Status: status, Certain: true, Duration: 1800 * time.Microsecond}
	for _, c := range change {
		c(&r)
	}
	return r
}

func diff(text string) func(*events.Result) {
	return func(r *events.Result) {
		r.Diff, r.Changes = text, []events.Change{{Property: "content", Have: "a", Want: "b"}}
	}
}

func fault(text string) func(*events.Result) { return func(r *events.Result) { r.Error = text } }

func done(host string, took time.Duration) events.HostDone {
	return events.HostDone{Host: host, Duration: took, Phases: events.Phases{Connect: took / 4, Start: took / 8, Compile: took / 8, Apply: took / 3}}
}

const motd = "--- /etc/motd\n+++ /etc/motd\n@@ -1 +1 @@\n-welcome\n+welcome to %s <b> & friends\n"

// mixed has one of everything.
func mixed() []events.Event {
	hosts := []string{"web1", "web2", "web3", "web4", "web5", "web6"}
	return []events.Event{
		events.RunStart{Manifests: []string{"site.yaml"}, Version: "1.0", Hosts: 6, Diff: true,
			Plays: []events.SelectedPlay{{Name: "web tier", Hosts: hosts, Addresses: []string{"10.0.0.1", "10.0.0.2"}}}},
		events.PlayStart{Play: "web tier", Hosts: hosts[:5], Number: 1, Batch: 1, Batches: 2},
		result("web1", "file", "/etc/motd", events.Changed, diff(fmt.Sprintf(motd, "web1"))),
		result("web2", "file", "/etc/motd", events.Changed, diff(fmt.Sprintf(motd, "web2"))),
		result("web1", "file", "/etc/odd", events.Stable),
		result("web2", "exec", "make", events.Failed, fault("exit code 2\nexpected 0, says 10.0.0.2"), func(r *events.Result) {
			r.Written = &events.Place{File: "site.yaml", Line: 7, Column: 11}
			r.Command = &events.Command{Stdout: "]]> <&>\n", Stderr: "make: *** no rule\n", ExitCode: 2}
		}),
		result("web2", "file", "/srv/x", events.Skipped, func(r *events.Result) { r.Because = "exec#make" }),
		result("web1", "service", "app", events.Changed, func(r *events.Result) {
			r.Message, r.Messages = "restarted", []events.Note{{Level: "warning", Text: "it was slow"}}
		}),
		events.Unreachable{Play: "web tier", Host: "web3", Error: "dial 10.0.0.3:22: connection refused", Hint: "is sshd running?"},
		events.HostFailed{Play: "web tier", Host: "web4", Phase: "become", Error: "sudo: a password is required", Hint: "use -K"},
		events.Interrupted{Play: "web tier", Host: "web5", Rest: events.Rest{NotReached: 2, Next: "exec#make"}},
		events.Reconnect{Play: "web tier", Host: "web2", Error: "the connection was lost"},
		events.Untold{Play: "web tier", Host: "web1", Earlier: "r0", Results: []events.UntoldResult{{Type: "file", Name: "/a", Status: events.Changed, Message: "updated the file"}}, More: 1},
		events.Watchdog{Play: "web tier", Host: "web1"},
		events.Confirmed{Play: "web tier", Host: "web1", Over: []string{"10.0.0.1:22"}},
		events.Reverted{Play: "web tier", Host: "web4", Because: "dial 10.0.0.4:22: connection refused", Why: "nobody confirmed it", Error: "nothing listens on port 22", Results: []events.UntoldResult{{Type: "file", Name: "/etc/ssh/sshd_config", Status: events.Changed}}},
		events.Reverted{Play: "web tier", Host: "web1", Earlier: "r0", Why: "nobody confirmed it"},
		events.RolloutStop{Play: "web tier", Number: 1, Batch: 1, Rule: "stop.failed", Text: "1 of 6 hosts have failed (web2); limit: 1", Hosts: []string{"web2"}, Then: "end", Waiting: 1},
		done("web1", 312*time.Millisecond), done("web2", 6*time.Second), done("web3", 10*time.Second), done("web4", 20*time.Millisecond), done("web5", 40*time.Millisecond),
		events.Summary{},
	}
}

// attack has control sequences of terminals, and markup in several formats.
const attack = "` @you \x1b]0;x\a\x00\xff\ufffe\u202e]]> --> <script>alert(1)</script> </details> ``` `` | [a](javascript:b) ![i](http://x/y.png) @everyone #1 'q\" &amp; {{.}} </style>"

// hostile is a run in which every text is an attack.
func hostile() []events.Event {
	a := attack + "\n# title\n\n```\n" + attack
	return []events.Event{
		events.RunStart{Manifests: []string{a}, Version: a, Hosts: 2, Plays: []events.SelectedPlay{{Name: a, Hosts: []string{a, a + "2"}}}},
		events.PlayStart{Play: a, Hosts: []string{a}, Number: 1, Batch: 1, Batches: 1},
		events.Result{Play: a, Host: a, Type: a, Name: a, Alias: a, Status: events.Changed, Message: a, Diff: a, Changes: []events.Change{{Property: a, Have: a, Want: a}},
			Messages: []events.Note{{Level: "warning", Text: a}}, Command: &events.Command{Stdout: a, Stderr: a}},
		events.Result{Play: a, Host: a, Type: a, Name: a, Status: events.Failed, Error: a, Command: &events.Command{Stdout: a, Stderr: a}},
		events.Result{Play: a, Host: a, Type: a, Name: a, Status: events.Skipped, Because: a},
		events.PlayStart{Play: a + "2", Hosts: []string{a}, Number: 2, Batch: 1, Batches: 1},
		events.Unreachable{Play: a, Host: a, Error: a, Hint: a},
		events.HostFailed{Play: a, Host: a, Phase: a, Error: a, Hint: a},
		events.Interrupted{Play: a, Host: a, Rest: events.Rest{NotReached: 1, Next: a}},
		events.Reconnect{Play: a, Host: a, Error: a},
		events.Untold{Play: a, Host: a, Earlier: a, Results: []events.UntoldResult{{Type: a, Name: a, Status: events.Changed, Message: a}}},
		events.Confirmed{Play: a, Host: a, Over: []string{a}},
		events.Reverted{Play: a, Host: a, Earlier: a, Why: a, Results: []events.UntoldResult{{Type: a, Name: a, Status: events.Skipped, Message: a}}},
		events.Reverted{Play: a, Host: a, Why: a, Because: a, Error: a},
		events.RolloutStop{Play: a, Number: 1, Batch: 1, Rule: a, Text: a, Hosts: []string{a}, Then: "end"},
		done(a, time.Second),
		events.Summary{},
	}
}
