package events_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

func TestTextGolden(t *testing.T) {
	styles := map[string]events.TextOptions{
		"plain":   {},
		"verbose": {Verbose: 1, Diff: true, Width: 100},
		"color":   {Diff: true, Color: true},
	}
	for _, s := range scenes() {
		for style, options := range styles {
			t.Run(s.name+"/"+style, func(t *testing.T) {
				var out bytes.Buffer
				text := events.NewText(&out, options)
				s.play(text)
				require.NoError(t, text.Err())
				golden(t, s.name+"-"+style+".txt", out.Bytes())
			})
		}
	}
}

func TestAdHocGolden(t *testing.T) {
	command := func(host string, c events.Command) events.Result {
		r := result(host, "exec", "uptime", events.Changed)
		r.Command = &c
		if c.ExitCode != 0 {
			r.Status, r.Error = events.Failed, "exit code 3, expected 0"
		}
		return r
	}
	s := scene{events: []events.Event{
		events.RunStart{Hosts: 4},
		events.PlayStart{Play: "ad hoc", Hosts: []string{"web1", "web2", "web3", "web4"}, Number: 1, Batch: 1, Batches: 1},
		command("web1", events.Command{Stdout: "up 3 days\n\n  load 0.1"}),
		command("web2", events.Command{}),
		command("web3", events.Command{Stdout: "half\n", Stderr: "broken\npipe\n", ExitCode: 3}),
		file("web4", "/etc/motd", events.Stable),
		events.HostDone{Host: "web1"},
		events.HostDone{Host: "web3", Duration: 20 * time.Millisecond},
	}}
	var out bytes.Buffer
	s.play(events.NewText(&out, events.TextOptions{AdHoc: true}))
	golden(t, "adhoc.txt", out.Bytes())
}

// A fleet shows how 500 hosts end on one screen.
func fleet() scene {
	var names []string
	var rest []events.Event
	for i := range 500 {
		host := fmt.Sprintf("web%03d", i+1)
		names = append(names, host)
		switch {
		case i%50 == 7:
			rest = append(rest, events.Unreachable{Host: host, Error: fmt.Sprintf("dial 10.0.0.%d:22: i/o timeout", i)})
		case i%100 == 9:
			rest = append(rest, events.HostFailed{Host: host, Phase: "become", Error: "sudo: a password is required"})
		case i == 77:
			rest = append(rest, with(file(host, "/srv/x", events.Failed), func(r *events.Result) { r.Error = "disk full" }))
		case i%3 == 0:
			rest = append(rest, file(host, "/etc/motd", events.Changed, "content"))
		case i >= 480:
			for range i - 479 {
				rest = append(rest, file(host, "/etc/motd", events.Changed, "content"))
			}
		default:
			rest = append(rest, file(host, "/etc/motd", events.Stable))
		}
		rest = append(rest, events.HostDone{Host: host, Duration: time.Duration(i) * time.Millisecond})
	}
	start := []events.Event{
		events.RunStart{Hosts: 510},
		events.PlayStart{Play: "all of them", Hosts: names, Number: 1, Batch: 1, Batches: 2},
	}
	return scene{events: append(start, rest...)}
}

func TestRecapOfManyHosts(t *testing.T) {
	var out bytes.Buffer
	fleet().play(events.NewText(&out, events.TextOptions{Width: 100}))
	_, recap, found := strings.Cut(out.String(), "\n\n")
	require.True(t, found)
	require.LessOrEqual(t, strings.Count(recap, "\n"), 30, "the recap fits on a screen")
	golden(t, "fleet-recap.txt", []byte(recap))
}

func TestRecapForm(t *testing.T) {
	tests := []struct {
		name   string
		events []events.Event
		want   string
	}{
		{"nothing done", []events.Event{events.HostDone{Host: "web1"}}, "web1: 0 changed, 0 stable (0ms)\n"},
		{"changed", []events.Event{file("web1", "/a", events.Changed), file("web1", "/b", events.Changed)}, "web1: 2 changed, 0 stable (0ms)\n"},
		{"skipped", []events.Event{file("web1", "/a", events.Skipped)}, "web1: 0 changed, 0 stable, 1 skipped (0ms)\n"},
		{"failed", []events.Event{file("web1", "/a", events.Failed)}, "web1: 0 changed, 0 stable, 1 failed (failed: file#/a, 0ms)\n"},
		{"failed after a change", []events.Event{with(file("web1", "/a", events.Failed), func(r *events.Result) { r.Changed = true }), file("web1", "/b", events.Skipped)},
			"web1: 0 changed, 0 stable, 1 failed (1 after a change), 1 skipped (failed: file#/a, 0ms)\n"},
		{"noop", []events.Event{with(file("web1", "/a", events.Changed), func(r *events.Result) { r.Check = true })}, "web1: 0 changed, 0 stable, 1 would change (0ms)\n" +
			"1 host: 1 ok; 1 resource: 0 changed, 0 stable, 1 would change\n"},
		{"interrupted", []events.Event{file("web1", "/a", events.Changed), events.Interrupted{Host: "web1", Play: "p", Rest: events.Rest{NotReached: 2, Next: "file#/b"}}},
			"web1: 1 changed, 0 stable, 2 not reached (interrupted, 0ms)\n1 host: 0 ok, 1 interrupted; 3 resources: 1 changed, 0 stable, 2 not reached\n"},
		{"unreachable behind a jump host that is well", []events.Event{events.Unreachable{Host: "web1", Error: "dial 10.0.0.1:22: connection refused, seen from gate"}},
			"web1: 0 changed, 0 stable (unreachable: connection refused, seen from gate, 0ms)\n"},
		{"unreachable with a certificate", []events.Event{events.Unreachable{Host: "web1", Error: `host key 10.0.0.1:22: the host key is unknown: ssh-ed25519 SHA256:abc: its certificate is for ["web2"], not for "web1"`}},
			"web1: 0 changed, 0 stable (unreachable: its certificate was refused, 0ms)\n"},
		{"unreachable with an unknown key", []events.Event{events.Unreachable{Host: "web1", Error: "host key 10.0.0.1:22: the host key is unknown: ssh-ed25519 SHA256:abc"}},
			"web1: 0 changed, 0 stable (unreachable: the host key is unknown, 0ms)\n"},
		{"unreachable", []events.Event{events.Unreachable{Host: "web1", Error: "no route to host"}}, "web1: 0 changed, 0 stable (unreachable: no route to host, 0ms)\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			scene{events: tt.events}.play(events.NewText(&out, events.TextOptions{}))
			_, recap, found := strings.Cut("\n"+out.String(), "\n\n")
			require.True(t, found)
			require.True(t, strings.HasPrefix(recap, tt.want), recap)
		})
	}
}

// Nothing that a host sends may act on the terminal, whatever is shown.
func TestTextIsHarmless(t *testing.T) {
	for _, options := range []events.TextOptions{
		{}, {Verbose: 2, Diff: true}, {AdHoc: true}, {Verbose: 1, Diff: true, AdHoc: true, Width: 1},
	} {
		var out bytes.Buffer
		hostile().play(events.NewText(&out, options))
		requireHarmless(t, out.String())
	}
}

func requireHarmless(t testing.TB, s string) {
	t.Helper()
	for i, r := range s {
		ok := r == '\n' || r == '\t' || unicode.IsGraphic(r) && r != unicode.ReplacementChar
		require.True(t, ok, "%q at %d in %q", r, i, s)
	}
}

type brokenPipe struct{ writes int }

func (b *brokenPipe) Write([]byte) (int, error) {
	b.writes++
	return 0, errors.New("broken pipe")
}

func TestWriteErrorIsKept(t *testing.T) {
	var pipe brokenPipe
	stream := events.NewStream("r1", newClock().Now, events.NewText(&pipe, events.TextOptions{}), events.NewJSON(&pipe), new(events.Tally))
	require.NoError(t, stream.Err())
	for range 3 {
		stream.Report(file("web1", "/a", events.Changed))
	}
	require.EqualError(t, stream.Err(), "writing events: broken pipe\nwriting events: broken pipe")
	require.Equal(t, 2, pipe.writes)
}

func TestWantColor(t *testing.T) {
	tests := []struct {
		terminal bool
		env      map[string]string
		want     bool
	}{
		{true, nil, true},
		{false, nil, false},
		{true, map[string]string{"NO_COLOR": "1"}, false},
		{true, map[string]string{"NO_COLOR": ""}, true},
		{true, map[string]string{"TERM": "dumb"}, false},
		{false, map[string]string{"CLICOLOR_FORCE": "1"}, true},
		{false, map[string]string{"CLICOLOR_FORCE": "0"}, false},
		{false, map[string]string{"CLICOLOR_FORCE": "1", "TERM": "dumb"}, true},
		{true, map[string]string{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, false},
	}
	for _, tt := range tests {
		got := events.WantColor(tt.terminal, func(k string) string { return tt.env[k] })
		require.Equal(t, tt.want, got, "%+v", tt)
	}
}
