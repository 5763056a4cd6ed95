package dsc

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/modules/dsc/manifest"
)

func TestListen(t *testing.T) {
	for _, test := range []struct {
		name, line string
		dialect    manifest.Dialect
		notes      []note
		plain      []string
		fatal      bool
	}{
		{"tracing", `{"timestamp":"t","level":"WARN","fields":{"message":"disk is full"},"target":"x","line_number":7}`, manifest.Current, []note{{"warning", "disk is full"}}, nil, false},
		{"short", `{"info": "read it"}`, manifest.Current, []note{{"info", "read it"}}, nil, false},
		{"trace", `{"trace": "step 1"}`, manifest.Current, []note{{"info", "step 1"}}, nil, false},
		{"an error does not fail", `{"error": "oh"}`, manifest.Current, []note{{"error", "oh"}}, nil, false},
		{"documented", `{"message": "careful", "level": "warning"}`, manifest.Current, []note{{"warning", "careful"}}, nil, false},
		{"information", `{"message": "hi", "level": "Information"}`, manifest.Alpha, []note{{"info", "hi"}}, nil, false},
		{"first design: error", `{"error": {"code": "1", "message": "Access Denied"}}`, manifest.First, []note{{"error", "Access Denied"}}, nil, true},
		{"first design: verbose", `{"verbose": {"message": "set"}}`, manifest.First, []note{{"info", "set"}}, nil, false},
		{"first design: warning", `{"warning": {"message": "odd"}}`, manifest.First, []note{{"warning", "odd"}}, nil, false},
		{"first design: other JSON", `{"x": 1}`, manifest.First, []note{{"warning", `{"x": 1}`}}, nil, false},
		{"an object, but not there", `{"error": {"message": "m"}}`, manifest.Current, []note{{"error", "m"}}, nil, false},
		{"plain", "usage: toy", manifest.Current, nil, []string{"usage: toy"}, false},
		{"broken", `{"error": "x`, manifest.Current, nil, []string{`{"error": "x`}, false},
		{"unknown level", `{"message": "m", "level": "loud"}`, manifest.Current, nil, []string{`{"message": "m", "level": "loud"}`}, false},
		{"two members", `{"error": "a", "warn": "b"}`, manifest.Current, nil, []string{`{"error": "a", "warn": "b"}`}, false},
		{"message is a number", `{"level": "info", "message": 1}`, manifest.Current, nil, []string{`{"level": "info", "message": 1}`}, false},
		{"blank", " \r", manifest.Current, nil, nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, spoken{test.notes, test.plain, test.fatal}, listen(test.dialect, test.line+"\n"))
		})
	}
}

func TestEvidence(t *testing.T) {
	require.Equal(t, "a\nb", listen(manifest.Current, "a\n{\"error\": \"c\"}\nb\n").evidence())
	require.Equal(t, "c; d", listen(manifest.Current, "{\"error\": \"c\"}\n{\"info\": \"x\"}\n{\"error\": \"d\"}\n").evidence())
	require.Empty(t, listen(manifest.Current, "").evidence())
	long := listen(manifest.Current, strings.Repeat("ä", 5000)).evidence()
	require.True(t, strings.HasPrefix(long, "…ä"))
	require.Less(t, len(long), 2100)
}

func FuzzListen(f *testing.F) {
	f.Add("{\"error\": \"x\"}\nplain\n", true)
	f.Fuzz(func(t *testing.T, text string, first bool) {
		dialect := manifest.Current
		if first {
			dialect = manifest.First
		}
		s := listen(dialect, text)
		for _, n := range s.notes {
			require.Contains(t, []string{info, warning, failing}, n.level)
		}
		require.LessOrEqual(t, len(s.notes)+len(s.plain), strings.Count(text, "\n")+1)
	})
}
