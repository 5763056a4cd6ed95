package events_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/playbooks/events"
)

func TestJSONGolden(t *testing.T) {
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			var out bytes.Buffer
			s.play(events.NewJSON(&out))
			requireHarmless(t, strings.ReplaceAll(out.String(), "\ufffd", "?"))
			for line := range strings.Lines(out.String()) {
				require.True(t, json.Valid([]byte(line)), line)
			}
			golden(t, s.name+".jsonl", out.Bytes())
		})
	}
}

// The lines of the design, byte for byte.
func TestJSONLines(t *testing.T) {
	at := events.Stamp{Time: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC), Run: "r1"}
	motd := events.Result{
		Stamp: at, Play: "web tier", Host: "web1", Type: "file", Name: "/etc/motd", Status: events.Changed, Certain: true,
		Changes:  []events.Change{{Property: "content", Have: "sha256:1", Want: "sha256:2"}},
		Duration: 1800 * time.Microsecond,
	}
	exec := motd
	exec.Changes, exec.Duration, exec.Command = nil, 1234567*time.Nanosecond, &events.Command{Stdout: "a\u009bb", ExitCode: 3}
	tests := []struct {
		name  string
		event events.Event
		want  string
	}{
		{"file", motd, `{"event":"result","time":"2026-01-02T03:04:05.678Z","run":"r1","play":"web tier","host":"web1","type":"file","name":"/etc/motd","alias":"","status":"changed","check":false,"refreshed":false,"certain":true,"because":"","message":"","messages":[],"error":"","changed":false,"changes":[{"property":"content","have":"sha256:1","want":"sha256:2"}],"diff":"","duration_ms":1.8}`},
		{"exec", exec, `{"event":"result","time":"2026-01-02T03:04:05.678Z","run":"r1","play":"web tier","host":"web1","type":"file","name":"/etc/motd","alias":"","status":"changed","check":false,"refreshed":false,"certain":true,"because":"","message":"","messages":[],"error":"","changed":false,"changes":[],"diff":"","duration_ms":1.234,"stdout":"a\u009bb","stderr":"","exit_code":3}`},
		{"summary", events.Summary{
			Stamp: at,
			Hosts: map[string]events.HostSummary{
				"web2": {State: events.StateUnreachable},
				"web1": {State: events.StateOK, Counts: events.Counts{Stable: 28, Changed: 2}, Duration: 312 * time.Millisecond},
			},
		}, `{"event":"summary","time":"2026-01-02T03:04:05.678Z","run":"r1","check":false,"interrupted":false,"hosts":{"web1":{"state":"ok","stable":28,"changed":2,"skipped":0,"failed":0,"would_change":0,"failed_changed":0,"not_reached":0,"duration_ms":312},"web2":{"state":"unreachable","stable":0,"changed":0,"skipped":0,"failed":0,"would_change":0,"failed_changed":0,"not_reached":0,"duration_ms":0}},"totals":{"hosts":{"ok":0,"failed":0,"unreachable":0,"interrupted":0,"not_started":0},"resources":{"stable":0,"changed":0,"skipped":0,"failed":0,"would_change":0,"failed_changed":0,"not_reached":0,"uncertain":0}}}`},
		{"empty lists", events.PlayStart{Stamp: at}, `{"event":"play_start","time":"2026-01-02T03:04:05.678Z","run":"r1","play":"","hosts":[],"number":0,"batch":0,"batches":0}`},
		{"local time", events.HostDone{Stamp: events.Stamp{Time: at.Time.Truncate(time.Second).In(time.FixedZone("", 3600)), Run: "r1"}}, `{"event":"host_done","time":"2026-01-02T03:04:05.000Z","run":"r1","host":"","state":"","stable":0,"changed":0,"skipped":0,"failed":0,"would_change":0,"failed_changed":0,"not_reached":0,"uncertain":0,"duration_ms":0,"phases_ms":{"connect":0,"start":0,"compile":0,"apply":0}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			events.NewJSON(&out).Report(tt.event)
			require.Equal(t, tt.want+"\n", out.String())
		})
	}
}

// Escapes change the bytes of a line, never its meaning.
func FuzzJSONKeepsText(f *testing.F) {
	for _, s := range []string{"", "plain", "\u009b2K", "\x7f", "<&>", `back\slash "quote"`, "\u202e\u2028\u061c", "naïve ☃ 𝄞", attack} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var out bytes.Buffer
		events.NewJSON(&out).Report(events.Message{Text: s})
		var back struct{ Text string }
		require.NoError(t, json.Unmarshal(out.Bytes(), &back))
		require.Equal(t, strings.ToValidUTF8(eachInvalid(s), ""), back.Text)
		require.Equal(t, 1, strings.Count(out.String(), "\n"))
	})
}

// eachInvalid replaces every invalid byte, as encoding/json does.
func eachInvalid(s string) string { return string([]rune(s)) }
