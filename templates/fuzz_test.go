package templates

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// fuzzEnv is a host whose facts hold value, itself and as JSON.
func fuzzEnv(value string) *Env {
	env := sampleEnv(nil)
	env.Facts["evil"] = value
	var parsed any
	if json.Unmarshal([]byte(value), &parsed) == nil {
		env.Facts["json"] = parsed
	}
	return env
}

// checkFuzzed holds what one rendering gave against what always holds: an error
// has a text and no output, and no value of the data stands in an error.
func checkFuzzed(t *testing.T, source, value string, out any, err error) {
	if err == nil {
		return
	}
	require.NotEmpty(t, err.Error())
	require.Empty(t, out)
	if !strings.Contains(source, "hunter") && !strings.Contains(value, "hunter") {
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func FuzzExpression(f *testing.F) {
	for _, c := range valueCases() {
		f.Add(c.source, "x")
	}
	for _, c := range append(syntaxErrorCases(), evalErrorCases()...) {
		f.Add(c.source, "x")
	}
	for _, payload := range payloads() {
		f.Add("{{ Facts.evil }}", payload)
		f.Add(payload, payload)
	}
	f.Fuzz(func(t *testing.T, source, value string) {
		text, err := Parse(source, manifest)
		if err != nil {
			checkFuzzed(t, source, value, nil, err)
			return
		}
		text.Facts(nil)
		env := fuzzEnv(value)
		out, err := text.Eval(&countdown{t.Context(), 2000}, env)
		checkFuzzed(t, source, value, out, err)
		if !HasExpr(source) {
			require.Equal(t, source, out)
		}
	})
}

func FuzzJet(f *testing.F) {
	for _, c := range append(jetCases(), jetErrorCases()...) {
		f.Add(c.source, "x")
	}
	for _, c := range jetSyntaxCases() {
		f.Add(c.source[:min(len(c.source), 100)], "x")
	}
	for _, payload := range payloads() {
		f.Add("[[ Facts.evil ]]", payload)
		f.Add(payload, payload)
	}
	f.Fuzz(func(t *testing.T, source, value string) {
		tmpl, err := ParseJet(source, wholeFile("fuzz.jet"), Delims{}, nil)
		if err != nil {
			checkFuzzed(t, source, value, nil, err)
			return
		}
		tmpl.Facts(nil)
		out, err := tmpl.Render(&countdown{t.Context(), 2000}, fuzzEnv(value))
		checkFuzzed(t, source, value, out, err)
	})
}

func FuzzGo(f *testing.F) {
	for _, c := range append(goCases(), goErrorCases()...) {
		f.Add(c.source[:min(len(c.source), 100)], "x")
	}
	for _, payload := range payloads() {
		f.Add("{{ .facts.evil }}", payload)
		f.Add(payload, payload)
	}
	f.Fuzz(func(t *testing.T, source, value string) {
		tmpl, err := ParseGo(source, wholeFile("fuzz.tmpl"), Delims{})
		if err != nil {
			checkFuzzed(t, source, value, nil, err)
			return
		}
		tmpl.Facts(nil)
		out, err := tmpl.Render(&countdown{t.Context(), 2000}, fuzzEnv(value))
		checkFuzzed(t, source, value, out, err)
	})
}

// FuzzLookup holds the walk along plain paths against gjson.
func FuzzLookup(f *testing.F) {
	for _, path := range []string{"facts.host.info.os", "data.list.1", "data.list.#", "data.a.b", "", ".", "data..x", "data.users.#(id>1).name",
		"data.list.-1", "data.list.01", "data.nothing.x", "environ.HOME", "item", "Facts", "data.huge", "data.big", "data.whole", "data.nested.with space"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		env := sampleEnv(nil)
		value, found, err := env.lookup(path)
		if err != nil {
			return
		}
		if !found {
			require.Error(t, env.missingKey(path))
			return
		}
		if _, plainly := plainPath(path); !plainly {
			return
		}
		snapshot, err := env.json()
		require.NoError(t, err)
		same, err := fromResult(gjson.GetBytes(snapshot, path))
		require.NoError(t, err)
		value, err = plain(nil, value)
		require.NoError(t, err)
		require.Equal(t, same, value, path)
	})
}
