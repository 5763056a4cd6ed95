package events

import (
	"slices"
	"strconv"
	"time"
)

// onlyTexts reports whether a result has nothing in it but texts and flags.
func (r *Result) onlyTexts() bool {
	return len(r.Messages) == 0 && len(r.Changes) == 0 && len(r.HealthChecks) == 0 && r.Command == nil &&
		r.State == nil && r.Reason == "" && len(r.Restart) == 0 && r.ErrorKind == "" && r.Tries == 0 && len(r.RefreshedBy) == 0 && !r.Left && !r.Due && !r.Killed && !r.Unknown && !r.WouldFail && r.Hint == "" && r.Once == "" && !r.Repair && r.Fetched == "" && r.Written == nil && len(r.Facts) == 0
}

// appendResult appends the line of a result with nothing in it but texts and
// flags, as nearly all are: byte for byte what [jsonLine] makes of it, without
// reflection. ok is false for any other.
func appendResult(b []byte, e *Result, at *clockText) (line []byte, ok bool) {
	if !e.onlyTexts() {
		return b, false
	}
	b = append(b, `{"event":"result","time":"`...)
	b = at.append(b, e.Time)
	b = append(b, '"')
	b = appendText(b, "run", e.Run)
	b = appendText(b, "play", e.Play)
	b = appendText(b, "host", e.Host)
	if e.On != "" {
		b = appendText(b, "on", e.On)
	}
	b = appendText(b, "type", e.Type)
	b = appendText(b, "name", e.Name)
	b = appendText(b, "alias", e.Alias)
	b = appendText(b, "status", string(e.Status))
	b = appendFlag(b, "check", e.Check)
	b = appendFlag(b, "refreshed", e.Refreshed)
	b = appendFlag(b, "certain", e.Certain)
	if e.Grade != "" {
		b = appendText(b, "grade", e.Grade)
	}
	b = appendText(b, "because", e.Because)
	b = appendText(b, "message", e.Message)
	b = append(b, `,"messages":[]`...)
	b = appendText(b, "error", e.Error)
	if !e.Check {
		b = appendFlag(b, "changed", e.Changed)
	}
	b = append(b, `,"changes":[]`...)
	b = appendText(b, "diff", e.Diff)
	if e.Cause != "" {
		b = appendText(b, "cause", string(e.Cause))
	}
	b = append(b, `,"duration_ms":`...)
	b = appendMilliseconds(b, e.Duration)
	return append(b, '}', '\n'), true
}

// appendShortResult appends the same line without the run and without fields that are empty or false, for [Decode]:
// records consist mostly of such lines.
func appendShortResult(b []byte, e *Result, at *clockText) (line []byte, ok bool) {
	if !e.onlyTexts() {
		return b, false
	}
	b = append(b, `{"event":"result","time":"`...)
	b = at.append(b, e.Time)
	b = append(b, '"')
	for _, text := range [...]struct{ key, value string }{
		{"play", e.Play}, {"host", e.Host}, {"on", e.On}, {"type", e.Type}, {"name", e.Name}, {"alias", e.Alias}, {"status", string(e.Status)}, {"cause", string(e.Cause)}, {"grade", e.Grade},
		{"because", e.Because}, {"message", e.Message}, {"error", e.Error}, {"diff", e.Diff},
	} {
		if text.value != "" {
			b = appendText(b, text.key, text.value)
		}
	}
	for _, flag := range [...]struct {
		key string
		set bool
	}{{"check", e.Check}, {"refreshed", e.Refreshed}, {"certain", e.Certain}, {"changed", e.Changed}} {
		if flag.set {
			b = appendFlag(b, flag.key, true)
		}
	}
	b = append(b, `,"duration_ms":`...)
	b = appendMilliseconds(b, e.Duration)
	return append(b, '}', '\n'), true
}

// appendHostDone appends the line of a host's end, byte for byte what [jsonLine] makes of it.
func appendHostDone(b []byte, e *HostDone, at *clockText) []byte {
	b = append(b, `{"event":"host_done","time":"`...)
	b = at.append(b, e.Time)
	b = append(b, '"')
	b = appendText(b, "run", e.Run)
	b = appendText(b, "host", e.Host)
	b = appendText(b, "state", string(e.State))
	for _, count := range [...]struct {
		key string
		n   int
	}{
		{"stable", e.Stable}, {"changed", e.Changed}, {"skipped", e.Skipped}, {"failed", e.Failed}, {"would_change", e.WouldChange},
		{"failed_changed", e.FailedChanged}, {"not_reached", e.NotReached}, {"drift", e.Drift}, {"would_fail", e.WouldFail}, {"unknown", e.Unknown}, {"rescued", e.Rescued}, {"uncertain", e.Uncertain}, {"likely", e.Likely}, {"plays_not_run", e.PlaysNotRun},
	} {
		if count.n != 0 || !slices.Contains([]string{"plays_not_run", "drift", "would_fail", "unknown", "rescued", "likely"}, count.key) {
			b = strconv.AppendInt(appendKey(b, count.key), int64(count.n), 10)
		}
	}
	for i, play := range e.Plays {
		b = append(b, [...]string{`,"plays":[`, `,`}[min(i, 1)]...)
		b = strconv.AppendInt(append(b, `{"number":`...), int64(play.Number), 10)
		b = append(appendText(b, "state", string(play.State)), '}')
	}
	if len(e.Plays) > 0 {
		b = append(b, ']')
	}
	b = appendMilliseconds(appendKey(b, "duration_ms"), e.Duration)
	b = append(b, `,"phases_ms":{"connect":`...)
	b = appendMilliseconds(b, e.Phases.Connect)
	b = appendMilliseconds(appendKey(b, "start"), e.Phases.Start)
	b = appendMilliseconds(appendKey(b, "compile"), e.Phases.Compile)
	b = appendMilliseconds(appendKey(b, "apply"), e.Phases.Apply)
	return append(b, '}', '}', '\n')
}

func appendFlag(b []byte, key string, value bool) []byte {
	return strconv.AppendBool(appendKey(b, key), value)
}

func appendText(b []byte, key, value string) []byte {
	b = appendKey(b, key)
	if !isPlainASCII(value) {
		return append(b, encode(value)...)
	}
	b = append(b, '"')
	b = append(b, value...)
	return append(b, '"')
}

func appendKey(b []byte, key string) []byte {
	b = append(b, ',', '"')
	b = append(b, key...)
	return append(b, '"', ':')
}

// isPlainASCII reports whether a text needs no escapes in JSON.
func isPlainASCII(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c > 0x7e || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// appendMilliseconds appends a duration as a JSON number with up to three decimals.
func appendMilliseconds(b []byte, d time.Duration) []byte {
	return strconv.AppendFloat(b, float64(d.Microseconds())/1000, 'f', -1, 64)
}
