package playbooks

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/facts"
	"github.com/ccm-push/ccm-push/facts/gather"
)

// copying copies 10,000 values.
var copying = "a: &a [" + strings.Repeat("x,", 999) + "]\\nb: [" + strings.Repeat("*a,", 10) + "]"

// factsReports are reports of hosts.
var factsReports = []struct {
	name, report string
	want         map[string]any
	err          string
}{
	{"nothing", "", map[string]any{}, ""},
	{"numbers", `{"facts":{"cpu":{"n":4,"load":0.5,"whole":2.0,"large":9223372036854775807,"larger":9223372036854775808}}}`,
		map[string]any{"cpu": map[string]any{"n": int64(4), "load": 0.5, "whole": 2.0, "large": int64(9223372036854775807), "larger": 9223372036854775808.0}}, ""},
	{"custom facts", `{"facts":{"host":{"a":1,"b":[1]}},"custom":[{"path":"/f.yaml","text":"host: {a: 2, b: [2]}\nrole: web"},{"path":"/g.json","text":"{\"role\":\"db\"}"},{"path":"/empty","text":""}]}`,
		map[string]any{"host": map[string]any{"a": int64(2), "b": []any{int64(1), int64(2)}}, "role": "db"}, ""},
	{"no JSON", `{`, nil, "the host's facts are not JSON: unexpected EOF"},
	{"too large a number", `{"facts":{"n":1e999}}`, nil, `fact "n": strconv.ParseFloat: parsing "1e999": value out of range`},
	{"too deep", `{"facts":{"n":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}}`, nil, "the host's facts are nested more than 64 levels deep"},
	{"as deep as may be", `{"facts":{"n":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}}`, map[string]any{"n": nestedLists(64)}, ""},
	{"much that is missing", `{"partial":[` + strings.TrimSuffix(strings.Repeat(`"",`, 201), ",") + `]}`, nil, "the host reports more than 200 missing facts"},
	{"custom facts that are no map", `{"custom":[{"path":"/f","text":"[1]"}]}`, nil, "/f:1:1: a facts file is a map"},
	{"custom facts that are no YAML", `{"custom":[{"path":"/f","text":"a: *b"}]}`, nil, "a facts file of the host: /f:1:4: no anchor &b is defined before *b\n  hint: quote a text that begins with *"},
	{"custom facts that copy", `{"custom":[` + strings.TrimSuffix(strings.Repeat(`{"path":"/f","text":"`+copying+`"},`, 11), ",") + `]}`, nil,
		"a facts file of the host: /f:2:5: aliases and merge keys copy too many values\n  hint: use fewer aliases (*name) and merge keys (<<): each use copies their values"},
}

func nestedLists(depth int) any {
	list := []any{}
	for range depth - 1 {
		list = []any{list}
	}
	return list
}

func TestDecodeFacts(t *testing.T) {
	for _, c := range factsReports {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := decodeFacts(json.RawMessage(c.report))
			if c.err != "" {
				require.EqualError(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

// TestLargeFactsReports has what fits the bytes that a host may send. None of it may take
// much of the controller.
func TestLargeFactsReports(t *testing.T) {
	const bytes = 4 << 20
	const heavy, items = "the host's facts need more than 16 MiB of memory", "the host's facts files have more than 20000 lines and items together"
	many := func(open, one, end string, size int) string {
		return open + strings.TrimSuffix(strings.Repeat(one+",", size/(len(one)+1)), ",") + end
	}
	var keys strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&keys, `,"key%06d":"%06d"`, i, i)
	}
	custom := func(text string) string {
		quoted, err := json.Marshal(text)
		require.NoError(t, err)
		return `{"custom":[{"path":"/f.yaml","text":` + string(quoted) + `}]}`
	}
	for _, c := range []struct{ name, report, err string }{
		{"200,000 keys", `{"facts":{"host":{` + keys.String()[1:] + `}}}`, heavy},
		{"small maps", many(`{"facts":{"host":[`, `{"":1}`, `]}}`, bytes), heavy},
		{"empty lists", many(`{"facts":{"host":[`, `[]`, `]}}`, bytes), heavy},
		{"numbers", many(`{"facts":{"host":[`, `1`, `]}}`, bytes), heavy},
		{"keys of collectors", `{"facts":{` + keys.String()[1:] + `}}`, heavy},
		{"facts files", many(`{"custom":[`, `{}`, `]}`, bytes), heavy},
		{"what is missing", many(`{"partial":[`, `""`, `]}`, bytes), heavy},
		{"depth", `{"facts":{"host":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}}`, "the host's facts are nested more than 64 levels deep"},
		{"lines of YAML", custom(strings.Repeat("- 1\n", 200_000)), items},
		{"a line of YAML", custom(many("[", "1", "]", 1<<20-2)), items},
		{"a map of YAML on one line", custom(many("{", "a", "}", 1<<20-2)), items},
		{"lists of YAML in each other", custom(strings.Repeat("- ", 200_000)), items},
		{"ends of line that few know", custom(strings.Repeat("- 1\u2028", 100_000)), items},
	} {
		t.Run(c.name, func(t *testing.T) {
			const most = 24 << 20
			require.LessOrEqual(t, len(c.report), bytes*3/2)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, err := decodeFacts(json.RawMessage(c.report))
			runtime.ReadMemStats(&after)
			require.EqualError(t, err, c.err)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(most))
		})
	}
}

// TestFactsOfALargeHost is one with 768 processors, each with its list of flags.
func TestFactsOfALargeHost(t *testing.T) {
	report := factsReportOf(t, []string{facts.CPU}, 768)
	tree, _, err := decodeFacts(report)
	require.NoError(t, err)
	require.Len(t, tree[facts.CPU].(map[string]any)["info"], 768)
}

func FuzzDecodeFacts(f *testing.F) {
	for _, c := range factsReports {
		f.Add([]byte(c.report))
	}
	f.Fuzz(func(t *testing.T, report []byte) {
		tree, _, err := decodeFacts(report)
		if err != nil {
			return
		}
		_, err = json.Marshal(tree)
		require.NoError(t, err, "facts are plain values")
	})
}

// BenchmarkDecodeFacts reads this machine's report: each kind, and with the processors of a large machine.
func BenchmarkDecodeFacts(b *testing.B) {
	for _, c := range []struct {
		name       string
		collectors []string
		processors int
	}{
		{"host", []string{facts.Host}, 0},
		{"all", facts.Names(), 0},
		{"768 processors", []string{facts.CPU}, 768},
	} {
		b.Run(c.name, func(b *testing.B) {
			report := factsReportOf(b, c.collectors, c.processors)
			b.SetBytes(int64(len(report)))
			b.ReportAllocs()
			for b.Loop() {
				_, _, err := decodeFacts(report)
				require.NoError(b, err)
			}
		})
	}
}

// factsReportOf is the report of this machine, whose first processor stands for n if that
// is not 0.
func factsReportOf(t testing.TB, collectors []string, n int) json.RawMessage {
	text, err := gather.Gather(context.Background(), collectors, gather.Options{})
	require.NoError(t, err)
	if n == 0 {
		return text
	}
	var report facts.Report
	require.NoError(t, json.Unmarshal(text, &report))
	var cpu struct {
		Info []json.RawMessage `json:"info"`
	}
	require.NoError(t, json.Unmarshal(report.Facts[facts.CPU], &cpu))
	one := cpu.Info[0]
	cpu.Info = nil
	for range n {
		cpu.Info = append(cpu.Info, one)
	}
	report.Facts[facts.CPU], err = json.Marshal(cpu)
	require.NoError(t, err)
	text, err = json.Marshal(report)
	require.NoError(t, err)
	return text
}
