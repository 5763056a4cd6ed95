package events

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzResultLine holds the quick way to write a result against the general one.
func FuzzResultLine(f *testing.F) {
	f.Add("web1", "/etc/motd", "stable", int64(1_800_000), int64(1_767_323_045_678), uint8(0))
	f.Add("a\"b\\c", "<&>\u009b2K\u202e", "changed", int64(-1), int64(0), uint8(7))
	f.Add("\xff\x00\x7f", "naïve ☃ 𝄞", "", int64(1<<62), int64(253402300799999), uint8(255))
	f.Fuzz(func(t *testing.T, one, two, status string, ns, ms int64, flags uint8) {
		flag := func(i int) bool { return flags>>i&1 == 1 }
		text := func(i int) string {
			if flag(i) {
				return two
			}
			return one
		}
		e := Result{
			Stamp: Stamp{Time: time.UnixMilli(ms % 253402300800000), Run: text(0)},
			Play:  text(1), Host: text(2), Type: text(3), Name: text(4), Alias: text(5), Status: Status(status),
			Check: flag(6), Refreshed: flag(7), Certain: flag(0), Because: text(7), Message: text(6), Error: text(5),
			Changed: flag(1), Cause: Cause(text(4)), Diff: text(3), Duration: time.Duration(ns), Sensitive: flag(2),
		}
		line, ok := appendResult([]byte("before\n"), &e, new(clockText))
		require.True(t, ok)
		require.Equal(t, "before\n"+string(jsonLine(e)), string(line))
	})
}

func TestResultLineLeavesListsToTheOther(t *testing.T) {
	for name, e := range map[string]Result{
		"messages":      {Messages: []Note{{}}},
		"changes":       {Changes: []Change{{}}},
		"health checks": {HealthChecks: []HealthCheck{{}}},
		"command":       {Command: &Command{}},
		"state":         {State: &ResourceState{}},
		"restart":       {Restart: []json.RawMessage{nil}},
		"error kind":    {ErrorKind: "forbidden"},
		"tries":         {Tries: 2},
	} {
		t.Run(name, func(t *testing.T) {
			line, ok := appendResult(nil, &e, new(clockText))
			require.False(t, ok)
			require.Empty(t, line)
		})
	}
}

// TestReportAll checks that events which are reported together become the same lines, in one write.
func TestReportAll(t *testing.T) {
	all := []Event{Result{Host: "a"}, Message{Text: "b"}, Result{Host: "c", Diff: "d"}}
	var single, together bytes.Buffer
	one, several := NewJSON(&single), NewJSON(&together)
	for _, e := range all {
		one.Report(e)
	}
	several.ReportAll(all)
	require.Equal(t, 3, bytes.Count(together.Bytes(), []byte("\n")))
	require.Equal(t, single.String(), together.String())
}

func TestStreamReportsTogether(t *testing.T) {
	var lines bytes.Buffer
	tally := &Tally{}
	now := func() time.Time { return time.UnixMilli(0) }
	NewStream("r1", now, tally, NewJSON(&lines)).Report(
		Result{Host: "a", Status: Stable, Certain: true},
		Result{Host: "a", Status: Changed, Sensitive: true, Diff: "secret", Changes: []Change{{"content", "secret", "secret"}}},
	)
	require.NotContains(t, lines.String(), "secret")
	require.Equal(t, 2, bytes.Count(lines.Bytes(), []byte(`"run":"r1"`)))
	require.Equal(t, Counts{Stable: 1, Changed: 1}, tally.Summary(false).Hosts["a"].Counts)
}

func BenchmarkJSONResult(b *testing.B) {
	e := Result{Stamp: Stamp{Time: time.UnixMilli(1_767_323_045_678), Run: "r1"}, Play: "web tier", Host: "web1", Type: "file",
		Name: "/srv/w30/conf.d/app1.conf", Status: Stable, Certain: true, Duration: 51 * time.Microsecond}
	b.ReportAllocs()
	line := make([]byte, 0, 1024)
	for b.Loop() {
		appendResult(line, &e, new(clockText))
	}
}

// No field of a result is forgotten: each alone makes the line that it makes with
// encoding/json, or none.
func TestResultLineHoldsEveryField(t *testing.T) {
	kind := reflect.TypeFor[Result]()
	quick := 0
	for i := range kind.NumField() {
		if name := kind.Field(i).Name; name == "Written" || name == "Registers" { // fields that are in no line
			continue
		}
		var e Result
		fill(t, kind.Field(i).Name, reflect.ValueOf(&e).Elem().Field(i))
		if line, ok := appendResult(nil, &e, new(clockText)); ok {
			require.Equal(t, string(jsonLine(e)), string(line), kind.Field(i).Name)
			quick++
		}
	}
	require.Greater(t, quick, 10)
}

// A host's end has all of its fields, in the words of encoding/json; so has an empty one.
func TestHostDoneLine(t *testing.T) {
	var full HostDone
	fill(t, "HostDone", reflect.ValueOf(&full).Elem())
	for _, e := range []HostDone{full, {}} {
		require.Equal(t, string(jsonLine(e)), string(appendHostDone(nil, &e, new(clockText))))
	}
}

// fill sets all fields and elements of v.
func fill(t *testing.T, name string, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.UnixMilli(1_767_323_045_678)))
			return
		}
		for i := range v.NumField() {
			fill(t, name, v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, name, v.Elem())
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.Set(reflect.ValueOf(json.RawMessage("{\"a\": \"\u009b2K \u2028 <b>\"}")))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, name, v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, name, key)
		fill(t, name, value)
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("\u009b2K \u202e \u2028 \xff <b>\"\\")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1_234_567)
	default:
		require.Fail(t, "this test does not know how to set "+name, v.Type())
	}
}
