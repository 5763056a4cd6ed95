package dsc

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ccm-push/ccm-push/e2e/needs"
	"github.com/ccm-push/ccm-push/modules"
	"github.com/ccm-push/ccm-push/modules/dsc/manifest"
	"github.com/ccm-push/ccm-push/modules/process"
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
		{"trace", `{"trace": "step 1"}`, manifest.Current, []note{{"trace", "step 1"}}, nil, false},
		{"debug, by tracing", `{"level":"DEBUG","fields":{"message":"step 2"}}`, manifest.Current, []note{{"debug", "step 2"}}, nil, false},
		{"an error does not fail", `{"error": "oh"}`, manifest.Current, []note{{"error", "oh"}}, nil, false},
		{"documented", `{"message": "careful", "level": "warning"}`, manifest.Current, []note{{"warning", "careful"}}, nil, false},
		{"information", `{"message": "hi", "level": "Information"}`, manifest.Alpha, []note{{"info", "hi"}}, nil, false},
		{"first design: error", `{"error": {"code": "1", "message": "Access Denied"}}`, manifest.First, []note{{"error", "Access Denied (code 1)"}}, nil, true},
		{"first design: a number as code", `{"error": {"code": 2147942405, "message": "Access Denied"}}`, manifest.First, []note{{"error", "Access Denied (code 2147942405)"}}, nil, true},
		{"first design: an error without a message", `{"error": {"code": 5}}`, manifest.First, []note{{"error", "an error without a message (code 5)"}}, nil, true},
		{"first design: an empty message", `{"error": {"code": "5", "message": " "}}`, manifest.First, []note{{"error", `an error without a message: {"code":"5","message":" "}`}}, nil, true},
		{"first design: an error with nothing", `{"error": {}}`, manifest.First, []note{{"error", "an error without a message: {}"}}, nil, true},
		{"first design: a warning with a code", `{"warning": {"code": 9, "message": "odd"}}`, manifest.First, []note{{"warning", "odd (code 9)"}}, nil, false},
		{"an object with a code", `{"error": {"code": 7, "message": "m"}}`, manifest.Current, []note{{"error", "m (code 7)"}}, nil, false},
		{"an object without a message", `{"error": {"code": 7}}`, manifest.Current, nil, []string{`{"error": {"code": 7}}`}, false},
		{"first design: verbose", `{"verbose": {"message": "set"}}`, manifest.First, []note{{"verbose", "set"}}, nil, false},
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
			require.Equal(t, messages{test.notes, test.plain, test.fatal}, readMessages(test.dialect, test.line+"\n"))
		})
	}
}

func TestEvidence(t *testing.T) {
	long := strings.Repeat("ä", 5000)
	cut := strings.Repeat("ä", 512) + "[… 7952 bytes left out …]" + strings.Repeat("ä", 512)
	for _, test := range []struct {
		stderr, want string
		rest         messages
	}{
		{"a\n{\"error\": \"c\"}\nb\n", "a\nb", messages{notes: []note{{failing, "c"}}}},
		{"{\"error\": \"c\"}\n{\"info\": \"x\"}\n{\"error\": \"d\"}\n", "c; d", messages{notes: []note{{info, "x"}}}},
		{"", "", messages{}},
		{long + "\n{\"info\": \"x\"}\n", cut, messages{notes: []note{{info, "x"}}, plain: []string{long}}},
	} {
		text, rest := readMessages(manifest.Current, test.stderr).evidence(process.Secrets{}.Hide)
		require.Equal(t, test.want, text)
		require.Equal(t, test.rest, rest)
	}
}

// TestSaidOnce checks that each message of a failed program is reported once, in the error or next to it.
func TestSaidOnce(t *testing.T) {
	needs.ProgramIn(t, modules.DefaultPath, "python3")
	says := func(lines ...string) string {
		args := `"--ends", "3"`
		for _, line := range lines {
			text, err := json.Marshal(line)
			require.NoError(t, err)
			args += `, "--says", ` + string(text)
		}
		return thing("get", args, "") + "," + anySchema
	}
	for _, test := range []struct {
		members, want string
		said          []string
	}{
		{says("Traceback:", "  line 1", "KeyError"), "the operation \"get\" of Test/Thing has failed with exit code 3: Traceback:\n  line 1\nKeyError", nil},
		{says(`{"error": "it is full"}`, `{"warn": "careful"}`), `the operation "get" of Test/Thing has failed with exit code 3: it is full`, []string{"warning: careful"}},
		{says(`{"error": "it is full"}`, "usage"), `the operation "get" of Test/Thing has failed with exit code 3: usage`, []string{"error: it is full"}},
		{says("one", "two") + `, "exitCodes": {"3": "Not found"}`, `the operation "get" of Test/Thing has failed with exit code 3: Not found`, []string{"error: one\ntwo"}},
	} {
		b := newBench(t)
		b.resource(test.members)
		_, err := b.check(b.instance("Test/Thing", `{"file": "$ROOT/x"}`))
		require.EqualError(t, err, test.want)
		require.Equal(t, test.said, b.said)
	}
}

// TestEvidenceHides takes secrets out before anything is cut.
func TestEvidenceHides(t *testing.T) {
	s := process.Secrets{"hunter2"}
	text, _ := readMessages(manifest.Current, strings.Repeat("x", 1020)+"hunter2"+strings.Repeat("x", 3000)).evidence(s.Hide)
	require.NotContains(t, text, "hunt")
	require.Contains(t, text, "<")
}

func FuzzListen(f *testing.F) {
	f.Add("{\"error\": \"x\"}\nplain\n", true)
	f.Fuzz(func(t *testing.T, text string, first bool) {
		dialect := manifest.Current
		if first {
			dialect = manifest.First
		}
		s := readMessages(dialect, text)
		for _, n := range s.notes {
			require.Contains(t, []string{failing, warning, info, "verbose", "debug", "trace"}, n.level)
		}
		require.LessOrEqual(t, len(s.notes)+len(s.plain), strings.Count(text, "\n")+1)
	})
}
