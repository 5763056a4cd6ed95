package events_test

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
	require.NoError(t, err, "run: go test ./playbooks/events -update")
	require.Equal(t, string(want), string(got))
}

// A clock returns a time that advances by a tick with every call.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)} }

func (c *clock) Now() time.Time {
	c.now = c.now.Add(10 * time.Millisecond)
	return c.now
}

// A scene is a run as a list of events; a nil event stands for the summary.
type scene struct {
	name   string
	events []events.Event
	stop   bool // interrupted

	notStarted, notRun []string
	watch              *events.WatchTotals
}

// play reports the scene to the reporters.
func (s scene) play(reporters ...events.Reporter) events.Summary {
	tally := new(events.Tally)
	stream := events.NewStream("r1", newClock().Now, append(reporters, tally)...)
	for _, e := range s.events {
		if d, ok := e.(events.HostDone); ok {
			e = tally.HostDone(d.Host, d.Duration, d.Phases, d.Plays...)
		}
		stream.Report(e)
	}
	sum := tally.Summary(s.stop)
	sum.NotStarted, sum.PlaysNotRun, sum.Watch = s.notStarted, s.notRun, s.watch
	stream.Report(sum)
	return sum
}

func result(host, typ, name string, status events.Status) events.Result {
	return events.Result{Play: "web tier", Host: host, Type: typ, Name: name, Status: status, Certain: true, Duration: 1800 * time.Microsecond}
}

func file(host, name string, status events.Status, properties ...string) events.Result {
	r := result(host, "file", name, status)
	for _, p := range properties {
		r.Changes = append(r.Changes, events.Change{Property: p, Have: "", Want: "new " + p})
	}
	return r
}

func with(r events.Result, change func(*events.Result)) events.Result {
	change(&r)
	return r
}

const motdDiff = "--- /etc/motd\n+++ /etc/motd\n@@ -1 +1 @@\n-welcome\n+welcome to <web1> & friends\n"

// soon is a while after the scenes.
var soon = newClock().now.Add(5 * time.Minute)

// scenes are runs that each reporter is shown.
func scenes() []scene {
	web := events.PlayStart{Play: "web tier", Hosts: []string{"web1", "web2", "web10"}, Number: 1, Batch: 1, Batches: 1}
	run := events.RunStart{Manifests: []string{"site.yaml"}, Version: "1.0", Hosts: 3, Diff: true}
	check := run
	check.Check = true
	return []scene{
		{name: "converge", events: []events.Event{
			run,
			web,
			events.Message{Play: "web tier", Kind: events.Pre, Text: "rolling out release 7"},
			file("web1", "/etc/motd", events.Stable),
			with(file("web2", "/etc/motd", events.Changed, "content", "mode"), func(r *events.Result) {
				r.Diff = motdDiff
				r.Changes[1] = events.Change{Property: "mode", Have: "0600", Want: "0644"}
			}),
			events.Output{Play: "web tier", Host: "web2", Type: "exec", Name: "systemctl reload nginx", Alias: "reload", Stream: events.Stdout, Text: "reloading\nreloaded\n", Dropped: 1},
			with(result("web2", "exec", "systemctl reload nginx", events.Changed), func(r *events.Result) {
				r.Alias, r.Refreshed, r.Message = "reload", true, "Refreshed by file#/etc/motd"
				r.Command = &events.Command{Stdout: "reloaded\n"}
			}),
			with(file("web1", "/etc/old", events.Skipped), func(r *events.Result) { r.Message = "control.if is false" }),
			with(file("web1", "/etc/odd", events.Stable), func(r *events.Result) {
				r.Messages = []events.Note{{"info", "looked twice"}, {"warning", "owner is numeric"}}
			}),
			with(file("web10", "/secret", events.Changed, "content"), func(r *events.Result) {
				r.Sensitive, r.Diff = true, "+hunter2"
			}),
			events.Message{Play: "web tier", Host: "web2", Kind: events.Post, Text: "first line\nsecond line\n"},
			events.HostDone{Host: "web1", Duration: 312 * time.Millisecond},
			events.HostDone{Host: "web2", Duration: 1250 * time.Millisecond},
			events.HostDone{Host: "web10", Duration: 63 * time.Second},
		}},
		{name: "reconnected", events: []events.Event{
			run,
			web,
			file("web1", "/etc/motd", events.Changed, "content"),
			events.Reconnect{Play: "web tier", Host: "web1", Error: "the connection was lost", Reported: 1, Remaining: 2, Duration: 1250 * time.Millisecond},
			file("web1", "/etc/issue", events.Stable),
			events.ResourceStart{Play: "web tier", Host: "web2", On: "lb1", Type: "exec", Name: "lbctl drain web2", Alias: "drain", Once: "site.yaml:3:5 exec#drain", Semaphores: []string{"db:2"}, Within: 90 * time.Second},
			events.Untold{Play: "web tier", Host: "web2", Earlier: "r0", Holder: "ann@ctl (pid 7)", Since: newClock().now, More: 2, Results: []events.UntoldResult{
				{Type: "file", Name: "/etc/motd", Status: events.Changed, Message: "updated the file"},
				{Type: "exec", Name: "reload\nall", Status: events.Failed, Error: "exit code 1"},
			}},
			events.Untold{Play: "web tier", Host: "web2", Earlier: "r0", For: "web1", Holder: "ann@ctl (pid 7)", Since: newClock().now, Results: []events.UntoldResult{
				{Type: "exec", Name: "backup", Status: events.Changed},
			}},
			file("web2", "/etc/motd", events.Stable),
			events.HostDone{Host: "web1", Duration: 312 * time.Millisecond},
			events.HostDone{Host: "web2", Duration: 12 * time.Millisecond},
		}},
		{name: "rollout", events: []events.Event{
			run,
			events.PlayStart{Play: "web tier", Hosts: []string{"web1", "web2", "web10"}, Number: 1},
			file("web10", "/etc/motd", events.Stable),
			events.HostDone{Host: "web10", Duration: 40 * time.Millisecond},
			events.RolloutPlan{
				Play: "web tier", Number: 1, Stable: []string{"web10"}, Broken: []string{"web3"}, Harm: 1, Reckoning: "at most 1 of 2: …",
				Rules: []string{"max_unavailable: 1 of each rack", "stop.failed: 1", "on_stop: hold"},
				Batches: []events.RolloutBatch{
					{Hosts: []string{"web1"}, AtOnce: 1, Restarts: []events.RolloutRestart{{Resource: "service#nginx", Hosts: 1}}},
					{Hosts: []string{"web2", "web4"}, AtOnce: 1},
				},
			},
			events.PlayStart{Play: "web tier", Hosts: []string{"web1"}, Number: 1, Batch: 1, Batches: 2},
			file("web1", "/etc/motd", events.Changed, "content"),
			events.HostRolling{Play: "web tier", Number: 1, Host: "web1"},
			events.HostRolled{Play: "web tier", Number: 1, Host: "web1", Restarted: true},
			events.HostDone{Host: "web1", Duration: 312 * time.Millisecond},
			events.Gate{Play: "web tier", Number: 1, Batch: 1, Name: "errors", Verdict: "passed", Text: "3 good of 3"},
			events.RolloutPause{Play: "web tier", Number: 1, Batch: 1, Batches: 2, Next: 2, WaitMS: 1800000},
			events.PlayStart{Play: "web tier", Hosts: []string{"web2", "web4"}, Number: 1, Batch: 2, Batches: 2},
			events.HostFailed{Play: "web tier", Host: "web2", Phase: "soak", Error: "its health checks have not held"},
			events.HostRolled{Play: "web tier", Number: 1, Host: "web2", Failed: true, Touched: true},
			events.HostDone{Host: "web2", Duration: 90 * time.Millisecond},
			events.RolloutStop{Play: "web tier", Number: 1, Batch: 2, Rule: "stop.failed", Text: "1 of 4 hosts have failed (web2); limit: 1", Hosts: []string{"web2"}, Then: "hold", Waiting: 1},
			events.RolloutSaid{Play: "web tier", Number: 1, Verb: "release", Host: "web2", By: "ann@ctl"},
			events.RolloutSaid{Play: "web tier", Number: 1, Verb: "end", By: "ann@ctl"},
		}},
		{name: "confirmed", events: []events.Event{
			run,
			web,
			events.Reverted{Play: "web tier", Host: "web2", Earlier: "r0", Holder: "ann@ctl (pid 7)", At: newClock().now, Why: "no login confirmed the change within 1m0s", More: 2, Results: []events.UntoldResult{
				{Type: "file", Name: "/etc/ssh/sshd_config", Status: events.Changed, Message: "put back"},
				{Type: "package", Name: "ufw", Status: events.Skipped, Message: "packages stay"},
				{Type: "exec", Name: "reload\nall", Status: events.Failed, Error: "exit code 1"},
			}, Error: "nothing listens on port 22"},
			events.Armed{Play: "web tier", Host: "web1", Type: "file", Name: "/etc/ssh/sshd_config", Why: "it may touch the SSH server's configuration (path /etc/ssh/sshd_config)", Within: time.Minute},
			file("web1", "/etc/ssh/sshd_config", events.Changed, "content"),
			events.Armed{Play: "web tier", Host: "web2", Type: "exec", Name: "nft -f /etc/nftables.conf", Alias: "rules", Why: "it has confirm: always", Within: 90 * time.Second},
			file("web2", "/etc/nftables.conf", events.Changed, "content"),
			events.Watchdog{Play: "web tier", Host: "web1"},
			events.Watchdog{Play: "web tier", Host: "web1", Error: "no memory"},
			events.Confirmed{Play: "web tier", Host: "web1", Over: []string{"10.0.0.1:22", "10.0.9.1:2222"}, Duration: 2250 * time.Millisecond},
			events.Reverted{Play: "web tier", Host: "web2", Holder: "me@ctl (pid 9)", At: newClock().now, Why: "no login confirmed the change within 1m0s", Because: "dial 10.0.0.2:22: connection refused",
				Results: []events.UntoldResult{{Type: "exec", Name: "nft -f /etc/nftables.conf", Status: events.Changed}}, Rest: events.Rest{NotReached: 1, Next: "service#app", RefreshDue: []string{"service#app"}}},
			events.HostDone{Host: "web1", State: events.StateOK, Duration: 312 * time.Millisecond},
			events.HostDone{Host: "web2", State: events.StateFailed, Duration: 62 * time.Second},
		}},
		{name: "watched", watch: &events.WatchTotals{Hosts: 2, Unwatched: 1, Drifted: 3, Fighting: 1}, events: []events.Event{
			run,
			web,
			file("web1", "/etc/motd", events.Changed, "content"),
			events.HostDone{Host: "web1", State: events.StateOK, Duration: 312 * time.Millisecond},
			events.HostDone{Host: "web2", State: events.StateOK, Duration: 12 * time.Millisecond},
			events.WatchStart{Hosts: 2},
			events.Watched{Host: "web1", Resources: 12, Polled: 2, Unsettled: []string{"exec#date"}},
			events.Watched{Host: "web2", Resources: 12},
			events.Drifted{Play: "web tier", Host: "web1", Type: "file", Name: "/etc/motd", Alias: "motd", Status: events.Changed, Cause: events.Drift, Certain: true, Message: "Would have updated the file",
				Changes: []events.Change{{Property: "mode", Have: "0600", Want: "0644"}}, Since: newClock().now, Mode: "repair",
				Writer: &events.Writer{PID: 4711, Program: "/usr/bin/vim.basic", User: "root", Package: "vim"}},
			events.Repaired{Play: "web tier", Host: "web1", Type: "file", Name: "/etc/motd", Alias: "motd", By: "r2", Since: newClock().now},
			events.Drifted{Play: "web tier", Host: "web2", Type: "service", Name: "nginx", Status: events.Changed, Cause: events.ByRun, Certain: true, Message: "Would have started",
				Since: newClock().now, Mode: "report", Writer: &events.Writer{By: "r3", Holder: "eve@ctl (pid 8)"}},
			events.Drifted{Play: "web tier", Host: "web2", Type: "service", Name: "nginx", Status: events.Stable, Settled: true, Cause: events.Drift, Certain: true, Since: newClock().now, Mode: "report"},
			events.Drifted{Play: "web tier", Host: "web2", Type: "exec", Name: "check\nall", Status: events.Failed, Error: "exit code 3", Since: newClock().now, Mode: "report"},
			events.Repaired{Play: "web tier", Host: "web1", Type: "package", Name: "nginx", Since: newClock().now, Error: "apt-get: no space left on device", Next: &soon},
			events.Fighting{Play: "web tier", Host: "web1", Type: "file", Name: "/etc/motd", Values: []string{"", "Would have updated the file"}, Times: 2, WithinMS: 600_000, Writer: &events.Writer{PID: 7}},
			events.Fighting{Play: "web tier", Host: "web1", Type: "file", Name: "/etc/issue", Times: 3, WithinMS: 600_000, Next: &soon},
			events.RepairWaits{Play: "web tier", Host: "web1", Type: "file", Name: "/etc/issue", Using: []string{"web2", "web3", "web4"}, Limit: 3, Hosts: 20, WithinMS: 600_000, Next: soon},
			events.Unwatched{Host: "web2", Since: newClock().now, Error: "the connection was lost", Hint: "is it up?", Next: &soon},
		}},
		{name: "failures", events: []events.Event{
			run,
			web,
			events.SiteWaits{Site: "paris", Hosts: []string{"web1"}, Text: "hosts of site \"paris\" wait for a worker\n  hint: start one"},
			events.SiteWaits{Site: "paris", Worker: "w1", Text: "hosts of site \"paris\" are served again, by worker w1"},
			events.Unreachable{Play: "web tier", Host: "web10", Error: "dial 10.0.0.10:22: connection refused", Hint: "is sshd running?"},
			with(result("web1", "exec", "make -C /srv\nmake install", events.Failed), func(r *events.Result) {
				r.Error = "exit code 2\nexpected 0"
				r.Command = &events.Command{Stdout: numbered(14), Stderr: "make: *** no rule\n", ExitCode: 2}
			}),
			with(file("web1", "/srv/x", events.Skipped), func(r *events.Result) { r.Because = "exec#make" }),
			file("web1", "/etc/motd", events.Stable),
			events.HostFailed{Play: "web tier", Host: "web2", Phase: "become", Error: "sudo: a password is required", Hint: "use -K"},
			events.HostDone{Host: "web10", Duration: 10 * time.Second},
			events.HostDone{Host: "web1", Duration: 900 * time.Millisecond},
			events.HostDone{Host: "web2", Duration: 90 * time.Millisecond},
		}},
		{name: "check", events: []events.Event{
			check,
			events.PlayStart{Play: "web tier", Hosts: []string{"web1"}, Number: 1, Batch: 2, Batches: 3},
			with(file("web1", "/etc/motd", events.Changed, "content"), func(r *events.Result) { r.Check, r.Diff = true, motdDiff }),
			with(result("web1", "package", "nginx", events.Changed), func(r *events.Result) {
				r.Check, r.Message = true, "Would have installed nginx"
			}),
			with(file("web1", "/etc/nginx/nginx.conf", events.Changed, "content"), func(r *events.Result) {
				r.Check, r.Certain, r.Because = true, false, "package#nginx"
			}),
			with(result("web1", "exec", "nginx -s reload", events.Changed), func(r *events.Result) {
				r.Check, r.Refreshed, r.Message = true, true, "Would have refreshed"
			}),
			with(file("web1", "/etc/hosts", events.Stable), func(r *events.Result) { r.Check, r.Certain = true, false }),
			events.HostDone{Host: "web1", Duration: 40 * time.Millisecond},
		}},
		{name: "interrupted", stop: true, notStarted: []string{"web2", "web10"}, notRun: []string{"db"}, events: []events.Event{
			run,
			web,
			file("web1", "/etc/motd", events.Changed, "content"),
			events.Interrupted{Play: "web tier", Host: "web1", Rest: events.Rest{NotReached: 2, Next: "exec#reload", RefreshDue: []string{"exec#reload"}}},
			events.HostDone{Host: "web1", Duration: 40 * time.Millisecond},
		}},
		hostile(),
	}
}

func numbered(n int) string {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

// attack holds everything that a terminal could obey.
const attack = "\x1b]0;owned\a\x1b[2J\x9b2K\u009b2K\r\b\x7f\u202egnp.exe\u2066\u200e\u2028\xff\x00"

// hostile is a run in which every string of every event is an attack.
func hostile() scene {
	a, block := attack, attack+"\n\tnext "+attack
	return scene{name: "hostile", notStarted: []string{a}, notRun: []string{block}, events: []events.Event{
		events.RunStart{Stamp: events.Stamp{Run: a}, Manifests: []string{a}, Version: a},
		events.PlayStart{Play: a, Hosts: []string{a}, Number: 1, Batch: 1, Batches: 2},
		events.Message{Play: a, Host: a, Kind: events.MessageKind(a), Text: block},
		events.Result{
			Play: a, Host: a, Type: a, Name: block, Alias: a, Status: events.Changed, Because: block, Message: block,
			Messages: []events.Note{{Level: a, Text: block}}, Error: block, Diff: block,
			Changes: []events.Change{{Property: a, Have: block, Want: block}},
			Command: &events.Command{Stdout: block, Stderr: block},
		},
		events.Result{Host: a, Status: events.Failed, Error: block, Command: &events.Command{Stdout: block, Stderr: block}},
		events.Output{Play: a, Host: a, Type: a, Name: block, Alias: a, Stream: events.Stderr, Text: block + "\n", Dropped: 2},
		events.Unreachable{Play: a, Host: a, Error: block, Hint: block},
		events.HostFailed{Play: a, Host: a, Phase: a, Error: block, Hint: block},
		events.HostFailed{Play: a, Host: a, Phase: a, Rest: events.Rest{NotReached: 1, Next: block, RefreshDue: []string{block}}},
		events.Interrupted{Play: a, Host: a},
		events.Interrupted{Play: a, Host: a, Rest: events.Rest{NotReached: 2, Next: block, RefreshDue: []string{block}}},
		events.HostDone{Host: a},
	}}
}
